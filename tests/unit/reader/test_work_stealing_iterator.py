"""Readers that take work from slower ones: each sample once, and an epoch nearly as short as possible."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import BusyError, InputFileError, OperationError
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.checkpoint import Checkpoint, combine_states
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import ReaderShard, Tail
from kafkabal.reader.sample_iterator import Supply
from kafkabal.reader.shared_work_ledger import SharedWorkLedger
from kafkabal.reader.work_stealing_iterator import WorkStealingIterator
from tests.unit.reader.conftest import MemoryTopic

COUNTS = [1500, 400, 100]


class Crowd:
    """Readers on a simulated clock, one of which returns its next sample at a time."""

    def __init__(self, folder: Path, seconds: list[float], progress: EpochProgress | None = None) -> None:
        self.topic = MemoryTopic(COUNTS)
        self.seconds = seconds
        self.now_s = 0.0
        self.seen: list[tuple[int, int]] = []
        self.ends_s = [0.0] * len(seconds)
        manifest = self.topic.manifest()
        self.readers = [
            WorkStealingIterator(
                manifest,
                Supply(open_loader=lambda: BrokerBlocks(manifest, self.topic), limit_bytes=10_000),
                folder,
                seed=1,
                shard=ReaderShard(reader, len(seconds), Tail.KEEP),
                progress=progress or EpochProgress(),
                metrics=ReaderMetrics(),
                now_s=lambda: self.now_s,
            )
            for reader in range(len(seconds))
        ]

    def run(self, most: int = 10**9) -> None:
        """Give out samples, each reader as fast as it is, until the epoch ends or so many were given."""
        turns: dict[int, tuple[float, Iterator[Any]]] = {
            i: (0.0, iter(reader)) for i, reader in enumerate(self.readers)
        }
        while turns and len(self.seen) < most:
            reader = min(turns, key=lambda i: turns[i][0])
            at_s, samples = turns[reader]
            self.now_s = at_s
            sample = next(samples, None)
            if sample is None:
                self.ends_s[reader] = at_s
                del turns[reader]
            else:
                self.seen.append((sample.partition, sample.offset))
                turns[reader] = (at_s + self.seconds[reader], samples)
        for _, samples in turns.values():
            samples.close()  # type: ignore[attr-defined]

    def state(self) -> dict[str, Any]:
        """Of all, combined."""
        return combine_states(
            [
                Checkpoint(
                    identity="i",
                    seed=1,
                    progress=reader.progress,
                    reader=number,
                    readers=len(self.readers),
                    taken=reader.taken,
                    ranges=reader.ranges,
                ).as_dict()
                for number, reader in enumerate(self.readers)
            ]
        )


def _all() -> list[tuple[int, int]]:
    return [(p, o) for p, n in enumerate(COUNTS) for o in range(n)]


@pytest.mark.parametrize("seconds", [[0.01, 0.01, 0.01, 0.02], [0.01, 0.012, 0.05, 0.01], [0.01, 1.0], [0.01]])
def test_an_epoch_takes_little_longer_than_it_must(tmp_path: Path, seconds: list[float]) -> None:
    """One of four readers at half speed, or slower: each sample once, and at most 1.15 x the ideal time."""
    crowd = Crowd(tmp_path, seconds)
    crowd.run()
    assert sorted(crowd.seen) == _all()
    assert sum(reader._metrics.samples for reader in crowd.readers) == len(_all())
    ideal_s = len(_all()) / sum(1 / each for each in seconds)
    assert max(crowd.ends_s) <= 1.15 * ideal_s + max(seconds)


def test_equal_readers_keep_their_own(tmp_path: Path) -> None:
    """Nothing is handed over while none is late, except the last few samples."""
    crowd = Crowd(tmp_path, [0.01] * 4)
    crowd.run()
    assert all(reader.ranges[number][0][0] == 0 for number, reader in enumerate(crowd.readers))
    assert sum(len(each) for reader in crowd.readers for each in reader.ranges) <= 8


@pytest.mark.parametrize("seed", range(12))
def test_stopped_anywhere_and_resumed_by_any_number(tmp_path: Path, seed: int) -> None:
    """With random speeds, stopping times and numbers of readers, the states together lose and repeat nothing."""
    drawn = random.Random(seed)
    seen: list[tuple[int, int]] = []
    progress = EpochProgress()
    while len(seen) < len(_all()):
        crowd = Crowd(
            tmp_path / str(len(seen)),
            [drawn.choice((0.01, 0.02, 0.07)) for _ in range(drawn.choice((1, 2, 4)))],
            progress,
        )
        crowd.run(drawn.randrange(1, 1500))
        seen += crowd.seen
        state = crowd.state()
        checkpoint = Checkpoint.from_dict(state)
        progress = checkpoint.resumed_by(ReaderShard(0, 1))[0]
    assert sorted(seen) == _all()


def _ledger(folder: Path, reader: int = 0) -> SharedWorkLedger:
    return SharedWorkLedger(folder, "e", reader=reader, readers=2, count=lambda _: 100, now_s=lambda: 0.0)


def test_a_run_that_was_killed_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reservations of dead readers no longer count; a live reader cannot be there twice."""
    first = _ledger(tmp_path)
    segment = first.claim()
    assert segment is not None
    assert first.reserve(segment) > 0
    monkeypatch.setattr("kafkabal.reader.shared_work_ledger._PREDECESSOR_S", 0.0)
    with pytest.raises(BusyError, match="reader 0 of 2 is running already"):
        _ledger(tmp_path)
    first.close()  # as the kernel does when it dies
    again = _ledger(tmp_path, 1).claim()
    assert again is not None
    assert (again.shard, again.begin, again.end) == (1, 0, 100)
    with pytest.raises(OperationError, match="reader 0 of 2 is of an earlier run"):
        first.reserve(segment)
    restarted = _ledger(tmp_path, 0).claim()
    assert restarted is not None
    assert (restarted.shard, restarted.begin, restarted.end) == (0, 0, 100)


