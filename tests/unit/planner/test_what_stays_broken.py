"""What a plan could not repair is judged by the cluster as the run leaves it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from kafkabal.model import ClusterState
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.what_stays_broken import still_unrepaired
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def _state(n_brokers: int, dead: Collection[int]) -> ClusterState:
    """One partition on brokers 1 to 3, one on 1 and 2, and one of another topic on 1 alone."""
    rows = [msgspec.structs.replace(b, state="dead" if b.broker in dead else "online") for b in brokers(n_brokers)]
    return cluster(rows, [topic("t", (1, 2, 3), (1, 2)), topic("u", (1,))])


def test_nothing_is_left_once_the_broker_is_back() -> None:
    """All replicas are online, so nothing is broken, whatever the plan said."""
    plan = make_plan(_state(3, {3}))
    assert plan.unrepaired
    assert still_unrepaired(_state(3, ()), plan) == ()


def test_only_what_is_still_broken_is_named() -> None:
    """Another dead broker than before breaks other partitions, and these are named."""
    assert still_unrepaired(_state(3, {2}), make_plan(_state(3, {3}))) == (
        "no broker can take the replicas on dead brokers of t-0",
        "replicas of t-1 are offline; another run can repair them",
    )


def test_what_a_new_broker_could_take_is_still_broken() -> None:
    """A broker that joined makes a repair possible but is none; one that the plan may not use makes none possible."""
    before, now = _state(3, {3}), _state(4, {3})
    assert still_unrepaired(now, make_plan(before)) == ("replicas of t-0 are offline; another run can repair them",)
    excluded = PlanOptions(exclude_brokers=frozenset({4}))
    assert still_unrepaired(now, make_plan(now, excluded)) == make_plan(now, excluded).unrepaired


def test_topics_that_the_plan_left_out_stay_named() -> None:
    """The second plan excludes the same topics as the first, and says why they stay broken."""
    state = _state(4, {3})
    plan = make_plan(state, PlanOptions(exclude_topics=("t",)))
    assert "--exclude-topics keeps the replicas" in " ".join(still_unrepaired(state, plan))
