"""Which records are acknowledged, and the offsets from which a later run must search the topic for the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_DONE = 1


class _Mark(NamedTuple):
    handed_over: int
    offsets: Mapping[int, int]


class AcknowledgedRecords:
    """Tracks records, numbered in send order, until all records below some number are done.

    Offsets of a partition only grow: whatever is sent after some moment has a higher offset than everything its
    partition had acknowledged by then. A mark stores such a moment. Once all records sent before a mark are done, the
    remaining ones can only be at or after the offsets of the mark.

    Parameters
    ----------
    through
        All records below this number are done.
    offsets
        Records from ``through`` on, if they are in the topic, are at or after these offsets.
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
            self._finish(number)

    def is_done(self, number: int) -> bool:
        """Whether a record need not be sent."""
        at = number - self.through
        return at < 0 or (at < len(self._window) and self._window[at] == _DONE)

    def acknowledge_all(self, numbers: Sequence[int], next_offsets: Mapping[int, int]) -> None:
        """Note that records are in the topic, those of each partition before the given offset.

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
        """Mark records as done, whatever their fate; numbers ascending."""
        if not numbers:
            return
        first, count = numbers[0], len(numbers)
        at = first - self.through
        if at < 0 or numbers[-1] - first + 1 != count:
            for number in numbers:
                self._finish(number)
            return
        if at + count > len(self._window):
            self._window.extend(bytes(at + count - len(self._window)))
        self._window[at : at + count] = b"\1" * count
        if at == 0:
            self._advance()

    @property
    def has_gaps(self) -> bool:
        """Whether a record is done while an earlier one is not; ``through`` alone does not show that."""
        return bool(self._window)

    def mark(self, handed_over: int) -> None:
        """Store the current offsets: all records below ``handed_over`` have been handed over or are done."""
        # records found in the topic are before these offsets too, even if they are numbered above ``handed_over``
        self._marks.append(_Mark(max(handed_over, self.through + len(self._window)), dict(self._next_offset)))

    @property
    def offsets(self) -> Mapping[int, int]:
        """Records that are not done are at or after these offsets, if they are in the topic at all."""
        while self._marks and self._marks[0].handed_over <= self.through:
            self._safe = dict(self._marks.popleft().offsets)
        return self._safe

    def _finish(self, number: int) -> None:
        at = number - self.through
        if at < 0:
            return
        if at >= len(self._window):
            self._window.extend(bytes(at + 1 - len(self._window)))
        self._window[at] = _DONE
        if at == 0:
            self._advance()

    def _advance(self) -> None:
        first_open = self._window.find(0)
        finished = len(self._window) if first_open < 0 else first_open
        del self._window[:finished]
        self.through += finished
