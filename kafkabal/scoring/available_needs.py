"""Which inputs of scores a cluster state has; a missing one is reported, never read as zero."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import PRODUCE_LATENCY, PROMETHEUS_VALUE, ClusterState, broker_capacity_bytes, has_no_working_dir
from kafkabal.scoring.score_parts import base_load_of
from kafkabal.scoring.score_protocol import Grain, Need, Score

if TYPE_CHECKING:  # the registry imports plug-ins
    from kafkabal.scoring.registry import WeightedScore

_MEASURED: Final = frozenset({Need.RATES, Need.TELEMETRY, Need.PROMETHEUS})
"""No reading of a cluster has these unless a command measures them; rates may also be in a snapshot."""
_HINTS = {
    Need.LOG_DIRS: "no broker reported its log dirs; try  --score replicas --score leaders",
    Need.CAPACITY: "no broker reports the size of its volumes; set capacity in the profile",
    Need.RATES: "rates require two samples; add --sample 10s to inspect, and --save FILE for other commands",
    Need.TELEMETRY: "no latency measured; add --telemetry topic to inspect, create, route, rebalance --leaders-only",
    Need.PROMETHEUS: "nothing queried; add --prometheus to inspect, create, route, produce, rebalance --leaders-only",
}

_EMPTY_HINTS = {
    Need.TELEMETRY: (
        PRODUCE_LATENCY,
        "no client reported a produce latency; see 'kafkabal telemetry latency' and 'kafkabal telemetry list'",
    ),
    Need.PROMETHEUS: (PROMETHEUS_VALUE, "the query of --prometheus-query gave no live broker a value"),
}
"""Name of the measurement, and the hint if it was taken but no live broker has a value."""


def supplied(state: ClusterState) -> frozenset[Need]:
    """The inputs that this state has; log dirs and capacity if known for at least one live broker."""
    live = state.brokers.is_live
    found = {
        Need.LOG_DIRS: bool((state.replicas.size_bytes >= 0).any()) or not has_no_working_dir(state)[live].all(),
        Need.CAPACITY: bool((~np.isnan(broker_capacity_bytes(state)[live])).any()),
        Need.RATES: bool((~np.isnan(state.partitions.in_bytes_per_s)).any()),
        Need.TELEMETRY: _is_measured(state, PRODUCE_LATENCY),
        Need.PROMETHEUS: _is_measured(state, PROMETHEUS_VALUE),
    }
    return frozenset(need for need, there in found.items() if there)


def _is_measured(state: ClusterState, name: str) -> bool:
    return name in state.measured and bool((~np.isnan(state.measured[name])).any())


def refuse_unmeasured(scores: Iterable[WeightedScore], measured: Collection[Need]) -> None:
    """Refuse a score that needs what a command does not measure, before a cluster is contacted.

    Raises
    ------
    UsageError
        Naming the score and what it needs.
    """
    for weighted in scores:
        missing = sorted((weighted.score.needs & _MEASURED) - frozenset(measured))
        if missing:
            raise UsageError(
                f"score {weighted.score.name!r} needs {missing[0]}, and none is given", hint=_HINTS[missing[0]]
            )


def require(score: Score, state: ClusterState) -> None:
    """Refuse a score whose inputs this state lacks; unknown capacities count as equal.

    Raises
    ------
    UsageError
        Naming the score and what it lacks, or if its own measurements are unknown for all live holders.
    """
    missing = sorted(score.needs - supplied(state) - {Need.CAPACITY})
    if missing:
        raise UsageError(
            f"score {score.name!r} needs {missing[0]}, which this cluster does not supply",
            hint=_hint(missing[0], state),
        )
    is_live = state.brokers.is_live
    unknown = np.isnan(base_load_of(score, state))[
        is_live if score.grain is Grain.BROKER else is_live[state.log_dirs.broker]
    ]
    if unknown.size and unknown.all():
        raise UsageError(
            f"score {score.name!r} has no value for any live broker",
            hint="its base_load is unknown (NaN); see 'kafkabal help own-score'",
        )


def _hint(need: Need, state: ClusterState) -> str:
    name, hint = _EMPTY_HINTS.get(need, ("", ""))
    return hint if name in state.measured else _HINTS[need]
