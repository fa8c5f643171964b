"""The samples of a reader: all of them, each once, in one order, within a memory limit."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from weakref import ref

import numpy as np
import pytest

from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.clusters.kafka.lazy_records import BatchHead, PlacedRecords
from kafkabal.errors import OperationError
from kafkabal.reader import prefetch
from kafkabal.reader.block_loader import BrokerBlocks, UncountedOffsetsError, moved_to_file
from kafkabal.reader.block_schedule import Opening, Visits, schedule
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.loaded_blocks import LoadedBlock, SampleBlock
from kafkabal.reader.pin_offsets import pin_topic
from kafkabal.reader.prefetch import Prefetch
from kafkabal.reader.reader_shard import ReaderShard, Tail
from tests.unit.reader.conftest import LANES, MemoryTopic, places
from tests.unit.reader.test_pin_offsets import MemoryBrokers

RECORDS: Final[list[RawRecord]] = [(5, 1000, None, b"a" * 9, b"\0"), (5, 1000, None, b"b" * 9, b"\0")]


@pytest.fixture
def topic() -> MemoryTopic:
    """Partitions of very different sizes; their records do not divide evenly among the lanes."""
    return MemoryTopic([997, 101, 1, 0, 55])


def _all(topic: MemoryTopic) -> list[tuple[int, int]]:
    return [(p, o) for p, n in enumerate(topic.counts) for o in range(n)]


def test_one_reader_gets_everything_once(topic: MemoryTopic) -> None:
    """An epoch holds every record once, and the next one does so in another order."""
    first = list(places(topic.sequence(ReaderShard())))
    both = list(places(topic.sequence(ReaderShard(), until_epoch=2)))
    assert sorted(first) == _all(topic)
    assert both[: len(first)] == first
    assert sorted(both[len(first) :]) == _all(topic)
    assert both[len(first) :] != first


@pytest.mark.parametrize("readers", [2, 3, 4, 7])
def test_readers_interleave_to_the_order_of_one(topic: MemoryTopic, readers: int) -> None:
    """Whatever their number, readers in step give the sequence of a single reader, dropping less than one round."""
    whole = list(places(topic.sequence(ReaderShard())))
    each = [list(places(topic.sequence(ReaderShard(r, readers)))) for r in range(readers)]
    together = [place for step in zip(*each, strict=True) for place in step]
    assert together == whole[: len(together)]
    assert len(whole) - len(together) < readers


def test_a_single_reader_fetches_each_block_once() -> None:
    """Lanes of unequal length end one after the other; the rest of their blocks is not fetched again."""
    topic = MemoryTopic([301, 44])
    sequence = topic.sequence(ReaderShard(), until_epoch=2)
    assert len(list(places(sequence))) == 2 * 345
    assert topic.fetched_records == 2 * 345


def test_readers_that_divide_the_lanes_fetch_nothing_twice(topic: MemoryTopic) -> None:
    """Three readers of six lanes fetch each record once, except the few left when a lane has run out."""
    for reader in range(3):
        list(places(topic.sequence(ReaderShard(reader, 3, Tail.KEEP))))
    assert topic.fetched_records <= sum(topic.counts) * 1.02


def test_runs_that_end_anywhere_are_resumed_exactly(topic: MemoryTopic) -> None:
    """Readers stopped at uneven moments and resumed in other numbers, from their states, give each record once."""
    randomness = random.Random(5)
    progress, seen = EpochProgress(), []
    for readers in (2, 5, 1, 3, 4):
        taken = []
        for reader in range(readers):
            sequence = topic.sequence(ReaderShard(reader, readers, Tail.KEEP), progress)
            stop = None if readers == 4 else randomness.randrange(200)
            mine = list(places(sequence, stop))
            seen += mine
            taken.append(len(mine))
        progress = progress.after(taken)
    assert sorted(seen) == _all(topic)


@pytest.mark.parametrize("missing", [frozenset(), frozenset({(3, 5), (3, 6), (39, 0), (40, 7)})])
def test_many_small_partitions_share_blocks(missing: frozenset[tuple[int, int]]) -> None:
    """A hundred partitions of a few records are six blocks, whether counted or not, each requested together; readers
    in changing numbers get each record once."""
    topic = MemoryTopic([7 + p % 23 for p in range(100)], missing=missing)
    manifest = pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=LANES, count=bool(missing))
    assert (len(manifest.blocks), manifest.is_dense) == (LANES, not missing)
    assert manifest.blocks.samples.max() - manifest.blocks.samples.min() <= 1
    topic.ahead.clear()
    progress, seen = EpochProgress(), []
    for readers, stop in ((2, 301), (5, 100), (1, 17), (4, None)):
        each = [
            list(places(topic.sequence(ReaderShard(r, readers, Tail.KEEP), progress, manifest=manifest), stop))
            for r in range(readers)
        ]
        seen += [place for mine in each for place in mine]
        progress = progress.after(list(map(len, each)))
    assert sorted(seen) == [place for place in _all(topic) if place not in missing]
    assert min(topic.ahead) > 10


def test_a_block_of_many_partitions_that_takes_much_memory_is_in_a_file() -> None:
    """Records of later partitions that are passed on do not overtake those of earlier ones."""
    topic = MemoryTopic([20 + p % 2 for p in range(60)])
    manifest = pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=LANES)
    topic.passed_on = 21  # every other partition
    loaded = BrokerBlocks(manifest, topic).load(0)
    rows = manifest.blocks.ranges_of(0)
    assert loaded.is_mapped
    assert (
        loaded.records.partition.tolist()
        == np.repeat(manifest.blocks.ranges.partition[rows], manifest.blocks.ranges.samples[rows]).tolist()
    )


def test_memory_is_bounded(topic: MemoryTopic) -> None:
    """Loaded but unused blocks stay within the limit, plus the blocks that must be open, however far it reads ahead."""
    held, most = 0, 0
    guard = threading.Lock()

    class Counting(BrokerBlocks):
        def load(self, block: int, only: int | None = None) -> LoadedBlock:
            nonlocal held, most
            loaded = super().load(block, only)
            with guard:
                held += loaded.size_bytes
                most = max(most, held)
            return loaded

    large = MemoryTopic([600], record_bytes=10)
    manifest = large.manifest()
    sequence = large.sequence(
        ReaderShard(), limit_bytes=700, manifest=manifest, open_loader=lambda: Counting(manifest, large), until_epoch=4
    )
    for sample in sequence:
        with guard:
            held -= len(sample.value) + 1
    assert most <= 6 * 1100 + 1100  # six lanes with a block of 100 records each, and one being loaded


def test_blocks_without_room_are_in_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of blocks a thousand times as large as expected, those that find the limit reached are moved, and give the same
    samples."""
    moved: list[int] = []

    def move(block: LoadedBlock) -> LoadedBlock:
        found = moved_to_file(block)
        moved.append(block.size_bytes - found.size_bytes)
        return found

    monkeypatch.setattr(prefetch, "moved_to_file", move)
    large = MemoryTopic([60], record_bytes=100_000)
    whole = [(s.offset, s.value) for s in large.sequence(ReaderShard(), limit_bytes=10**8)]
    assert moved == []
    assert [(s.offset, s.value) for s in large.sequence(ReaderShard(), limit_bytes=10**6)] == whole
    assert min(moved) >= 10**6
    assert len(moved) >= 4  # the first fills the limit, at which three threads may load one each


