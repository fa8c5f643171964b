"""How far an epoch has come: a few integers, valid for any number of readers.

R readers share the rest of an epoch: the i-th remaining sample goes to reader i mod R. As long as all have taken
equally many, the rest is everything from one position on, and that position is the whole state. If some are ahead (data
loader workers by one batch, readers of unequal speed by any number), the state keeps how many each has taken, as a
*round*; the next readers share the gaps and the rest in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import I64, Bools
from kafkabal.wording import counted_noun

Taken: TypeAlias = "tuple[int, ...]"
"""How many samples each reader of a round has taken."""
Ranges: TypeAlias = "tuple[tuple[tuple[int, int], ...], ...]"
"""The samples taken of each reader's share, by any reader: pairs of the first number and the one after the last."""

MOST_READERS = 100_000
"""A file with more readers is damaged."""
_MOST_IN_ROUNDS = 10 * MOST_READERS
"""Limit of readers over all rounds: a run of equal ones is a few bytes in a file, and a number each in memory."""
_MOST_ROUNDS = 10_000
"""A training that is restarted every minute has as many in a week, and each takes 40 µs."""
_MOST_APART = 2**31
"""Limit of samples by which readers are apart, times readers: each takes a byte, and eight more if it was not read.
Readers that take work from each other may be apart by all samples of an epoch, so a lower limit would refuse states of
large data sets."""
_MOST_PASSED_ON = 2**29
"""Limit of the gaps that each round passes on to the next, in all: ten seconds."""


@dataclass(frozen=True)
class EpochProgress:
    """Which samples of an epoch are taken: all before ``position``, and those of the rounds that started there."""

    epoch: int = 0
    position: int = 0
    rounds: tuple[Taken | Ranges, ...] = ()

    @property
    def is_start(self) -> bool:
        """Whether no sample is taken."""
        return not self.position and not self.rounds

    @cached_property
    def open_positions(self) -> tuple[I64, int]:
        """Positions in gaps, ascending, and the position from which on everything remains."""
        gaps, frontier = np.empty(0, np.int64), self.position
        passed_on = 0
        for taken in self.rounds:
            gaps, frontier = _after(taken, gaps, frontier)
            passed_on += len(gaps)
            if passed_on > _MOST_PASSED_ON:
                raise UsageError(f"not a state of a reader: too many gaps in {counted_noun(len(self.rounds), 'round')}")
        return gaps, frontier

    def positions(self, numbers: I64) -> I64:
        """int64, shape (n,): positions of the remaining samples with these numbers, counted from 0."""
        gaps, frontier = self.open_positions
        number = np.asarray(numbers, np.int64)
        if not len(gaps):
            return number + frontier
        within = gaps[np.minimum(number, len(gaps) - 1)]
        return np.where(number < len(gaps), within, number - len(gaps) + frontier)

    def left(self, samples: int) -> int:
        """How many samples of an epoch of ``samples`` remain, 0 or more."""
        gaps, frontier = self.open_positions
        return int(np.searchsorted(gaps, samples)) + max(0, samples - frontier)

    def after(self, taken: Sequence[int]) -> EpochProgress:
        """The progress after one reader per entry of ``taken`` has taken that many of the remaining samples."""
        if not any(taken):
            return self
        return self._with_round(tuple(taken))

    def after_ranges(self, ranges: Ranges) -> EpochProgress:
        """The progress after these samples of each reader's share were taken by any reader."""
        joined = tuple(_joined(each) for each in ranges)
        if all(not each or (len(each) == 1 and each[0][0] == 0) for each in joined):
            return self.after([each[0][1] if each else 0 for each in joined])
        return self._with_round(joined)

    @property
    def furthest(self) -> int:
        """How many samples an epoch must have, but for a reader's last one, for these numbers to occur."""
        rounds: list[int] = [len(each) * n for each in self.rounds for t in each for n in _numbers(t)]
        return max([self.position, *rounds])

    def _with_round(self, taken: Taken | Ranges) -> EpochProgress:
        longer = replace(self, rounds=(*self.rounds, taken))
        gaps, frontier = longer.open_positions
        return longer if len(gaps) else EpochProgress(self.epoch, frontier)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers and lists; runs of equal numbers in a round are written once, with a count."""
        rounds = [
            [[len(list(same)), list(map(list, t)) if isinstance(t, tuple) else t] for t, same in groupby(each)]
            for each in self.rounds
        ]
        return {"epoch": self.epoch, "position": self.position, "rounds": rounds}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> EpochProgress:
        """The inverse of :meth:`as_dict`.

        Raises
        ------
        ValueError
            If ``state`` is not such a dict.
        """
        try:
            if len(state["rounds"]) > _MOST_ROUNDS:
                raise ValueError(f"more than {_MOST_ROUNDS} rounds")
            readers = [sum(n for n, _ in each) for each in state["rounds"]]
            if any(n < 1 for each in state["rounds"] for n, _ in each):
                raise ValueError("a run of no readers")
            if max(readers, default=0) > MOST_READERS or sum(readers) > _MOST_IN_ROUNDS:
                raise ValueError(f"more than {MOST_READERS} readers")
            rounds = tuple(tuple(_plain(t) for n, t in each for _ in range(n)) for each in state["rounds"])
            found = cls(state["epoch"], state["position"], rounds)
            numbers = [found.epoch, found.position, *(n for each in rounds for t in each for n in _numbers(t))]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"incomplete: {error}") from error
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise ValueError("negative or not a whole number")
        if any(len({isinstance(t, tuple) for t in each}) != 1 for each in rounds):
            raise ValueError("a round is incomplete")
        if any(first > after for each in rounds for t in each if isinstance(t, tuple) for first, after in t):
            raise ValueError("ranges out of order")
        return found


def _plain(taken: Any) -> Any:
    return tuple((first, after) for first, after in taken) if isinstance(taken, list) else taken


def _numbers(taken: Any) -> Iterator[Any]:
    if isinstance(taken, tuple):
        for first, after in taken:
            yield from (first, after)
    else:
        yield taken


def _joined(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same ranges, sorted, with adjacent ones merged."""
    found: list[tuple[int, int]] = []
    for first, after in sorted(each for each in ranges if each[0] < each[1]):
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], after)
        else:
            found.append((first, after))
    return tuple(found)


