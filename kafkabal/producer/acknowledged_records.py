"""Which records are acknowledged, and from which offsets the others would have to be looked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_DONE = 1


class _Mark(NamedTuple):
    handed_over: int
    offsets: Mapping[int, int]


class AcknowledgedRecords:
    """Follows records, numbered in the order in which they are sent, until all below some number are done.

    A partition's offsets only grow, so whatever is sent after a moment lies behind what its partition had acknowledged
    at that moment. A mark is such a moment; once all records sent before a mark are done, those that are not done can
    only lie behind the offsets of the mark.

    Parameters
    ----------
    through
        All records below are done.
    offsets
        Records from ``through`` on that are in the topic lie at or after these.
    done
        Records from ``through`` on that are known to be done.
    """

    def __init__(self, through: int, offsets: Mapping[int, int], done: Iterable[int] = ()) -> None:
        self.through = through
        self._safe = dict(offsets)
        self._next_offset = dict(offsets)
        self._marks: deque[_Mark] = deque()
        self._window = bytearray()
        for number in done:
            self.finish(number)

    def is_done(self, number: int) -> bool:
        """Whether a record needs not be sent."""
        at = number - self.through
        return at < 0 or (at < len(self._window) and self._window[at] == _DONE)

    def acknowledge(self, number: int, partition: int, offset: int) -> None:
        """A record is in the topic."""
        if offset >= self._next_offset.get(partition, 0):
            self._next_offset[partition] = offset + 1
        self.finish(number)

    def acknowledge_all(self, numbers: Sequence[int], next_offsets: Mapping[int, int]) -> None:
        """Records are in the topic, those of each partition before an offset.

        Parameters
        ----------
        numbers
            Ascending.
        """
        for partition, offset in next_offsets.items():
            if offset > self._next_offset.get(partition, 0):
                self._next_offset[partition] = offset
        self.finish_all(numbers)

    def finish_all(self, numbers: Sequence[int]) -> None:
        """Records need no more attention; ascending."""
        if not numbers:
            return
        first, count = numbers[0], len(numbers)
        at = first - self.through
        if at < 0 or numbers[-1] - first + 1 != count:
            for number in numbers:
                self.finish(number)
            return
        if at + count > len(self._window):
            self._window.extend(bytes(at + count - len(self._window)))
        self._window[at : at + count] = b"\1" * count
        if at == 0:
            self._advance()

    def finish(self, number: int) -> None:
        """A record needs no more attention."""
        at = number - self.through
        if at < 0:
            return
        if at >= len(self._window):
            self._window.extend(bytes(at + 1 - len(self._window)))
        self._window[at] = _DONE
        if at == 0:
            self._advance()

    @property
    def has_gaps(self) -> bool:
        """Whether a record is done while one before it is not; ``through`` alone does not show it."""
        return bool(self._window)

    def mark(self, handed_over: int) -> None:
        """Remember this moment, at which all records below ``handed_over`` had been handed over or were done."""
        # records that were found in the topic lie before these offsets too, though they may come after ``handed_over``
        self._marks.append(_Mark(max(handed_over, self.through + len(self._window)), dict(self._next_offset)))

    @property
    def offsets(self) -> Mapping[int, int]:
        """Records that are not done lie at or after these, if they lie in the topic at all."""
        while self._marks and self._marks[0].handed_over <= self.through:
            self._safe = dict(self._marks.popleft().offsets)
        return self._safe

    def _advance(self) -> None:
        first_open = self._window.find(0)
        finished = len(self._window) if first_open < 0 else first_open
        del self._window[:finished]
        self.through += finished