def test_a_received_block_needs_no_buffer() -> None:
    """The buffer is free for the next block at once, and a sample takes no memory once it was yielded."""
    packed = b"".join(bytes(LazyRecords.of([(0, r)]).columns().packed[0]) for r in RECORDS)
    buffer = np.frombuffer(packed, np.uint8).copy()
    dropped, size = ref(buffer), len(buffer) // len(RECORDS)
    records = PlacedRecords([BatchHead(0, 5, 1000, None, buffer.data)], [2], [0, size], [size, 2 * size])
    del buffer
    block = SampleBlock(LoadedBlock(records.columns(), 2 * size), np.array([1, 0]))
    del records
    assert dropped() is None
    first, second = block.samples(np.array([0, 1]))
    assert (first.value, second.value) == (b"b" * 9, b"a" * 9)
    assert sys.getrefcount(first) == 2  # this variable and the argument


def test_a_loop_that_is_left_keeps_no_block(topic: MemoryTopic) -> None:
    """What the reader keeps for its state and the next loop holds no samples: 24 blocks of 8 MiB, in a real topic."""
    sequence = topic.sequence(ReaderShard())
    samples = iter(sequence)
    for _ in range(100):
        next(samples)
    opened = [ref(each.block) for each in sequence._open.values()]
    samples.close()
    assert opened
    assert [each() for each in opened if each() is not None] == []
    assert sequence.taken == 100


