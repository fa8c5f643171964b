"""On request, replicas that earlier plans have moved stay in place."""

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import PartitionChange, Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

_WORLDS = [
    SyntheticWorld(seed=1, brokers=6, topics=30),
    SyntheticWorld(seed=5, brokers=8, topics=40, replication_factor=2, log_dirs=3),
]
_NIGHTS = 5


def grown(state: ClusterState, seed: int) -> ClusterState:
    """The cluster a day later: some partitions have grown, others have been deleted from."""
    factor = np.random.default_rng(seed).uniform(0.5, 1.5, len(state.partitions))
    sizes = (state.replicas.size_bytes * factor[state.replicas.partition]).astype(np.int64)
    return state.replace(replicas=replace(state.replicas, size_bytes=sizes))


def moved_twice(world: SyntheticWorld, *, keep: bool) -> set[tuple[str, int]]:
    """Replicas that a plan moved after an earlier plan had placed them."""
    state = make_world(world)
    plans: list[Plan] = []
    arrived: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for night in range(_NIGHTS):
        plan = make_plan(state, PlanOptions(tolerance=0.05, keep_moved=tuple(plans) if keep else ()))
        twice |= arrived & {(change.name, broker) for change in plan.partitions for broker in change.to_remove}
        arrived |= {(change.name, broker) for change in plan.partitions for broker in change.to_add}
        plans.append(plan)
        state = grown(apply_plan(state, plan), night)
    return twice


@pytest.mark.parametrize("world", _WORLDS)
def test_no_replica_moves_twice(world: SyntheticWorld) -> None:
    """While a cluster keeps changing, a plan that is given earlier ones keeps their moves."""
    assert moved_twice(world, keep=False)
    assert not moved_twice(world, keep=True)


def test_a_rule_is_stronger() -> None:
    """A drained broker keeps no replica, whichever plan placed it there."""
    state = make_world(SyntheticWorld(seed=1))
    plan = make_plan(state)
    target = next(change.to_add[0] for change in plan.partitions if change.to_add)
    after = apply_plan(state, plan)
    drained = apply_plan(after, make_plan(after, PlanOptions(drain=frozenset({target}), keep_moved=(plan,))))

    assert not (drained.replicas.broker == drained.brokers.index_of(target)).any()


def test_unexecuted_plans_are_not_counted() -> None:
    """An earlier plan that was never applied changes only the id; its topics and brokers may no longer exist."""
    state = make_world(SyntheticWorld(seed=1))
    plan = make_plan(state)
    gone = Plan(partitions=(PartitionChange(topic="gone", partition=7, replicas=(1, 99), log_dirs=("any", "any")),))
    again = make_plan(state, PlanOptions(keep_moved=(plan, gone)))

    assert again.partitions == plan.partitions
    assert again.plan_id != plan.plan_id
    assert again.options["keep_moved"] == [plan.plan_id, gone.plan_id]


def test_a_plan_of_another_cluster_is_refused() -> None:
    """A plan of another cluster keeps nothing, even if names are equal by coincidence."""
    state = cluster(brokers(3), [topic("img", (1, 2), (1, 2), (1, 2))])
    plan = make_plan(state)
    other = state.replace(cluster_id="another")

    with pytest.raises(UsageError, match=f"plan {plan.plan_id} is for another cluster: simulated, not another"):
        make_plan(other, PlanOptions(keep_moved=(plan,)))


def test_a_plan_without_any_topic_in_scope_is_refused() -> None:
    """Patterns that exclude every topic that others select are an error, not a balanced cluster."""
    state = cluster(brokers(3), [topic("images", (1, 2), (1, 2)), topic("logs", (1, 2))])
    with pytest.raises(UsageError, match="no topic in scope"):
        make_plan(state, PlanOptions(topics=("images",), exclude_topics=("im*",)))
    make_plan(state, PlanOptions(topics=("*",), exclude_topics=("images",)))
