"""Threads load blocks about in the order in which they will be opened, as many as fit into memory.

A slow or throttled broker would soon have all threads waiting for it while the others are idle. So a thread takes the
first block of a broker that no other thread is reading from, if there is memory for it and for all blocks before it.
More than three threads work only if each reads from a different broker.

A loaded block counts against the memory limit until its records are yielded. A block that the reader waits for is
loaded even beyond the limit: otherwise nothing would ever be yielded. One that finds no memory left is moved to a
temporary file.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from ctypes import CDLL
from itertools import islice
from weakref import WeakSet

from kafkabal.errors import OperationError
from kafkabal.reader.block_loader import BlockLoader, BlocksOnDemand, moved_to_file
from kafkabal.reader.block_schedule import Opening, Visits
from kafkabal.reader.loaded_blocks import SampleBlock

DEFAULT_PREFETCH_BYTES = 256 * 2**20
"""Per reader: 24 open blocks of 8 MiB, and some of the next."""
_LEAST_BUSY = 3
"""Threads even with one broker: two receive while another unpacks. From two brokers on two processors, three take 0.88
of the time of two, and four no less than three (600 MB in records of 10 kB, 2026-11)."""
_MOST_THREADS = 8
"""Each holds a block that is being loaded."""
_PLANNED_AHEAD = 64
"""Pieces of the schedule, of 4096 samples each, that are searched for blocks of idle brokers."""
_MOST_LOOKED_AT = 128
"""Blocks that are searched for one of an idle broker: 32 of 8 MiB fit into the default limit. Without an end, 15,500
blocks of a few records took seven times as long, since each search passed all of them."""
_LEAST_IN_FILE_BYTES = 2**18
"""Smallest block that is moved to a file: smaller ones take little memory, and a file takes as long as they do."""
UNKNOWN_BROKER = -1
_CLOSING_S = 5.0
"""A thread ends with its current fetch, after half a second without data; brokers that hang do not delay the end
further."""


class Prefetch:
    """Loads blocks ahead of the reader; a context manager, inside which its threads live.

    Parameters
    ----------
    visits
        The schedule.
    open_loader
        Creates a loader for each thread.
    expected_bytes
        Memory that a block will take.
    broker_of
        The broker that a block will come from, if known.
    limit_bytes
        Memory limit for all blocks.
    brokers
        Maximum number of brokers.
    """

    def __init__(
        self,
        visits: Iterator[Visits],
        open_loader: Callable[[], BlockLoader],
        expected_bytes: Callable[[Opening], int],
        broker_of: Callable[[int], int] = lambda _: UNKNOWN_BROKER,
        *,
        limit_bytes: int,
        brokers: int,
    ) -> None:
        self._visits = visits
        self._open_loader = open_loader
        self._expected_bytes = expected_bytes
        self._broker_of = broker_of
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        """The reader waits for this: a block was loaded, or loading failed."""
        self._room = threading.Condition(self._lock)
        """The threads wait for this: there is room to load a block."""
        self._planned: deque[Visits] = deque()
        """Pieces of the schedule that the reader has not reached."""
        self._upcoming: dict[int, Opening] = {}
        """Blocks of these pieces that no thread is loading yet, by their number in opening order."""
        self._numbered = 0
        self._being_loaded: list[int] = []
        """The blocks that threads are loading."""
        self._waiting_threads = 0
        """Number of threads that wait for room."""
        self._loaded: dict[int, SampleBlock] = {}
        """Loaded blocks, by the same number."""
        self._number_waited_for = -1
        self._held_bytes = 0
        self._least_room_at_bytes = math.inf
        """Bytes held above which no further block may be loaded, unless something else changes first."""
        self._is_over = False
        self._error: BaseException | None = None
        self.waited_s = 0.0
        """How long the reader has waited for blocks."""
        self._most_threads = min(_MOST_THREADS, max(_LEAST_BUSY, brokers))
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Prefetch:
        with self._lock:
            self._start_thread()
        _OPEN.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        _OPEN.discard(self)
        self._end_threads()
        self._loaded.clear()
        _return_free_memory()

    def _give_up_in_child(self) -> None:
        """Raise an error in a forked process that reads on: it has no threads, and perhaps a lock of one."""
        self._lock = threading.Lock()
        self._arrived, self._room = threading.Condition(self._lock), threading.Condition(self._lock)
        self._threads, self._loaded = [], {}
        self._error = OperationError(
            "this iterator was begun before the process was forked", hint="create one in each process: iter(data)"
        )

    def _end_threads(self) -> None:
        with self._lock:
            self._is_over = True
            self._room.notify_all()
        end_s = time.monotonic() + _CLOSING_S
        for thread in self._threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def visits(self) -> Iterator[Visits]:
        """Yield the schedule, piece by piece."""
        while True:
            with self._lock:
                if not self._planned and not self._plan():
                    if self._error is not None:
                        raise self._error  # if the schedule failed in a thread, that must not look like its end
                    return
                piece = self._planned.popleft()
            yield piece

    def next_block(self) -> SampleBlock:
        """The next block to be opened; waits until it is loaded.

        Raises
        ------
        KafkabalError
            The error of loading it, or a block before it.
        """
        with self._lock:
            self._number_waited_for += 1
            if self._number_waited_for not in self._loaded:
                self._room.notify_all()
                began_s = time.monotonic()
                while self._number_waited_for not in self._loaded:
                    if self._error is not None:
                        raise self._error
                    self._arrived.wait()
                self.waited_s += time.monotonic() - began_s
            return self._loaded.pop(self._number_waited_for)

    def release(self, size_bytes: int) -> None:
        """Note that these bytes were yielded, or never will be."""
        with self._lock:
            self._held_bytes -= size_bytes
            # threads that wake up for nothing compete for the interpreter: 2 µs for every sample, measured
            has_more_room = self._waiting_threads and self._held_bytes <= self._least_room_at_bytes
            if has_more_room and self._next_block_number() is not None:
                self._room.notify()

    def _plan(self) -> bool:
        """Extend the plan by a piece of the schedule; False at its end."""
        piece = next(self._visits, None)
        if piece is None:
            return False
        self._planned.append(piece)
        self._least_room_at_bytes = math.inf
        for opening in piece.openings:
            self._upcoming[self._numbered] = opening
            self._numbered += 1
        return True

    def _work(self) -> None:
        try:
            with closing(BlocksOnDemand(self._open_loader)) as loader:
                self._load_blocks(loader)
        except BaseException as error:  # noqa: BLE001 - handed to the reader, which raises it
            with self._lock:
                self._error = self._error or error
                self._arrived.notify()
                self._room.notify_all()

    def _load_blocks(self, loader: BlockLoader) -> None:
        while (task := self._next_task()) is not None:
            number, opening, expected = task
            block = self._load(loader, opening, expected)
            with self._lock:
                self._loaded[number] = block
                self._being_loaded.remove(opening.block)
                self._arrived.notify()

    def _load(self, loader: BlockLoader, opening: Opening, expected: int) -> SampleBlock:
        """Load a block; its buffer is free when this returns."""
        loaded = loader.load(opening.block, opening.only)
        with self._lock:
            has_room = self._held_bytes - expected < self._limit_bytes
            self._held_bytes += loaded.size_bytes - expected
        if not has_room and not loaded.is_mapped and loaded.size_bytes >= _LEAST_IN_FILE_BYTES:
            moved = moved_to_file(loaded)
            with self._lock:
                self._held_bytes += moved.size_bytes - loaded.size_bytes
            loaded = moved
        return SampleBlock(loaded, opening.places(len(loaded.records)))

    def _next_task(self) -> tuple[int, Opening, int] | None:
        """A block to load, as soon as one may be loaded; None at the end."""
        with self._lock:
            while not self._is_over and self._error is None:
                while not self._upcoming:
                    if not self._plan():
                        self._room.notify_all()  # others wait for a broker, and no block is left for them
                        return None
                number = self._next_block_number(plans=True)
                if number is not None:
                    opening = self._upcoming.pop(number)
                    expected = self._expected_bytes(opening)
                    self._held_bytes += expected
                    self._being_loaded.append(opening.block)
                    self._call_thread()
                    return number, opening, expected
                self._waiting_threads += 1
                self._room.wait()
                self._waiting_threads -= 1
            return None

    def _call_thread(self) -> None:
        """Let another thread look for a block, too.

        A thread is started only if all are busy and one more would find a block: each takes memory of its own from the
        allocator, which the others cannot use.
        """
        if self._waiting_threads:
            self._room.notify()
        elif len(self._threads) < self._most_threads and self._next_block_number() is not None:
            self._start_thread()

    def _start_thread(self) -> None:
        self._threads.append(threading.Thread(target=self._work, daemon=True))
        self._threads[-1].start()

    def _next_block_number(self, *, plans: bool = False) -> int | None:
        """Number of the block to load next, if one may be loaded."""
        first = next(iter(self._upcoming), None)
        if first is None:
            return None
        if self._number_waited_for >= first:
            return first  # the reader waits for it
        busy = set(map(self._broker_of, self._being_loaded))  # a broker is known only once a block of it was requested
        free, looked_at = self._limit_bytes - self._held_bytes, 0
        while True:
            for number, opening in islice(self._upcoming.items(), looked_at, _MOST_LOOKED_AT):
                looked_at += 1
                free -= self._expected_bytes(opening)
                if free < 0:
                    break
                if self._broker_of(opening.block) not in busy:
                    return number
            else:
                may_plan = plans and looked_at < _MOST_LOOKED_AT and len(self._planned) < _PLANNED_AHEAD
                if may_plan and self._plan():
                    continue
            room_at = self._limit_bytes - self._expected_bytes(self._upcoming[first])
            may_load_first = len(self._being_loaded) < _LEAST_BUSY
            if may_load_first and self._held_bytes <= room_at:
                return first
            self._least_room_at_bytes = max(
                room_at if may_load_first else -math.inf, self._held_bytes + free if free < 0 else -math.inf
            )
            return None


_OPEN: WeakSet[Prefetch] = WeakSet()


def _give_up_in_child() -> None:
    for prefetch in list(_OPEN):
        prefetch._give_up_in_child()  # noqa: SLF001
    _OPEN.clear()


os.register_at_fork(after_in_child=_give_up_in_child)


@atexit.register
def _end_all_threads() -> None:
    """End threads while they still run: the interpreter stops daemons wherever they are.

    One that held the lock then would keep it, and the iterator of a trainer that ended in the middle of an epoch, which
    is closed last of all, would wait for it without end.
    """
    for prefetch in list(_OPEN):
        prefetch._end_threads()  # noqa: SLF001


def _return_free_memory() -> None:
    """Return memory of samples to the system.

    The allocator of glibc keeps it for later threads, but these may take new memory: without this, a process that began
    an epoch of 2.4 GB eight times grew from 370 to 690 MB.
    """
    trim = getattr(CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)
