"""``produce --read-ahead`` on a store that takes 5 ms per file, against reading one file after the other.

Files of 4 kB are on a local disk, and opening one waits. The rate of a run includes its listing, hashing, manifest and
delivery to librdkafka's mock brokers. Reading one after the other is measured with fewer files.

    python -m benchmarks.read_ahead
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter, sleep

from benchmarks.produce_vs_bare_loop import FILE_BYTES, TOPIC, routed, settings_of
from kafkabal.config import ClientSetting
from kafkabal.sources import FolderSource
from kafkabal.sources.file_store_protocol import OpenFile
from kafkabal.sources.local_files import LocalFolder
from tests.mock_brokers import MockBrokers

WAIT_S = 0.005
AIM = 20.0
FILES_A_FOLDER = 1000
FEW = 1000
"""Files that are read one after the other: at 5 ms each, 5 s."""


class DistantFolder(LocalFolder):
    """A folder whose files take a while to open."""

    def open(self, name: str) -> AbstractContextManager[OpenFile]:
        """Open a file after the time of a round trip."""
        sleep(WAIT_S)
        return super().open(name)


def write_files(folder: Path, count: int) -> Path:
    """Write this many files, a thousand per folder."""
    for number in range(count):
        if number % FILES_A_FOLDER == 0:
            below = folder / str(number // FILES_A_FOLDER)
            below.mkdir(parents=True)
        (below / str(number)).write_bytes(b"%08d" % number * (FILE_BYTES // 8))
    return folder


def files_per_s(settings: dict[str, ClientSetting], folder: Path, count: int, state: Path, threads: int) -> float:
    """Rate of one run."""
    begun_s = perf_counter()
    routed(settings, FolderSource(DistantFolder(folder), read_ahead=threads), count, state, "score")
    return count / (perf_counter() - begun_s)


def main() -> None:
    """Print the ratio."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=3)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--threads", type=int, default=64)
    given = options.parse_args()
    brokers = MockBrokers(TOPIC)
    settings = settings_of(brokers)
    with tempfile.TemporaryDirectory() as temporary:
        state, few = Path(temporary), write_files(Path(temporary) / "few", FEW)
        many = write_files(Path(temporary) / "many", given.files)
        one, ahead = [], []
        for _ in range(given.pairs):
            one.append(files_per_s(settings, few, FEW, state, 0))
            ahead.append(files_per_s(settings, many, given.files, state, given.threads))
    ratios = sorted(a / o for a, o in zip(ahead, one, strict=True))
    print(
        f"{given.files:,} files at {WAIT_S * 1000:g} ms each, {given.threads} threads: "
        f"{statistics.median(ahead):,.0f} files/s, one after the other {statistics.median(one):,.0f}: "
        f"{statistics.median(ratios):.1f} x ({ratios[0]:.1f} to {ratios[-1]:.1f}; aim {AIM:g})"
    )


if __name__ == "__main__":
    main()
