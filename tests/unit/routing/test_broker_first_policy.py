"""Records in flight are tracked correctly while brokers and partitions come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import Context, Feedback
from kafkabal.routing.registry import load_policy, policy_names
from kafkabal.routing.routing_view import RoutingView

ACKED = [name for name in policy_names() if load_policy(name).about.feedback is Feedback.ACKS]
SECOND_BROKER = 1


def without_leader(view: RoutingView) -> RoutingView:
    """The second broker leads nothing any more."""
    return replace(view, leader=np.where(view.leader == SECOND_BROKER, -1, view.leader))


def renamed(view: RoutingView) -> RoutingView:
    """The second broker was replaced by one with an id between those of the third and the last."""
    ids = view.broker_id.tolist()
    ids[SECOND_BROKER] = 10 * ids[-1]
    return replace(view, broker_id=np.array(ids, np.int32))


CHANGES: dict[str, Callable[[Callable[..., RoutingView]], RoutingView]] = {
    "a broker joins": lambda view_over: view_over(brokers=4, partitions=8),
    "partitions are added": lambda view_over: view_over(brokers=3, partitions=9),
    "a broker dies": lambda view_over: without_leader(view_over(brokers=3, partitions=6)),
    "a broker is replaced": lambda view_over: renamed(view_over(brokers=3, partitions=6)),
    "a broker leaves": lambda view_over: view_over(brokers=2, partitions=6),
}
"""What a view of three brokers and six partitions may be followed by."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ACKED)
def test_records_in_flight_survive_a_refresh(view_over: Callable[..., RoutingView], name: str, change: str) -> None:
    """Acknowledgements of records sent before it leave nothing in flight, and all leading brokers get records again."""
    policy: Any = policy_over(view_over(brokers=3, partitions=6), name)
    sent = [policy.pick(None, 1000) for _ in range(300)]
    after = CHANGES[change](view_over)
    policy.refresh(after)
    for partition in sent:
        policy.acked(partition, 1000, 0.01)
    assert policy.state.in_flight.pending == [0] * after.n_brokers

    picks = []
    for _ in range(2000):
        picks.append(policy.pick(None, 1000))
        policy.acked(picks[-1], 1000, 0.01)
    led = np.unique(after.leader[after.leader >= 0])
    assert np.bincount(after.leader[picks], minlength=after.n_brokers)[led].min() > 100
    assert policy.state.in_flight.pending == [0] * after.n_brokers


@pytest.mark.parametrize("name", ["c3", "prequal"])
def test_learned_values_stay_with_their_broker(view_over: Callable[..., RoutingView], name: str) -> None:
    """When the first of four brokers leaves, the rows of the others move, and their times with them."""
    view = view_over(brokers=4, partitions=4)
    policy: Any = policy_over(view, name)
    for partition in [policy.pick(None, 1000) for _ in range(60)]:
        policy.acked(partition, 1000, 1.0 + view.leader[partition])
    learnt = dict(zip(view.broker_id.tolist(), policy.state.response_s, strict=True))
    assert sorted(learnt.values()) == pytest.approx([1, 2, 3, 4])

    later = without_first(view)
    policy.refresh(later)

    assert policy.state.response_s == [learnt[broker] for broker in later.broker_id.tolist()]


def without_first(view: RoutingView) -> RoutingView:
    """The first broker is gone, with the leadership of its partition."""
    return replace(
        view,
        broker_id=view.broker_id[1:],
        rack=view.rack[1:],
        live=view.live[1:],
        leader=view.leader - 1,
        replica_broker=np.maximum(view.replica_broker - 1, 0),
        used_bytes=view.used_bytes[1:],
        capacity_bytes=view.capacity_bytes[1:],
        latency_s=view.latency_s[1:],
    )


def policy_over(view: RoutingView, name: str) -> PerRecordPolicy:
    """A policy that has seen the view, and a clock that goes on by a millisecond whenever it is looked at."""
    ticks = count()
    policy: Any = load_policy(name).create(Context(seed=1, clock=lambda: next(ticks) * 1e-3))
    policy.refresh(view)
    return policy  # type: ignore[no-any-return]
