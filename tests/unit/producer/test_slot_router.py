"""Routing one record at a time for a caller that consumes slots itself."""

from __future__ import annotations

from kafkabal.producer.slot_router import Report, SlotRouter
from kafkabal.routing.policy_protocol import Context
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import view_of
from kafkabal.scoring.registry import load_scores
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster

BATCH_BYTES = 16384


def test_short_slots_share_one_report_of_settled_bytes() -> None:
    """In a nearly empty topic each slot is one record: settled records are reported once per batch and partition."""
    view = view_of(build_workload_cluster(WorkloadCluster(brokers=4)), TOPIC, load_scores(["disk"]))
    policy = load_policy("score").create(Context(seed=1, clock=lambda: 0.0))
    router = SlotRouter(
        TOPIC, policy, any_key_order=False, clock=lambda: 0.0, failed=lambda _: None, recreated=lambda *_: None
    )
    router.show(view, 0)
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
    assert all(ours - theirs <= BATCH_BYTES + 2500 for ours, theirs in zip(sent, reported, strict=True)), (
        "a batch and a slot"
    )
    for _, report in reports:
        report(None, None)  # type: ignore[arg-type]
    router.begin_reading()
    router.show(view, 0)
    assert router.view is not None
    assert router.view.settled_bytes is not None
    assert router.view.settled_bytes.tolist() == reported