def test_an_error_of_the_loader_ends_the_reader(topic: MemoryTopic) -> None:
    """An error in a thread is raised where the samples are taken, not swallowed or waited for."""
    topic.fault = OperationError("the log dir is on fire")
    with pytest.raises(OperationError, match="on fire"):
        list(places(topic.sequence(ReaderShard())))


def test_a_loader_that_cannot_be_made_ends_the_reader(topic: MemoryTopic) -> None:
    """As where no broker can be reached once the topic is pinned: raised, not waited for."""

    def unreachable() -> BrokerBlocks:
        raise OperationError("no broker can be reached")

    with pytest.raises(OperationError, match="no broker"):
        list(places(topic.sequence(ReaderShard(), open_loader=unreachable)))


def test_missing_records_are_refused() -> None:
    """A gap where every offset should hold a record is named, with what to do; 'kafkabal read' does it by itself."""
    topic = MemoryTopic([100], missing=frozenset({(0, 41)}))
    with pytest.raises(UncountedOffsetsError, match="hold 16 records, not 17") as caught:
        list(places(topic.sequence(ReaderShard())))
    assert "count=True" in (caught.value.hint or "")


def test_no_thread_outlives_its_reader(topic: MemoryTopic) -> None:
    """Threads end with the iteration, also with one that is given up half way."""
    before = threading.active_count()
    list(places(topic.sequence(ReaderShard()), 10))
    assert threading.active_count() == before


class _BrokersOnHold:
    """Blocks that are loaded once their broker is released; what was begun is listed."""

    def __init__(self, topic: MemoryTopic, held: int) -> None:
        self._blocks = BrokerBlocks(topic.manifest(), topic)
        self._held = held
        self.released = threading.Event()
        self.begun: list[int] = []

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """A block, of a broker that is on hold only later."""
        self.begun.append(block)
        if self.broker_of(block) == self._held:
            self.released.wait(20)
        return self._blocks.load(block, only)

    def close(self) -> None:
        """Nothing is open."""

    @staticmethod
    def broker_of(block: int) -> int:
        """The first four blocks are the first one's."""
        return block // 4

    def prefetch(self, topic: MemoryTopic, limit_bytes: int) -> Prefetch:
        """Loads eight blocks of 10 bytes."""
        pieces = schedule(topic.manifest(), None, ReaderShard(), EpochProgress(), 0)
        piece = next(pieces)
        piece = dataclasses.replace(piece, openings=[Opening(block, None, piece.order) for block in range(8)])
        return Prefetch(iter([piece]), lambda: self, lambda _: 10, self.broker_of, limit_bytes=limit_bytes, brokers=2)


