"""Readers that take work from slower ones: each sample once, and an epoch nearly as short as possible."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.errors import BusyError, InputFileError, OperationError
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.checkpoint import Checkpoint, combine_states
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import ReaderShard, Tail
from kafkabal.reader.sample_iterator import Supply
from kafkabal.reader.shared_work_ledger import RankStart, SharedWorkLedger
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
                start=RankStart.of(reader),
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


class _Positions:
    """The positions of a shard, in place of their samples: no block is loaded."""

    def __init__(
        self, manifest: SimpleNamespace, _: None, *, shard: ReaderShard, progress: EpochProgress, **rest: Any
    ) -> None:
        self._pieces = shard.positions(progress, manifest.samples, rest["taken"], rest["until"])

    def __iter__(self) -> Iterator[int]:
        for piece in self._pieces:
            yield from piece.tolist()


@dataclass
class _Rank:
    """A process that reads positions, on a simulated clock."""

    reader: WorkStealingIterator
    gives: Iterator[Any]
    seconds: float
    next_s: float
    given: list[Any] = field(default_factory=list)
    is_done: bool = False


class _Job:
    """Ranks that begin, read, save their states and are killed in random order, until all finish the epoch."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._drawn = random.Random(seed)
        self.samples = SimpleNamespace(samples=self._drawn.choice([7, 30, 120, 300]))
        self._progress = EpochProgress()
        self._now_s = 0.0
        self._kept: list[int] = []
        """Samples of the states from which the next ranks begin."""
        self.readers = self._drawn.choice([2, 3, 4])
        self._saved: tuple[dict[str, Any], list[int]] | None = None
        """The last state of all ranks that run, and what they had been given by then."""
        self._alive: dict[int, _Rank] = {}

    def given(self) -> list[int]:
        """Every sample of the epoch, as often as it was given to a trainer that kept it."""
        while not self._run():
            for rank in self._alive.values():
                rank.reader.close()  # as the kernel does
            if self._saved is not None:
                state, given = self._saved
                self._progress = Checkpoint.from_dict(state).resumed_by(ReaderShard(0, 1))[0]
                self._kept += given
            if self._drawn.random() < 0.3:
                self.readers = self._drawn.choice([1, 2, 3, 4])
        return sorted(self._kept + [sample for rank in self._alive.values() for sample in rank.given])

    def _run(self) -> bool:
        """Whether all ranks come to the end; False if they are killed before, or one is refused."""
        drawn, self._alive, self._saved = self._drawn, {}, None
        absent, kill = drawn.sample(range(self.readers), self.readers), drawn.choice([0, 0.003, 0.03])
        delay = drawn.choice([0.0, 0.9, 1.0])  # 1: each begins when those before have finished
        while absent or not all(rank.is_done for rank in self._alive.values()):
            running = [rank for rank in self._alive.values() if not rank.is_done]
            if absent and (not running or drawn.random() > delay):
                if self._alive and not running and drawn.random() < 0.4:
                    return False  # killed while some have finished, and others have not begun
                self.begin(absent.pop())
                continue
            try:
                self.step(min(running, key=lambda rank: rank.next_s) if drawn.random() < 0.8 else drawn.choice(running))
            except OperationError as error:
                assert "is of an earlier run" in error.message  # noqa: PT017 - all start again
                return False
            if not absent and drawn.random() < 0.02:
                self._saved = self._state()
            if drawn.random() < kill:
                return False
        return True

    def begin(self, number: int) -> _Rank:
        """Start a rank."""
        reader = WorkStealingIterator(
            self.samples,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            self._folder,
            seed=1,
            shard=ReaderShard(number, self.readers, Tail.KEEP),
            progress=self._progress,
            start=RankStart.of(number),
            metrics=ReaderMetrics(),
            now_s=lambda: self._now_s,
        )
        seconds = self._drawn.choice([0.001, 0.01, 0.01, 0.1, 1.0])
        self._alive[number] = _Rank(reader, iter(reader), seconds, self._now_s)
        return self._alive[number]

    def step(self, rank: _Rank, *, leaves: bool = True) -> None:
        """Let a rank take its next sample."""
        self._now_s = max(self._now_s, rank.next_s)
        sample = next(rank.gives, None)
        rank.next_s = self._now_s + rank.seconds * self._drawn.uniform(0.5, 1.5)
        if sample is None:
            rank.is_done = True
            return
        rank.given.append(sample)
        if leaves and self._drawn.random() < 0.03:  # the trainer leaves the loop, and perhaps a batch is interrupted
            rank.gives.close()  # type: ignore[attr-defined]
            returned = self._drawn.randrange(min(4, len(rank.given) + 1))
            rank.given = rank.given[: len(rank.given) - returned]
            rank.reader.give_back(len(rank.given))
            rank.gives = iter(rank.reader)

    def _state(self) -> tuple[dict[str, Any], list[int]]:
        states = [
            Checkpoint(
                identity="i",
                seed=1,
                progress=rank.reader.progress,
                reader=number,
                readers=self.readers,
                taken=rank.reader.taken,
                ranges=rank.reader.ranges,
            ).as_dict()
            for number, rank in self._alive.items()
        ]
        return combine_states(states), [sample for rank in self._alive.values() for sample in rank.given]


