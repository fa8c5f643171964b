"""How far an epoch has got: a few integers, valid for any number of readers.

R readers share what is left of an epoch: the i-th sample that is left goes to reader i mod R. As long as all of them
have taken equally many, what is left is everything from one position on, and that position is the whole state. Where
some are ahead (workers of a data loader are by a batch, readers of unequal speed by any number), the state keeps how
many each one took, as a *round*; the next readers share the gaps and the rest in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from kafkabal.model import I64

Taken = tuple[int, ...]
"""How many samples each reader of a round took."""


@dataclass(frozen=True)
class Progress:
    """Which samples of an epoch are taken: all before ``position``, and those of the rounds that began there."""

    epoch: int = 0
    position: int = 0
    rounds: tuple[Taken, ...] = ()

    @cached_property
    def open_positions(self) -> tuple[I64, int]:
        """Positions that were skipped, ascending, and the position from which on all are left."""
        gaps, frontier = np.empty(0, np.int64), self.position
        for taken in self.rounds:
            gaps, frontier = _after(taken, gaps, frontier)
        return gaps, frontier

    def positions(self, numbers: I64) -> I64:
        """int64, shape (n,): positions of these of the samples that are left, counted from 0."""
        gaps, frontier = self.open_positions
        number = np.asarray(numbers, np.int64)
        if not len(gaps):
            return number + frontier
        within = gaps[np.minimum(number, len(gaps) - 1)]
        return np.where(number < len(gaps), within, number - len(gaps) + frontier)

    def left(self, samples: int) -> int:
        """How many of an epoch of ``samples`` are left, 0 or more."""
        gaps, frontier = self.open_positions
        return int(np.searchsorted(gaps, samples)) + max(0, samples - frontier)

    def after(self, taken: Sequence[int]) -> Progress:
        """The progress once as many readers as there are numbers have each taken so many of what is left."""
        if not any(taken):
            return self
        longer = replace(self, rounds=(*self.rounds, tuple(taken)))
        gaps, frontier = longer.open_positions
        return longer if len(gaps) else Progress(self.epoch, frontier)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists; equal neighbours of a round are written once, with their count."""
        rounds = [[[len(list(same)), taken] for taken, same in groupby(each)] for each in self.rounds]
        return {"epoch": self.epoch, "position": self.position, "rounds": rounds}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Progress:
        """The opposite of :meth:`as_dict`.

        Raises
        ------
        ValueError
            If it is something else.
        """
        try:
            rounds = tuple(tuple(t for n, t in each for _ in range(n)) for each in state["rounds"])
            numbers = (state["epoch"], state["position"], *(t for each in rounds for t in each))
        except (KeyError, TypeError) as error:
            raise ValueError(f"incomplete: {error}") from error
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise ValueError("negative or not a whole number")
        return cls(state["epoch"], state["position"], rounds)


def _after(taken: Taken, gaps: I64, frontier: int) -> tuple[I64, int]:
    """What is left once the i-th sample of what was left went to reader i mod R, of each reader the first few."""
    readers, most, least = len(taken), max(taken), min(taken)
    number = np.arange(least * readers, most * readers, dtype=np.int64)
    passed = number[number // readers >= np.take(taken, number % readers)]
    rest = gaps[most * readers :]
    ahead = max(0, most * readers - len(gaps))
    known = passed[passed < len(gaps)]
    beyond = passed[passed >= len(gaps)] - len(gaps) + frontier
    return np.concatenate((gaps[known], beyond, rest)), frontier + ahead
