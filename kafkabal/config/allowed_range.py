"""Allowed ranges of numbers in files and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafkabal.errors import UsageError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; never NaN."""

    low: float
    high: float
    above: bool = False
    """``low`` itself is excluded."""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        return self.in_words("{:,}".format)

    def in_words(self, write: Callable[[float], str]) -> str:
        """The range with its ends written like this, for numbers with a unit."""
        low, high = write(self.low), write(self.high)
        return f"above {low} and at most {high}" if self.above else f"{low} to {high}"

    def expect(self, what: str, value: float) -> None:
        """Check that a value is in the range.

        Raises
        ------
        UsageError
            Naming the value and the range.
        """
        if value not in self:
            raise UsageError(f"{what} must be {self}, not {value}")


PORTS: Final = Range(1, 2**16 - 1)
"""Ports that a server can be reached at."""
BATCH_BYTES: Final = Range(1, 2**31 - 1)
"""``batch.size``, which clients store in 32 bits."""
LINGER_MS: Final = Range(0, 900_000)
"""``linger.ms`` of librdkafka, and similar times."""
DRAWS: Final = Range(1, 100)
"""Candidates drawn per record: the second brings most of the gain (Azar et al. 1994), and each costs a look at a
broker."""
