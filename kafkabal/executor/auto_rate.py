"""A throttle that follows what the cluster bears (``--throttle auto``).

It begins at twice what producers write to the partitions that move, at least 10 MB/s. Every half minute it looks at
what the copies do to others: where partitions fall out of sync that were in sync before, followers no longer keep up,
and the rate is halved; where nobody suffers and copies use what they may, it is raised by a quarter. It never goes
below the incoming rate, or no copy would ever catch up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkabal.executor.look import Look

_LEAST_BYTES_PER_S = 10_000_000
_STEP_S = 30.0
_USED = 0.7
_RAISE = 1.25
_LOWER = 0.5


def first_rate(incoming_bytes_per_s: float) -> int:
    """Bytes per second to begin with, where that much comes in to the partitions of one broker."""
    return max(_LEAST_BYTES_PER_S, round(2 * incoming_bytes_per_s))


class AutoRate:
    """Decides the next rate from looks at the cluster.

    Parameters
    ----------
    floor_bytes_per_s
        The rate never falls below it.
    """

    def __init__(self, floor_bytes_per_s: int, now_s: float) -> None:
        self._floor = floor_bytes_per_s
        self._judged_s = now_s
        self._suffering: int | None = None
        """Partitions that were out of sync when the copies began."""

    def judge(self, rate: int, look: Look, bytes_per_s: float, busy: int, now_s: float) -> tuple[int, str] | None:
        """The next rate and why, None while it may stay.

        Parameters
        ----------
        bytes_per_s
            What arrives in all.
        busy
            Brokers that send, or brokers that receive, whichever are fewer: so many can use up the rate.
        """
        suffering = out_of_sync(look)
        if self._suffering is None:
            self._suffering = suffering
        if now_s - self._judged_s < _STEP_S:
            return None
        self._judged_s = now_s
        if suffering > self._suffering:
            lower = max(self._floor, round(rate * _LOWER))
            return (lower, f"{suffering} partitions are out of sync") if lower < rate else None
        if busy and bytes_per_s >= _USED * rate * busy:
            return round(rate * _RAISE), "the cluster bears it"
        return None


def out_of_sync(look: Look) -> int:
    """Partitions of the topics looked at with a replica out of sync that is not just arriving."""
    return sum(
        bool(
            _settled(status.replicas, look.reassignments[name].adding if name in look.reassignments else ())
            - {*status.isr}
        )
        for name, status in look.status.items()
    )


def _settled(replicas: Collection[int], adding: Collection[int]) -> set[int]:
    return set(replicas) - set(adding)
