"""What is still broken at the end of a run, of what its plan could not repair."""

from __future__ import annotations

import numpy as np

from kafkabal.model import ClusterState, offline_replicas
from kafkabal.plan import Plan
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.wording import first_of


def still_unrepaired(state: ClusterState, plan: Plan) -> tuple[str, ...]:
    """One line for each reason why replicas are still offline; empty if none is.

    Brokers may have returned, died or joined since the plan was made, so the repairs are planned again, under the rules
    of that plan.

    Parameters
    ----------
    state
        The current state of the cluster.
    plan
        The plan that was applied.

    Raises
    ------
    KafkabalError
        If the state is too incomplete for a plan.
    """
    closed = plan.drained | frozenset(plan.options.get("exclude_brokers", ()))
    again = make_plan(
        state,
        PlanOptions(
            mode=Mode.REPAIR_ONLY,
            exclude_brokers=closed & frozenset(state.brokers.id.tolist()),
            exclude_topics=tuple(plan.options.get("exclude_topics", ())),
        ),
    )
    rows = np.unique(state.replicas.partition[offline_replicas(state)]).tolist()
    planned = {change.name for change in again.partitions}
    names = [name for name in map(state.topic_partition, rows) if name in planned]
    if not names:
        return again.unrepaired
    return (*again.unrepaired, f"replicas of {first_of(names)} are offline; another run can repair them")
