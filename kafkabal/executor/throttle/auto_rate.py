"""A throttle that follows the load of the cluster (``--throttle auto``).

It begins with what the brokers already carry, and every half minute checks the impact of the copies. If replicas that
kept up fall out of sync, or consumer groups fall behind, the rate is halved; if no consumer suffers and the copies use
the rate they are allowed, it is raised by a quarter. It stays above what producers write to the moving partitions, with
a margin, or no copy would ever catch up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kafkabal.clusters import Clock, Cluster
from kafkabal.executor.observe.cluster_load import LoadSample, Moves, load_between, take_sample
from kafkabal.model import ClusterState
from kafkabal.wording import counted_noun

FIRST_LEAST_BYTES_PER_S = 10_000_000
"""A tenth of a link of 1 Gbit/s: too little for clients to notice, enough to copy 36 GB an hour meanwhile."""
_LEAST_BYTES_PER_S = 1_000_000
"""Below this rate Kafka's throttle is inaccurate."""
_MARGIN = 1.5
"""Copies also take in what producers write: at 1.0 they never end, at 1.5 a third of the rate is progress."""
_OF_CARRIED = 0.25
"""Brokers are sized with at least this much to spare for the failure of a peer; half would be felt on a busy one."""
_STEP_S = 30.0
"""Consumers commit every 5 s and replicas fall out of sync after 30 s (replica.lag.time.max.ms): the impact of a rate
shows no sooner."""
_MOST_TIME_READING = 0.05
"""Largest fraction of the time spent on observing: steps get longer on clusters of 200,000 partitions, where one
observation takes seconds."""
_USED = 0.7
"""Copies that use less than this fraction are limited by something else: a higher throttle would show nothing."""
_RAISE = 1.25
"""Slowly up and quickly down, as in TCP: ten times the rate takes five minutes of steps without any impact."""
_LOWER = 0.5
"""A rate that was too high is halved, so that a consumer group catches up within the next step or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepImpact:
    """What was observed in one step."""

    fell_out: int = 0
    """Replicas that have fallen out of sync in this step."""
    still_out: int = 0
    """Replicas that have fallen out of sync since the run began, and are not back."""
    behind: frozenset[str] = frozenset()
    """Consumer groups that did not keep up in this step, but did before the run."""
    incoming_bytes_per_s: float = 0.0
    """Highest rate at which producers write to what one broker sends or receives."""
    used_fraction: float = 0.0
    """Fraction of the rate that the copies used."""


def first_rate(incoming_bytes_per_s: float, carried_bytes_per_s: float) -> int:
    """The first rate, in bytes per second.

    Parameters
    ----------
    incoming_bytes_per_s
        Highest rate at which producers write to what one broker will send or receive.
    carried_bytes_per_s
        Highest traffic of an involved broker now, in and out: a part of that again will not hurt it.
    """
    return max(FIRST_LEAST_BYTES_PER_S, lowest_rate(incoming_bytes_per_s), round(_OF_CARRIED * carried_bytes_per_s))


def lowest_rate(incoming_bytes_per_s: float) -> int:
    """Bytes per second below which copies would not catch up with producers in reasonable time."""
    return max(_LEAST_BYTES_PER_S, round(_MARGIN * incoming_bytes_per_s))


def next_rate(rate: int, impact: StepImpact) -> tuple[int, str] | None:
    """The next rate and the reason; None if the rate may stay."""
    lowest = lowest_rate(impact.incoming_bytes_per_s)
    lower = max(lowest, round(rate * _LOWER))
    # first: below what producers write no copy ever ends, whatever the impact on others
    if rate < lowest:
        return lowest, "producers write more"
    # replicas before consumers: with one out of the ISR, the next failure may be an outage
    if impact.fell_out:
        return (lower, f"{counted_noun(impact.fell_out, 'replica')} fell out of sync") if lower < rate else None
    if impact.behind:
        return (lower, f"consumer groups fall behind: {', '.join(sorted(impact.behind))}") if lower < rate else None
    if impact.used_fraction >= _USED and not impact.still_out:
        return round(rate * _RAISE), "no impact on producers or consumers"
    return None


class AutoRate:
    """Observes the cluster step by step.

    Parameters
    ----------
    behind_before
        Consumer groups that did not keep up before the run either.
    broker_timeout_s
        Timeout for each broker to report its log dirs.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        behind_before: Collection[str],
        broker_timeout_s: float,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._behind_before = frozenset(behind_before)
        self._broker_timeout_s = broker_timeout_s
        self._next_reading_s = float("-inf")
        self._before: LoadSample | None = None
        self._out_at_first: frozenset[str] = frozenset()

    def is_step_over(self) -> bool:
        """Whether the step has lasted long enough and the next one is to begin."""
        return self._clock.monotonic() >= self._next_reading_s

    def observe(self, moves: Moves, leaders: Collection[int], used_fraction: float) -> StepImpact | None:
        """The impact in the step that ends now; None for the first observation.

        Parameters
        ----------
        moves
            Brokers that are still to get a copy of each partition.
        leaders
            Brokers that send copies.
        """
        began_s, before = self._clock.monotonic(), self._before
        self._next_reading_s = began_s + _STEP_S
        self._before = after = take_sample(self._cluster, self._clock, self._broker_timeout_s)
        self._next_reading_s = began_s + max(_STEP_S, (after.at_s - began_s) / _MOST_TIME_READING)
        out = _out_of_sync(after.state)
        if before is None:
            self._out_at_first = out
            return None
        load = load_between(before, after, leaders)
        return StepImpact(
            fell_out=len(out - _out_of_sync(before.state) - self._out_at_first),
            still_out=len(out - self._out_at_first),
            behind=load.behind - self._behind_before,
            incoming_bytes_per_s=max(load.incoming_bytes_per_s(moves).values(), default=0.0),
            used_fraction=used_fraction,
        )


def _out_of_sync(state: ClusterState) -> frozenset[str]:
    """Replicas on live brokers that are out of sync, except those being added."""
    r = state.replicas
    lagging = ~r.in_sync & ~r.adding & state.brokers.is_live[r.broker]
    pairs = zip(r.partition[lagging].tolist(), state.brokers.id[r.broker[lagging]].tolist(), strict=True)
    return frozenset(f"{state.topic_partition(partition)} on {broker}" for partition, broker in pairs)
