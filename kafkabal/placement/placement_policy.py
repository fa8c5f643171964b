"""Policies for spreading new topics: as evenly as possible, or unevenly on purpose, to study the effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkabal.errors import UsageError
from kafkabal.units import parse_number, parse_whole_number


class Layout(StrEnum):
    """How leaders and followers are assigned."""

    SCORE = "score"
    """Each replica where it increases the selected scores least."""
    EVEN = "even"
    """Leaders round-robin over brokers and racks."""
    BROKERS_PLUS_2 = "brokers+2"
    """One leader per broker, plus two on brokers drawn at random."""
    BINOMIAL = "binomial"
    """Leaders drawn from a binomial distribution over the brokers, by id."""


_DEFAULT_PROBABILITY = 0.5
"""The ids in the middle lead most, symmetrically; any other value favours one end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPolicy:
    """A layout and its parameters; equal policies place equally."""

    layout: Layout = Layout.SCORE
    probability: float = _DEFAULT_PROBABILITY
    """Parameter of the binomial distribution, 0 to 1: near 0 the lowest ids lead most."""
    seed: int = 0

    def __str__(self) -> str:
        if self.layout is Layout.BINOMIAL:
            return f"{self.layout}:{self.probability:g}:{self.seed}"
        return f"{self.layout}:{self.seed}" if self.layout is Layout.BROKERS_PLUS_2 else str(self.layout)


def parse_policy(text: str) -> PlacementPolicy:
    """Parse ``score``, ``even``, ``brokers+2[:SEED]`` or ``binomial:P[:SEED]``.

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
            probability = _DEFAULT_PROBABILITY
        if len(given) > (layout in (Layout.BROKERS_PLUS_2, Layout.BINOMIAL)):
            raise ValueError
        return PlacementPolicy(
            layout=layout, probability=probability, seed=parse_whole_number(given[0]) if given else 0
        )
    except (ValueError, IndexError, UsageError):
        raise UsageError(
            f"unknown placement: {text!r}", hint="choose from: score, even, brokers+2[:SEED], binomial:P[:SEED]"
        ) from None