def test_a_restarted_reader_waits_for_the_workers_of_the_killed_one(tmp_path: Path) -> None:
    """They notice within seconds that their parent is gone; a trainer that is started before does not end."""
    orphan = _ledger(tmp_path)
    end = threading.Timer(0.3, orphan.close)
    end.start()
    restarted = _ledger(tmp_path).claim()
    end.join()
    assert restarted is not None
    assert restarted.shard == 0


@pytest.mark.parametrize(
    "text", ["", "{}", '{"run":"a","segments":[]}', '{"run":"a","segments":[[0,0,5,0]]}', "[" * 100_000]
)
def test_a_broken_ledger_is_named(tmp_path: Path, text: str) -> None:
    """Whatever the file holds, it is one line."""
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(InputFileError, match="not a ledger"):
        _ledger(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"rates": {"0": 0.0}},
        {"rates": {"1": -5.0}},
        {"segments": [[0, 0, 10**9, 0], [1, 0, 5, 1]]},
        {"segments": [[0, -5, 5, 0], [1, 0, 5, 1]]},
        {"segments": [[0, 5, 0, 0], [1, 0, 5, 1]]},
        {"segments": [[0, 0, 5, 0], [1, 0, 5, 7]]},
        {"segments": [[0, 0, 60, 0], [0, 0, 60, 0], [1, 0, 5, 1]]},
    ],
)
def test_numbers_that_no_reader_writes_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """They would lose or repeat samples, or divide by zero; those of an earlier run, of another manifest, do not."""
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"run": "a", "segments": [[0, 0, 900, 0], [1, 0, 900, 1]], "joined": [0, 1]}))
    ledger = _ledger(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputFileError, match="not a ledger of readers"):
        ledger.claim()