@pytest.mark.parametrize("seed", range(60))
def test_ranks_that_are_killed_at_any_moment_lose_and_repeat_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In random order, ranks begin, some after others have finished, leave loops, save states and are killed together;
    those that begin from the last states of all, in any number, give each sample once."""
    monkeypatch.setattr("kafkabal.reader.work_stealing_iterator.SampleIterator", _Positions)
    monkeypatch.setattr("kafkabal.reader.shared_work_ledger._PREDECESSOR_S", 0.0)
    job = _Job(tmp_path, seed)
    assert job.given() == list(range(job.samples.samples))


@pytest.mark.parametrize(
    "seconds", [[(0.5, 0.1, 0.5), (0.1, 3, 0.01)], [(0.5, 0.1, 0.5), (0.01, 0.01, 0.01)], [(0.1, 0.1, 0.1)] * 2]
)
def test_the_ledger_of_ranks_that_had_finished_when_all_were_killed(
    seconds: list[tuple[float, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank that had not begun then, and begins first when all start again, gives all of its samples."""
    monkeypatch.setattr("kafkabal.reader.work_stealing_iterator.SampleIterator", _Positions)
    job = _Job(tmp_path, 0)
    job.samples, job.readers = SimpleNamespace(samples=300), 3
    for order, each_seconds in zip(((0, 1), (2, 0, 1)), seconds, strict=True):
        given: list[int] = []
        for number in order:
            rank = job.begin(number)
            rank.seconds = each_seconds[number]
            while not rank.is_done:
                job.step(rank, leaves=False)
            given += rank.given
            rank.reader.close()
    assert sorted(given) == list(range(300))


def _ledger(folder: Path, reader: int = 0, start: RankStart | None = None) -> SharedWorkLedger:
    return SharedWorkLedger(
        folder,
        "e",
        reader=reader,
        readers=2,
        start=start or RankStart.of(reader),
        count=lambda _: 100,
        now_s=lambda: 0.0,
    )


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


def test_a_worker_that_outlives_its_killed_run_takes_no_part_in_the_next(tmp_path: Path) -> None:
    """The other worker of the next run, which had not begun when the first was killed, does not share with it."""
    orphan, start = _ledger(tmp_path, 0, RankStart.of(0)), RankStart.of(0)
    segment = orphan.claim()
    assert segment is not None
    orphan.reserve(segment)
    second = _ledger(tmp_path, 1, start)
    with pytest.raises(OperationError, match="reader 0 of 2 is of an earlier run"):
        orphan.reserve(segment)
    orphan.close()
    first = _ledger(tmp_path, 0, start)
    segments = [first.claim(), second.claim()]  # of one run: neither is refused
    assert [(s.shard, s.begin, s.end) for s in segments if s is not None] == [(0, 0, 100), (1, 0, 100)]


def test_a_rank_that_had_not_begun_does_not_join_those_of_another_run(tmp_path: Path) -> None:
    """While the other one of a run that is stopped still computes: it is refused, and ranks of the new run share."""
    still_there = _ledger(tmp_path, 0, RankStart.of(0, "job-1"))
    segment = still_there.claim()
    assert segment is not None
    still_there.reserve(segment)
    second = _ledger(tmp_path, 1, RankStart.of(1, "job-2"))
    with pytest.raises(OperationError, match="reader 0 of 2 is of an earlier run"):
        still_there.reserve(segment)
    still_there.close()
    first = _ledger(tmp_path, 0, RankStart.of(0, "job-2"))
    segments = [second.claim(), first.claim()]  # of one run: neither is refused
    assert [(s.shard, s.begin, s.end) for s in segments if s is not None] == [(1, 0, 100), (0, 0, 100)]


def test_a_ledger_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It has no starts, and counts as that of a killed run if its readers are gone."""
    segments = [[0, 16, 100, 0], [1, 0, 100, 1]]
    (tmp_path / "e.json").write_text(json.dumps({"run": "a", "segments": segments, "joined": [0]}))
    found = _ledger(tmp_path, 1).claim()
    assert found is not None
    assert (found.shard, found.begin, found.end) == (1, 0, 100)
    assert json.loads((tmp_path / "e.json").read_text())["run"] != "a"


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
