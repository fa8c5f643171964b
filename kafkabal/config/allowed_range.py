"""Ranges of numbers in files and options: the least and the largest value that make sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkabal.errors import UsageError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, both among them; NaN never is."""

    low: float
    high: float
    above: bool = False
    """``low`` itself is not among them."""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        return f"above {self.low:,} and at most {self.high:,}" if self.above else f"{self.low:,} to {self.high:,}"

    def expect(self, what: str, value: float) -> None:
        """See that a value is among them.

        Raises
        ------
        UsageError
            Saying what is out of which range.
        """
        if value not in self:
            raise UsageError(f"{what} must be {self}, not {value}")


BATCH_BYTES: Final = Range(1, 2**31 - 1)
"""``batch.size``, which clients keep in 32 bits."""
LINGER_MS: Final = Range(0, 900_000)
"""``linger.ms`` of librdkafka, and times like it."""
DRAWS: Final = Range(1, 100)
"""Candidates that are drawn for a single record: the second brings most of the gain (Azar et al. 1994), and each costs
a look at a broker."""