def _until(done: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + 20
    while not done() and time.monotonic() < end_s:
        time.sleep(0.001)
    return done()


def test_a_throttled_broker_keeps_no_thread_from_another(topic: MemoryTopic) -> None:
    """One thread waits for the first broker, and the other loads from the second; the order is kept."""
    brokers = _BrokersOnHold(topic, held=0)
    with brokers.prefetch(topic, 10**6) as prefetch:
        list(prefetch.visits())
        assert _until(lambda: {0, 4, 5, 6, 7} <= set(brokers.begun))
        brokers.released.set()
        assert all(len(prefetch.next_block()) for _ in range(8))
    assert sorted(brokers.begun) == list(range(8))


def test_later_blocks_take_no_memory_from_earlier_ones(topic: MemoryTopic) -> None:
    """With memory for five blocks only one of the second broker is loaded ahead: the first four fit beside it."""
    brokers = _BrokersOnHold(topic, held=0)
    with brokers.prefetch(topic, 59) as prefetch:
        list(prefetch.visits())
        assert _until(lambda: {0, 4} <= set(brokers.begun))
        assert set(brokers.begun) <= {0, 1, 4}
        brokers.released.set()
        assert all(len(prefetch.next_block()) for _ in range(5))


def test_a_search_for_an_idle_broker_has_an_end(topic: MemoryTopic) -> None:
    """Thousands of small blocks of a busy broker are not searched again for each sample that is yielded."""
    brokers = _BrokersOnHold(topic, held=0)
    looked_at: list[int] = []

    def broker_of(block: int) -> int:
        looked_at.append(block)
        return brokers.broker_of(block)

    piece = next(schedule(topic.manifest(), None, ReaderShard(), EpochProgress(), 0))
    blocks = [0, 4, 8, 12, *[1] * 3000]
    piece = dataclasses.replace(piece, openings=[Opening(block, None, piece.order) for block in blocks])
    with Prefetch(iter([piece]), lambda: brokers, lambda _: 1, broker_of, limit_bytes=10**6, brokers=8) as prefetch:
        list(prefetch.visits())
        assert _until(lambda: sum(block < 4 for block in brokers.begun) == 3 and len(prefetch._loaded) == 3)
        assert _until(lambda: prefetch._waiting_threads > 0)
        looked_at.clear()
        for _ in range(1000):
            prefetch.release(1)
        brokers.released.set()
    assert len(looked_at) < 2000


def test_brokers_that_hang_delay_the_end_once(topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads wait for one: they share the time that the end may take."""
    waits: list[float | None] = []
    clock = [0.0]

    def join(_: threading.Thread, timeout: float | None = None) -> None:
        waits.append(timeout)
        clock[0] += timeout or 0

    brokers = _BrokersOnHold(topic, held=0)
    with brokers.prefetch(topic, 10**6) as prefetch:
        list(prefetch.visits())
        assert _until(lambda: {0, 4} <= set(brokers.begun))
        monkeypatch.setattr("kafkabal.reader.prefetch.time", SimpleNamespace(monotonic=lambda: clock[0]))
        monkeypatch.setattr(threading.Thread, "join", join)
    brokers.released.set()
    assert waits == [5.0] + [0.0] * (len(waits) - 1)
    assert len(waits) > 1


def test_a_schedule_that_fails_is_not_its_end(topic: MemoryTopic) -> None:
    """What goes wrong while a thread plans ahead is raised, though the schedule gives nothing more."""

    def failing() -> Iterator[Visits]:
        raise OperationError("no order")
        yield

    manifest = topic.manifest()
    with Prefetch(failing(), lambda: BrokerBlocks(manifest, topic), lambda _: 1, limit_bytes=10, brokers=1) as prefetch:
        time.sleep(0.05)
        with pytest.raises(OperationError, match="no order"):
            list(prefetch.visits())


def test_a_forked_process_does_not_wait_for_the_threads_of_its_parent() -> None:
    """One that continues an iterator of its parent gets an error, and the parent all of its samples."""
    program = (
        "import os, signal\n"
        "from kafkabal.reader.reader_shard import ReaderShard\n"
        "from tests.unit.reader.conftest import MemoryTopic\n"
        "samples = iter(MemoryTopic([600]).sequence(ReaderShard(), limit_bytes=100))\n"
        "next(samples)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(30)\n"
        "    try:\n"
        "        list(samples)\n"
        "    except Exception as error:\n"
        "        os.write(1, str(error).encode())\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "assert len(list(samples)) == 599\n"
    )
    assert _run(program) == "this iterator was begun before the process was forked"


def test_a_program_can_end_in_the_middle_of_an_epoch() -> None:
    """Even if a loading thread has the lock then: the interpreter would stop it there, and wait for the lock."""
    program = (
        "import builtins, dataclasses, time\n"
        "from kafkabal.reader.reader_shard import ReaderShard\n"
        "from tests.unit.reader.conftest import MemoryTopic\n"
        "once = iter([1.0])\n"
        "def slow(_):\n"
        "    time.sleep(next(once, 0.0))\n"
        "    return 0\n"
        "sequence = MemoryTopic([600]).sequence(ReaderShard())\n"
        "sequence._supply = dataclasses.replace(sequence._supply, broker_of=slow)\n"
        "builtins.samples = iter(sequence)\n"
        "next(builtins.samples)\n"
        "time.sleep(0.1)\n"
    )
    assert _run(program) == ""


def _run(program: str) -> str:
    """What a program prints that runs in a process of its own, without an error."""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],  # Python 3.12 warns of every fork of threads
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
