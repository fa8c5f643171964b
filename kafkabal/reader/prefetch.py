"""Blocks are loaded by threads in the order in which they will be opened, as many as fit into the memory allowed.

Memory is counted by what has been loaded and not been given out yet. A block that the reader waits for is loaded
even where that exceeds the limit: without it nothing would ever be given out.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkabal.reader.block_schedule import Opening, Visits
    from kafkabal.reader.blocks import BlockSource, LoadedBlock

DEFAULT_PREFETCH_BYTES = 256 * 2**20
"""Of each reader: 24 open blocks of 8 MiB, and some of the next."""
_CLOSING_S = 5.0
"""A thread ends with the fetch that it waits for, half a second without data; a hanging broker delays no end."""


class Prefetch:
    """Runs ahead of the reader; used as a context, within which its threads live.

    Parameters
    ----------
    visits
        The schedule.
    source
        Makes a source of blocks for each thread.
    expected_bytes
        What a block will take in memory.
    limit_bytes
        Of all blocks together.
    """

    def __init__(
        self,
        visits: Iterator[Visits],
        source: Callable[[], BlockSource],
        expected_bytes: Callable[[Opening], int],
        *,
        limit_bytes: int,
        threads: int,
    ) -> None:
        self._visits = visits
        self._source = source
        self._expected_bytes = expected_bytes
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        """A block was loaded, or loading failed: what the reader waits for."""
        self._room = threading.Condition(self._lock)
        """A block may be loaded: what the threads wait for."""
        self._planned: deque[Visits] = deque()
        """Pieces of the schedule that the reader has not come to."""
        self._upcoming: deque[Opening] = deque()
        """Of these pieces, blocks that no thread has begun to load."""
        self._loaded: dict[int, LoadedBlock] = {}
        """By their number in the order of opening."""
        self._begun = 0
        self._wanted = -1
        self._held_bytes = 0
        self._is_over = False
        self._error: BaseException | None = None
        self.waited_s = 0.0
        """How long the reader has waited for blocks."""
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]

    def __enter__(self) -> Prefetch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._is_over = True
            self._room.notify_all()
        for thread in self._threads:
            thread.join(_CLOSING_S)

    def visits(self) -> Iterator[Visits]:
        """Yield the schedule, piece by piece."""
        while True:
            with self._lock:
                if not self._planned and not self._plan():
                    if self._error is not None:
                        raise self._error  # a schedule that failed in a thread must not look like its end
                    return
                piece = self._planned.popleft()
            yield piece

    def next_block(self) -> LoadedBlock:
        """The next block in the order of opening, once it is there.

        Raises
        ------
        KafkabalError
            What loading it, or one before it, ended with.
        """
        with self._lock:
            self._wanted += 1
            if self._wanted not in self._loaded:
                self._room.notify_all()
                began_s = time.monotonic()
                while self._wanted not in self._loaded:
                    if self._error is not None:
                        raise self._error
                    self._arrived.wait()
                self.waited_s += time.monotonic() - began_s
            return self._loaded.pop(self._wanted)

    def release(self, size_bytes: int) -> None:
        """Say that so many bytes were given out, or will never be."""
        with self._lock:
            self._held_bytes -= size_bytes
            # threads that wake up in vain take turns of the interpreter: 2 µs for every sample, measured
            if self._may_begin():
                self._room.notify_all()

    def _plan(self) -> bool:
        """Continue the schedule; False at its end."""
        piece = next(self._visits, None)
        if piece is None:
            return False
        self._planned.append(piece)
        self._upcoming.extend(piece.openings)
        return True

    def _work(self) -> None:
        try:
            with closing(self._source()) as source:
                self._load_blocks(source)
        except BaseException as error:  # noqa: BLE001 - handed to the reader, which raises it
            with self._lock:
                self._error = self._error or error
                self._arrived.notify()
                self._room.notify_all()

    def _load_blocks(self, source: BlockSource) -> None:
        while (task := self._next_task()) is not None:
            number, opening, expected = task
            block = source.load(opening.block, opening.only)
            with self._lock:
                self._held_bytes += block.size_bytes - expected
                self._loaded[number] = block
                self._arrived.notify()

    def _next_task(self) -> tuple[int, Opening, int] | None:
        """A block to load, as soon as there is room for it; None at the end."""
        with self._lock:
            while not self._is_over and self._error is None:
                while not self._upcoming:
                    if not self._plan():
                        return None
                if self._may_begin():
                    number, opening = self._begun, self._upcoming.popleft()
                    self._begun += 1
                    expected = self._expected_bytes(opening)
                    self._held_bytes += expected
                    return number, opening, expected
                self._room.wait()
            return None

    def _may_begin(self) -> bool:
        """Whether the next block fits, or the reader waits for it."""
        if not self._upcoming:
            return False
        fits = self._held_bytes + self._expected_bytes(self._upcoming[0]) <= self._limit_bytes
        return fits or self._wanted >= self._begun
