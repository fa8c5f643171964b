"""Routing one record at a time for a caller that consumes slots itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kafkabal.producer.slot_router import Report, SlotRouter
from kafkabal.routing.policy_protocol import Context
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.scoring.registry import load_scores
from kafkabal.scoring.score_protocol import Need
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster

BATCH_BYTES = 16384


def shown(view: RoutingView, clock: Callable[[], float], *, hears_of_deliveries: bool = True) -> SlotRouter:
    """A router by the policy ``score`` that has been shown a view."""
    router = SlotRouter(
        TOPIC,
        load_policy("score").create(Context(seed=1, clock=clock)),
        any_key_order=False,
        hears_of_deliveries=hears_of_deliveries,
        clock=clock,
        failed=lambda _: None,
        recreated=lambda *_: None,
    )
    router.show(view, 0)
    return router


def test_short_slots_share_one_report_of_settled_bytes() -> None:
    """In a nearly empty topic each slot is one record: settled records are reported once per batch and partition."""
    view = view_of(build_workload_cluster(WorkloadCluster(brokers=4)), TOPIC, load_scores(["disk"]))
    router = shown(view, lambda: 0.0)
    reports: list[tuple[int, Report]] = []
    sent = [0] * view.n_partitions
    reported = [0] * view.n_partitions
    for _ in range(20_000):
        partition, report = router.route(None, 100, None)
        if report is not None:
            reports.append((partition, report))
            reported[partition] = sent[partition] + 100
        sent[partition] += 100
    switches = router.status().switches

    assert len(reports) <= sum(sent) / BATCH_BYTES + view.n_partitions
    assert len(reports) < switches / 4
    assert all(ours - theirs <= BATCH_BYTES + 7_000 for ours, theirs in zip(sent, reported, strict=True)), (
        "a batch and a slot"
    )
    for _, report in reports:
        report(None, None)  # type: ignore[arg-type]
    router.begin_reading()
    router.show(view, 0)
    assert router.view is not None
    assert router.view.settled_bytes is not None
    assert router.view.settled_bytes.tolist() == reported


@pytest.mark.parametrize(("scores", "is_held_back"), [("latency", True), ("disk", False)])
def test_a_broker_that_acknowledges_nothing_gets_little(scores: str, is_held_back: bool) -> None:
    """By ``latency`` a broker gets no more once only the others acknowledge, and catches up with nothing later; other
    scores ignore acknowledgements."""
    now_s = 0.0
    state = build_workload_cluster(WorkloadCluster(brokers=4))
    view = view_of(state, TOPIC, load_scores([scores]), supplied={Need.TELEMETRY})
    router = shown(view, lambda: now_s)
    sent = np.zeros(view.n_partitions)
    late: list[Report] = []
    for number in range(10_000):
        now_s = number / 50_000
        partition, report = router.route(None, 1000, None)
        sent[partition] += 1000
        if report is not None and view.leader[partition] == 3 and number < 6000:
            late.append(report)
        elif report is not None:
            report(None, None)  # type: ignore[arg-type]
        if number == 6000:
            for each in late:
                each(None, None)  # type: ignore[arg-type]
            before = sent.copy()
    slow, others = np.split(np.bincount(view.leader, before), [3])[::-1]
    assert (float(slow.sum()) < others.min() / 2) == is_held_back
    later = np.bincount(view.leader, sent - before)
    assert later.max() < 1.2 * later.mean()


def test_a_client_that_reports_errors_only_hides_what_is_in_flight() -> None:
    """Records that no report will tell of do not count as in flight: slots stay long by ``latency``, too."""
    now_s = 0.0
    state = build_workload_cluster(WorkloadCluster(brokers=4))
    view = view_of(state, TOPIC, load_scores(["latency"]), supplied={Need.TELEMETRY})
    router = shown(view, lambda: now_s, hears_of_deliveries=False)
    for number in range(20_000):
        now_s = number / 50_000
        router.route(None, 1000, None)
    assert router.status().switches < 20_000_000 / BATCH_BYTES / 4
