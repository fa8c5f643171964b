"""What the fetches of one offset range have returned so far, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kafkabal.clusters.kafka.lazy_records import LazyRecords
from kafkabal.clusters.kafka.record_batches import AT_ONCE_BYTES, BatchReader


@dataclass(slots=True)
class FetchedRange:
    """Records of a range, and the cost of fetching them."""

    records: LazyRecords = field(default_factory=LazyRecords)
    """Those that were not passed on."""
    bytes_by_broker: dict[int, int] = field(default_factory=dict)
    """Bytes received over the network."""
    seconds_by_broker: dict[int, float] = field(default_factory=dict)
    """Seconds from request to response, and those for which a quota forbids the next request."""
    throttled_s: float = 0.0
    """The latter, since records came last."""
    log_bytes: int = 0
    """Size of all batches received, in the log."""
    compressed_bytes: int = 0
    """Size of the compressed records that were read."""
    unpacked_bytes: int = 0
    """Size of these records uncompressed."""
    held_bytes: int = 0
    """Memory of :attr:`records`."""
    count: int = 0
    """Number of records, those passed on included."""
    pass_on: Callable[[LazyRecords], None] | None = None
    """Takes records early if they take much memory."""

    @property
    def unpacking(self) -> float:
        """By which factor its records are larger uncompressed, 1 or more."""
        return max(1.0, self.unpacked_bytes / max(self.compressed_bytes, 1))

    def count_batches(self, reader: BatchReader) -> None:
        """Record the batches of a response."""
        self.log_bytes += reader.log_bytes
        self.compressed_bytes += reader.compressed_bytes
        self.unpacked_bytes += reader.unpacked_bytes
        self.held_bytes += reader.log_bytes + reader.held_bytes

    def add(self, records: LazyRecords) -> None:
        """Append records, and pass all on if they take much memory."""
        self.count += len(records)
        self.records.extend(records)
        if self.held_bytes >= AT_ONCE_BYTES:
            self.pass_on_all()

    def pass_on_all(self, records: LazyRecords | None = None) -> None:
        """Pass on what is held, and these records after it."""
        if self.pass_on is not None:
            if records is not None:
                self.count += len(records)
                self.records.extend(records)
            self.pass_on(self.records)
            self.records, self.held_bytes = LazyRecords(), 0

    def count_response(self, broker: int, size_bytes: int, seconds: float) -> None:
        """Record a response."""
        self.bytes_by_broker[broker] = self.bytes_by_broker.get(broker, 0) + size_bytes
        self.seconds_by_broker[broker] = self.seconds_by_broker.get(broker, 0.0) + seconds
