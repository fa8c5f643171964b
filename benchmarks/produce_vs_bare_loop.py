"""Speed of ``produce`` against a bare loop that reads, hashes and produces, for many small files and many short rows.

The bare loop passes a delivery callback, which is needed to know what arrived, and polls; it keeps no manifest, names
no records, and does not survive a crash. Pairs are interleaved; the result is the median of the ratios. The brokers are
librdkafka's mock cluster. The time of a run before its first record (listing, sizes, manifest) is included.

    python -m benchmarks.produce_vs_bare_loop --pairs 5
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import monotonic, perf_counter, process_time

from confluent_kafka import Producer

from benchmarks.producer import Metadata
from kafkabal.config import ClientSetting
from kafkabal.producer import ManifestHeader, SendManifest, SendRun, check_sizes
from kafkabal.producer.record_sender import RecordSender
from kafkabal.routing import Context, load_policy
from kafkabal.scoring import load_scores
from kafkabal.sources import FolderSource, RowSource, Source
from tests.mock_brokers import MockBrokers

TOPIC = "benchmark"
TARGET = 1.25
"""Maximum time of a run, relative to the bare loop."""
FILES, FILE_BYTES = 20_000, 4096
ROWS = {150: 700_000, 1000: 200_000}
"""Rows of each length in bytes."""
SETTINGS: dict[str, ClientSetting] = {
    "linger.ms": 5,
    "enable.idempotence": True,
    "queue.buffering.max.messages": 100_000,
    "log_level": 2,
}


class Bare:
    """A producer that takes its partitions in turn, and counts what arrived."""

    def __init__(self, settings: dict[str, ClientSetting]) -> None:
        self._producer = Producer(settings)
        found = self._producer.list_topics(TOPIC, timeout=10)
        self._partitions = itertools.cycle(sorted(found.topics[TOPIC].partitions))
        self._delivered = self._sent = 0

    def send(self, value: bytes) -> None:
        """Queue a record; a thousand in a row go to one partition."""
        if not self._sent % 1000:
            self._partition = next(self._partitions)
        while True:
            try:
                self._producer.produce(TOPIC, value, None, self._partition, self._count)
                break
            except BufferError:
                self._producer.poll(0.05)
        self._sent += 1
        if not self._sent & 63:
            self._producer.poll(0)

    def flush(self) -> None:
        """Wait for all deliveries."""
        self._producer.flush()
        assert self._delivered == self._sent

    def _count(self, error: object, _message: object) -> None:
        self._delivered += error is None


def bare_files(settings: dict[str, ClientSetting], folder: Path) -> None:
    """Read, hash and send every file."""
    bare = Bare(settings)
    for path in sorted(folder.rglob("*.bin")):
        value = path.read_bytes()
        sha256(value).hexdigest()
        bare.send(value)
    bare.flush()


def bare_rows(settings: dict[str, ClientSetting], path: Path) -> None:
    """Read, hash and send every line."""
    bare, digest = Bare(settings), sha256()
    with path.open("rb") as file:
        for line in file:
            digest.update(line)
            bare.send(line.rstrip(b"\n"))
    bare.flush()


def routed(settings: dict[str, ClientSetting], source: Source, records: int, state: Path, policy: str) -> None:
    """One run as the command does it, with a manifest of its own."""
    header = ManifestHeader(id="0" * 16, cluster_id="c", topic=TOPIC, topic_id="T", source=source.name, offsets={})
    listing = source.listing()
    check_sizes(source, listing.parts, 1_048_588)
    path = state / f"{monotonic()}.jsonl"
    with (
        SendManifest.open(path, header) as manifest,
        RecordSender(
            Metadata(Producer(settings), TOPIC),
            TOPIC,
            load_policy(policy).create(Context()),
            settings,
            scores=load_scores(["disk"]),
        ) as producer,
    ):
        outcome = SendRun(producer, source, manifest, clock=monotonic).send(listing)
    assert outcome.is_complete
    assert outcome.sent == records
    path.unlink()


def timed(run: Callable[[], None]) -> tuple[float, float]:
    """Elapsed seconds, and seconds of processor time, which a busy machine affects less."""
    start, start_cpu = perf_counter(), process_time()
    run()
    return perf_counter() - start, process_time() - start_cpu


def settings_of(brokers: MockBrokers) -> dict[str, ClientSetting]:
    """Settings of a producer for these brokers."""
    return {"bootstrap.servers": brokers.bootstrap_servers, **SETTINGS}


def write_rows(path: Path, n_bytes: int, n_rows: int) -> Path:
    """A file of JSON Lines of this length, with their line breaks."""
    row = b'{"text":"' + b"x" * (n_bytes - 24) + b'","n":%07d}\n'
    with path.open("wb") as file:
        for number in range(n_rows):
            file.write(row % number)
    return path


def main() -> None:
    """Print one line per source."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--policy", default="score")
    given = options.parse_args()
    brokers = MockBrokers(TOPIC)
    settings = settings_of(brokers)
    with tempfile.TemporaryDirectory() as temporary:
        state, folder = Path(temporary), Path(temporary) / "files"
        for number in range(FILES):
            (folder / f"label{number % 100}").mkdir(parents=True, exist_ok=True)
            (folder / f"label{number % 100}" / f"{number}.bin").write_bytes(b"%07d" % number * (FILE_BYTES // 7))
        sources: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
            f"{FILES:,} files of {FILE_BYTES} B": (
                lambda: bare_files(settings, folder),
                lambda: routed(settings, FolderSource(folder), FILES, state, given.policy),
            )
        }
        for n_bytes, n_rows in ROWS.items():
            path = write_rows(state / f"rows-{n_bytes}.jsonl", n_bytes, n_rows)
            sources[f"{n_rows:,} rows of {n_bytes} B"] = (
                partial(bare_rows, settings, path),
                partial(routed, settings, RowSource(path), n_rows, state, given.policy),
            )
        for name, (bare, ours) in sources.items():
            pairs = []
            for number in range(given.pairs):  # each is first in every second pair
                of_pair = [timed(run) for run in ((bare, ours), (ours, bare))[number % 2]]
                pairs.append((of_pair[number % 2], of_pair[1 - number % 2]))
            ratios = sorted(ours_s / bare_s for (bare_s, _), (ours_s, _) in pairs)
            by_cpu = statistics.median(ours_s / bare_s for (_, bare_s), (_, ours_s) in pairs)
            peak_mib = getrusage(RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name:24}  bare {statistics.median(b for (b, _), _ in pairs):.2f} s  produce "
                f"{statistics.median(o for _, (o, _) in pairs):.2f} s  ratio {statistics.median(ratios):.2f} "
                f"({ratios[0]:.2f} .. {ratios[-1]:.2f})  by CPU {by_cpu:.2f}  target {TARGET}  peak {peak_mib:.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
