"""How new topics are to be spread: as evenly as can be, or unevenly on purpose, to study what that does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkabal.errors import UsageError
from kafkabal.units import parse_number, parse_whole_number


class Layout(StrEnum):
    """Who leads what, and who follows."""

    SCORE = "score"
    """Each replica where the selected scores rise least."""
    EVEN = "even"
    """Leaders in turn over brokers and racks."""
    BROKERS_PLUS_2 = "brokers+2"
    """One leader a broker, and two more on brokers drawn at random."""
    BINOMIAL = "binomial"
    """Leaders drawn from a binomial distribution over the brokers, by id."""


_EVEN_ODDS = 0.5
"""The ids in the middle lead most, and both ends the same; any other value prefers one end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPolicy:
    """A layout and what it draws from; equal policies place equally."""

    layout: Layout = Layout.SCORE
    probability: float = _EVEN_ODDS
    """Of the binomial distribution, 0 to 1: near 0 the lowest ids lead most."""
    seed: int = 0

    def __str__(self) -> str:
        if self.layout is Layout.BINOMIAL:
            return f"{self.layout}:{self.probability:g}:{self.seed}"
        return f"{self.layout}:{self.seed}" if self.layout is Layout.BROKERS_PLUS_2 else str(self.layout)


def parse_policy(text: str) -> PlacementPolicy:
    """Read ``score``, ``even``, ``brokers+2[:SEED]`` or ``binomial:P[:SEED]``.

    Raises
    ------
    UsageError
        If it is none of them.
    """
    name, *given = text.split(":")
    try:
        layout = Layout(name)
        if layout is Layout.BINOMIAL:
            probability, *given = [parse_number(given[0]), *given[1:]]
            if not 0 <= probability <= 1:
                raise ValueError
        else:
            probability = _EVEN_ODDS
        if len(given) > (layout in (Layout.BROKERS_PLUS_2, Layout.BINOMIAL)):
            raise ValueError
        return PlacementPolicy(
            layout=layout, probability=probability, seed=parse_whole_number(given[0]) if given else 0
        )
    except (ValueError, IndexError, UsageError):
        raise UsageError(
            f"unknown placement: {text!r}", hint="choose from: score, even, brokers+2[:SEED], binomial:P[:SEED]"
        ) from None
