"""Metrics of a reader: bytes by broker and rack, waiting time, cache hits; for a callback or a Prometheus textfile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafkabal.atomic_files import replacing

_PREFIX = "kafkabal_reader"
_INTERVAL_S = 5.0
"""The shortest usual scrape interval of Prometheus."""


@dataclass(slots=True)
class ReaderMetrics:
    """Counts since the reader started."""

    samples: int = 0
    size_bytes: int = 0
    """Bytes of keys, values and headers yielded."""
    elapsed_s: float = 0.0
    waited_s: float = 0.0
    """How long the trainer has waited for samples, in seconds."""
    blocks: int = 0
    blocks_from_cache: int = 0
    cache_fault: str | None = None
    """Why no more blocks are cached, such as a full disk."""
    corrupt: int = 0
    """Records that the decoder refused, and damaged files."""
    network_bytes: dict[int, int] = field(default_factory=dict)
    """Bytes fetched, by broker."""
    network_s: dict[int, float] = field(default_factory=dict)
    """Time from request to response by broker, summed over all threads."""
    racks: Mapping[int, str | None] = field(default_factory=dict)
    """Racks of the brokers, once one was contacted."""
    rack: str | None = None
    """Rack of the reader."""

    @property
    def waiting_fraction(self) -> float:
        """Fraction of the time that the trainer waited, 0 to 1."""
        return self.waited_s / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def bytes_per_s(self) -> float:
        """Mean rate of bytes yielded."""
        return self.size_bytes / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def samples_per_s(self) -> float:
        """Mean rate of samples yielded."""
        return self.samples / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def cross_rack_bytes(self) -> int:
        """Bytes fetched from brokers in other racks; 0 if the reader has no rack."""
        if self.rack is None:
            return 0
        return sum(count for broker, count in self.network_bytes.items() if self.racks.get(broker) != self.rack)

    def count_block(
        self, bytes_by_broker: Mapping[int, int], seconds_by_broker: Mapping[int, float], *, is_cached: bool
    ) -> None:
        """Count an opened block, and what was fetched for it."""
        self.blocks += 1
        self.blocks_from_cache += is_cached
        for broker, count in bytes_by_broker.items():
            self.network_bytes[broker] = self.network_bytes.get(broker, 0) + count
        for broker, seconds in seconds_by_broker.items():
            self.network_s[broker] = self.network_s.get(broker, 0.0) + seconds


def rack_fault(rack: str, racks: Mapping[int, str | None]) -> str | None:
    """A message if no broker is in the rack, so that it has no effect; None if one is, or racks are not known yet."""
    known = sorted({each for each in racks.values() if each is not None})
    if not racks or rack in known:
        return None
    racks_found = f"racks of this cluster: {', '.join(known)}" if known else "the brokers have no racks"
    return f"no broker in rack {rack}: reading from leaders ({racks_found})"


def write_textfile(metrics: ReaderMetrics, path: Path, labels: Mapping[str, str]) -> None:
    """Write a file for the textfile collector of the Prometheus node exporter.

    Raises
    ------
    OutputError
        If it cannot be written; the previous file stays.
    """
    own = _in_braces(labels)
    values = {
        "samples_total": metrics.samples,
        "bytes_total": metrics.size_bytes,
        "elapsed_seconds": metrics.elapsed_s,
        "waited_seconds_total": metrics.waited_s,
        "blocks_total": metrics.blocks,
        "cached_blocks_total": metrics.blocks_from_cache,
        "corrupt_records_total": metrics.corrupt,
        "cross_rack_bytes_total": metrics.cross_rack_bytes,
    }
    lines = [f"{_PREFIX}_{name}{own} {value}" for name, value in values.items()]
    for broker, count in sorted(metrics.network_bytes.items()):
        of_broker = _in_braces({**labels, "broker": str(broker), "rack": metrics.racks.get(broker) or ""})
        lines.append(f"{_PREFIX}_network_bytes_total{of_broker} {count}")
    with replacing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _in_braces(labels: Mapping[str, str]) -> str:
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{value.translate(escapes)}"' for name, value in labels.items()) + "}"


def call_periodically(listeners: Sequence[Callable[[], None]], metrics: ReaderMetrics) -> Callable[[], None]:
    """A function to call often, which calls the listeners every few seconds."""
    next_s = metrics.elapsed_s + _INTERVAL_S

    def call_if_due() -> None:
        nonlocal next_s
        if metrics.elapsed_s >= next_s:
            next_s = metrics.elapsed_s + _INTERVAL_S
            for listener in listeners:
                listener()

    return call_if_due