def _after(taken: Taken | Ranges, gaps: I64, frontier: int) -> tuple[I64, int]:
    """What remains after reader i mod R was given the i-th remaining sample, and each reader took as many as stated."""
    readers = len(taken)
    is_open, least = _open_after(taken)
    most = least + len(is_open)
    passed = np.flatnonzero(is_open)
    passed += least * readers  # in place, as below: of uneven readers of a large topic there are many
    rest = gaps[most * readers :]
    ahead = max(0, most * readers - len(gaps))
    n_known = int(np.searchsorted(passed, len(gaps)))
    beyond = passed[n_known:]
    beyond += frontier - len(gaps)
    parts = [part for part in (gaps[passed[:n_known]], beyond, rest) if len(part)]
    return np.concatenate(parts) if len(parts) > 1 else (parts or [beyond])[0], frontier + ahead


def _open_after(taken: Taken | Ranges) -> tuple[Bools, int]:
    """bool, shape (n, readers): which samples of the shares remain, from the first that some reader has not taken to
    the last that one has; and the number of the first."""
    if isinstance(taken[0], int):
        until = np.array(taken, np.int64)
        least, most = int(until.min()), int(until.max())
        _check_apart(most - least, len(taken))
        return np.arange(least, most)[:, None] >= until, least
    ranges: Any = taken
    most = max((after for each in ranges for _, after in each), default=0)
    least = min(each[0][1] if each and each[0][0] == 0 else 0 for each in ranges)
    _check_apart(most - least, len(taken))
    is_open = np.ones((most - least, len(taken)), np.bool_)
    for reader, each in enumerate(ranges):
        for first, after in each:
            is_open[max(0, first - least) : max(0, after - least), reader] = False
    return is_open, least


def _check_apart(samples: int, readers: int) -> None:
    if samples * readers > _MOST_APART:
        raise UsageError(f"not a state of a reader: readers are {counted_noun(samples, 'sample')} apart")
