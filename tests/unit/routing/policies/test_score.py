"""The score policy: each broker gets what it lacks, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafkabal.model.cluster_state import F64, I32, I64, PRODUCE_LATENCY
from kafkabal.routing.byte_stride import ByteStride
from kafkabal.routing.fair_weights import FairWeights
from kafkabal.routing.policies.score import ScoreWeighted
from kafkabal.routing.policy_protocol import Context, RecordBatch
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.scoring.registry import load_scores
from kafkabal.scoring.score_protocol import Need
from kafkabal.simulator.balance_and_latency_statistics import max_over_mean
from kafkabal.simulator.policy_outcome import PolicyOutcome
from kafkabal.simulator.simulate_policy import SimulationOptions, simulate
from kafkabal.simulator.workload import ArrivalProcess, FixedSize, LogNormalSize, Transport, Workload
from kafkabal.simulator.workload_cluster import TOPIC, Leaders, WorkloadCluster, build_workload_cluster

ONLY_BYTES = SimulationOptions(delivery=False)


def run(name: str, view: RoutingView, workload: Workload) -> PolicyOutcome:
    """Simulate without delivery."""
    return simulate(view, load_policy(name), workload, ONLY_BYTES)


@pytest.mark.parametrize(("copies", "partitions"), [(1, 3), (2, 12)])
def test_only_partitions_without_followers_get_a_batch_at_a_time(
    view_over: Callable[..., RoutingView], copies: int, partitions: int
) -> None:
    """Each of three brokers got less than a batch: with one replica, of one partition. With two, the partitions of a
    leader fill different brokers, so all get some."""
    policy = ScoreWeighted(Context(seed=1))
    policy.refresh(view_over(brokers=3, partitions=12, replication_factor=copies))

    assert len({policy.pick(None, 100) for _ in range(400)}) == partitions


@pytest.mark.parametrize("producers", [1, 8])
def test_uneven_allocation_is_filled_evenly(view_over: Callable[..., RoutingView], producers: int) -> None:
    """One leader per broker and two more: the default ends at 1.3 times the mean or above, score at most at 1.02."""
    view = view_over(brokers=6, leaders=Leaders.BROKERS_PLUS_2)
    workload = Workload(
        records=100_000, sizes=LogNormalSize(20_000, 1.0), bytes_per_s=100e6, producers=producers, metrics_interval_s=2
    )

    assert run("default", view, workload).max_over_mean >= 1.3
    assert run("score", view, workload).max_over_mean <= 1.02


@pytest.mark.parametrize("full", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("copies", [1, 3])
def test_imbalance_is_eased_while_data_doubles(
    view_over: Callable[..., RoutingView], full: tuple[int, ...], copies: int
) -> None:
    """Brokers with twice the others' bytes are at most at 1.05 of the mean once as much again was written."""
    own = dict.fromkeys(full, 2 * 10**9)
    view = view_over(brokers=6, partitions=24, replication_factor=copies, existing_bytes=10**9, own_existing_bytes=own)
    there = int(view.partition_bytes.sum())
    workload = Workload(
        records=None, total_bytes=there, sizes=FixedSize(50_000), bytes_per_s=200e6, metrics_interval_s=2
    )

    assert max_over_mean(view.used_ratio) > 1.13
    assert run("score", view, workload).max_over_mean <= 1.05


def test_stale_metrics_herd_least_loaded_and_not_score(view_over: Callable[..., RoutingView]) -> None:
    """Eight producers whose metrics grow old: with least-loaded all records between two readings hit one broker."""
    view = view_over(brokers=6, partitions=12)
    workload = Workload(
        records=50_000, sizes=FixedSize(10_000), bytes_per_s=20e6, producers=8, process=ArrivalProcess.STEADY
    )
    before_second_reading = replace(workload, records=1900)

    assert run("least-loaded", view, before_second_reading).written_max_over_mean == pytest.approx(6)
    assert run("least-loaded", view, workload).max_over_mean > 1.05
    assert run("score", view, before_second_reading).written_max_over_mean < 1.01
    assert run("score", view, workload).max_over_mean < 1.005


@pytest.mark.parametrize("seed", range(3))
def test_widely_differing_sizes_are_balanced(view_over: Callable[..., RoutingView], seed: int) -> None:
    """One record in a hundred has 100 kB, the others 3: what the ring owes is made up for soon."""
    workload = Workload(records=60_000, sizes=LogNormalSize(10_000, 1.5), bytes_per_s=60e6)
    options = SimulationOptions(delivery=False, seed=seed)

    assert simulate(view_over(brokers=6, partitions=12), load_policy("score"), workload, options).max_over_mean < 1.01


def test_balanced_weights_are_not_changed(
    view_over: Callable[..., RoutingView], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a topic grows evenly from 50 MB to ten times that, weights change five times at most."""
    given: list[float] = []
    follow = ByteStride.set_weights

    def note(stride: ByteStride, weights: F64, span_bytes: float, broker: I32 | None = None) -> None:
        given.append(span_bytes)
        follow(stride, weights, span_bytes, broker)

    monkeypatch.setattr(ByteStride, "set_weights", note)
    policy = ScoreWeighted(Context())
    policy.refresh(view_over(brokers=3, leaders=Leaders.BROKERS_PLUS_2))
    out = np.empty(50_000, np.int32)
    records = RecordBatch(size_bytes=np.full(len(out), 10_000))
    policy.pick_batch(records[:5000], out[:5000])
    settling = len(given)
    policy.pick_batch(records[5000:], out[5000:])

    assert settling
    assert len(given) - settling <= 5
    assert np.bincount(out) / len(out) == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6], abs=0.002)


def test_a_balanced_topic_is_not_weighed_again(
    view_over: Callable[..., RoutingView], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own records of equal size keep brokers balanced by themselves; widely different sizes are tracked."""
    weighed: list[float] = []
    weights = FairWeights.weights

    def note(fair: FairWeights, written_bytes: F64, *rest: Any) -> F64:
        weighed.append(float(written_bytes.sum()))
        return weights(fair, written_bytes, *rest)

    def weighed_late(size_bytes: I64) -> int:
        weighed.clear()
        policy = ScoreWeighted(Context())
        policy.refresh(view_over(brokers=3, leaders=Leaders.BROKERS_PLUS_2))
        policy.pick_batch(RecordBatch(size_bytes=size_bytes), np.empty(len(size_bytes), np.int32))
        return sum(at_bytes >= 50e6 for at_bytes in weighed)

    monkeypatch.setattr(FairWeights, "weights", note)

    assert weighed_late(np.full(50_000, 10_000)) == 0
    assert weighed_late(np.random.default_rng(0).lognormal(8, 2, 50_000).astype(np.int64)) >= 10


def test_slots_grow_with_partition_size(view_over: Callable[..., RoutingView]) -> None:
    """Single records, then a batch, then up to sixteen batches, as each becomes small relative to the brokers' data."""
    policy = ScoreWeighted(Context(clock=lambda: 0.0))
    policy.refresh(view_over(brokers=4))
    out = np.empty(400_000, np.int32)
    policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 1000)), out)
    runs = np.diff(np.flatnonzero(np.diff(out)))

    assert np.median(runs[:100]) == 1
    assert 16 in runs
    assert np.median(runs[-100:]) == 262
    assert runs.max() == 262
    assert np.bincount(out).max() < 1.005 * len(out) / 4
    assert np.bincount(out[:800]).max() <= 1.01 * 200


def runs_of(view: RoutingView, records: int) -> tuple[I32, I64]:
    """Partitions of records of 1000 bytes, and the lengths of the runs of one partition."""
    policy, out = ScoreWeighted(Context(clock=lambda: 0.0)), np.empty(records, np.int32)
    policy.refresh(view)
    policy.pick_batch(RecordBatch(size_bytes=np.full(records, 1000)), out)
    return out, np.diff(np.flatnonzero(np.diff(out)))


def test_replicas_count_for_the_length_of_slots(view_over: Callable[..., RoutingView]) -> None:
    """With three replicas slots are three times as long, and brokers store equal bytes within 1% all the same."""
    view = view_over(brokers=4, partitions=8, replication_factor=3)
    out, runs = runs_of(view, 30_000)
    _, runs_alone = runs_of(view_over(brokers=4, partitions=8), 30_000)
    stored = np.zeros((len(out), 4))
    for row, partition in enumerate(out):
        stored[row, view.replica_broker[view.replica_partition == partition]] = 1000
    stored = stored.cumsum(axis=0)[800:]

    assert np.median(runs[-50:]) == pytest.approx(3 * np.median(runs_alone[-50:]), rel=0.2)
    assert (stored.max(axis=1) / stored.mean(axis=1)).max() <= 1.01


@pytest.mark.parametrize(("copies", "partitions", "slot_records"), [(1, 8, 262), (3, 8, 262), (3, 100, 80)])
def test_what_a_topic_holds_counts_for_the_length_of_slots(
    view_over: Callable[..., RoutingView], copies: int, partitions: int, slot_records: int
) -> None:
    """From the first record on, slots are up to a four-hundredth of what a broker holds, with followers a round of all
    partitions: that leaves what brokers hold within 0.2% of each other."""
    view = view_over(brokers=4, partitions=partitions, replication_factor=copies, existing_bytes=600_000_000)
    out, runs = runs_of(view, 30_000)
    held = (
        view.used_bytes
        + np.stack([view.replica_broker == broker for broker in range(4)])
        @ np.bincount(out, minlength=partitions)[view.replica_partition]
        * 1000.0
    )

    assert np.median(runs[:20]) == pytest.approx(slot_records, rel=0.1)
    assert np.ptp(held) / held.mean() < 0.002


@pytest.mark.parametrize("copies", [1, 3])
def test_many_partitions_take_turns_of_a_request(view_over: Callable[..., RoutingView], copies: int) -> None:
    """30 MB open batches of a hundredth of 3,000 partitions, whose followers fill all brokers; brokers stay within 1%
    of each other. With batch-sized turns it would be over a thousand partitions, each with a request of its own."""
    view = view_over(brokers=4, partitions=3000, replication_factor=copies)
    out, _ = runs_of(view, 30_000)
    stored = np.bincount(view.replica_broker, np.bincount(out, minlength=3000)[view.replica_partition])

    assert len(np.unique(out)) <= 40
    assert stored.max() <= 1.01 * stored.mean()


def test_many_partitions_take_short_turns_at_a_low_rate(view_over: Callable[..., RoutingView]) -> None:
    """At 200 kB/s a partition gets about as much as comes in 0.1 s, not a whole request: readers of all of them soon
    get records."""
    now = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now[0]))
    policy.refresh(view_over(brokers=4, partitions=3000))
    picked = []
    for _ in range(2000):
        policy.watch_in_flight(lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        picked.append(policy.pick(None, 1000))
        now[0] += 0.005

    assert len(set(picked)) >= 45


def test_many_partitions_correct_an_imbalance_as_few_do(view_over: Callable[..., RoutingView]) -> None:
    """A lone producer fills up three brokers beside one that is 6 MB ahead with 24 MB, whatever followers there are."""
    view = view_over(brokers=4, partitions=600, replication_factor=2, own_existing_bytes={1: 6_000_000})
    workload = Workload(records=24_000, sizes=FixedSize(1000), bytes_per_s=100e6, metrics_interval_s=1.0)

    assert run("score", view, workload).max_over_mean <= 1.02


def test_added_partitions_are_grouped_anew(view_over: Callable[..., RoutingView]) -> None:
    """A topic that grows beyond a hundred partitions, and then by more of them, gets records in all new groups."""
    policy = ScoreWeighted(Context(clock=lambda: 0.0))
    for partitions in (60, 400, 500):
        view = replace(view_over(brokers=4, partitions=partitions), at_s=float(partitions))
        policy.refresh(view)
        picked = [policy.pick(None, 100_000) for _ in range(400)]
        assert np.bincount(view.leader[picked]).tolist() == pytest.approx([100] * 4, abs=4)


def test_what_others_write_later_makes_slots_no_longer(view_over: Callable[..., RoutingView]) -> None:
    """Producers that fill an empty topic together do not take each other's records for data that was there before."""
    view = view_over(brokers=4)
    policy, out = ScoreWeighted(Context(clock=lambda: 0.0)), np.empty(3_000, np.int32)
    policy.refresh(view)
    policy.refresh(grown(view, np.full(4, 1e10), at_s=1.0))
    policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 1000)), out)

    assert np.median(np.diff(np.flatnonzero(np.diff(out)))) < 5


def test_slots_of_a_balanced_topic_are_as_long_with_many_partitions(view_over: Callable[..., RoutingView]) -> None:
    """All partitions must get some slots within the horizon only while there is something to correct."""
    _, few = runs_of(view_over(brokers=4, partitions=12), 200_000)
    _, many = runs_of(view_over(brokers=4, partitions=120), 200_000)

    assert np.median(many[-50:]) == np.median(few[-50:]) >= 100


def test_a_record_in_the_queue_counts_once(view_over: Callable[..., RoutingView]) -> None:
    """A broker's log dirs lag behind by its queue: that gives it neither more nor less."""
    view = view_over(brokers=4, existing_bytes=10**7)
    policy, arrived = after_sending(view)
    arrived[0] = 0
    later = grown(view, arrived, at_s=1.0)

    policy.refresh(replace(later, settled_bytes=arrived))
    assert share_of_first(policy) == pytest.approx(0.25, rel=0.01)

    policy.refresh(replace(later, at_s=2.0))
    assert share_of_first(policy) > 0.3, "as if the records had vanished"


def test_log_dirs_that_are_read_one_after_the_other_are_no_imbalance(view_over: Callable[..., RoutingView]) -> None:
    """Broker 1 reported its bytes early, the others late: the difference may be own records, so no broker gets more."""
    view = view_over(brokers=4, existing_bytes=10**7)
    policy, sent = after_sending(view)
    written_bytes = sent * np.array([0.3, 0.8, 0.9, 0.9])
    settled = sent * 0.25

    policy.refresh(replace(grown(view, written_bytes, at_s=1.0), settled_bytes=settled))
    assert share_of_first(policy) == pytest.approx(0.25, rel=0.01)

    more = written_bytes + np.array([0, 4e7, 4e7, 4e7])
    policy.refresh(replace(grown(view, more, at_s=2.0), settled_bytes=settled))
    assert share_of_first(policy) > 0.3, "bytes that we did not send were sent by others"


def after_sending(view: RoutingView) -> tuple[ScoreWeighted, F64]:
    """A policy that has routed 2000 records of 20 kB, and the bytes that each partition got."""
    policy = ScoreWeighted(Context())
    policy.refresh(view)
    out = np.empty(2000, np.int32)
    policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 20_000)), out)
    return policy, np.asarray(np.bincount(out, minlength=4) * 20_000, np.float64)


def grown(view: RoutingView, written_bytes: F64, *, at_s: float) -> RoutingView:
    """A later view, in which the log dirs report so many bytes more."""
    return replace(
        view,
        at_s=at_s,
        partition_bytes=view.partition_bytes + written_bytes,
        used_bytes=view.used_bytes + written_bytes,
        marginal_loads=tuple(p.after(written_bytes, view.replica_partition) for p in view.marginal_loads),
    )


@pytest.mark.parametrize(("took_s", "is_believed"), [(0.1, False), (0.0, True)])
def test_records_of_other_producers_during_a_reading_are_no_imbalance(
    view_over: Callable[..., RoutingView], took_s: float, is_believed: bool
) -> None:
    """A broker whose log dirs were read before the others' gets no more, unless the reading took no time."""
    policy = ScoreWeighted(Context())
    view = view_over(brokers=4, existing_bytes=10**6)
    policy.refresh(replace(view, took_s=took_s))

    policy.refresh(replace(grown(view, np.array([1e6, 3e6, 3e6, 3e6]), at_s=0.1), took_s=took_s))

    assert (share_of_first(policy) > 0.26) is is_believed
    assert is_believed or share_of_first(policy) == pytest.approx(0.25, rel=0.01)


def test_slots_are_as_long_as_the_queue(view_over: Callable[..., RoutingView]) -> None:
    """If brokers slow the producer down, a partition gets in one slot what waits, as far as two requests carry it."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    by_latency = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    by_bytes = view_over(brokers=4)

    assert longest_run(by_latency, waiting_records=0) == 16
    assert longest_run(by_latency, waiting_records=400) == 400
    assert longest_run(by_latency, waiting_records=400_000) == 1976, "two requests carry no more"
    assert longest_run(by_bytes, waiting_records=400_000) < 100, "the bytes of brokers would become uneven"


def longest_run(view: RoutingView, *, waiting_records: int) -> int:
    """Records of 1000 bytes that go to one partition before the next has its turn, most often."""
    policy = ScoreWeighted(Context(clock=lambda: 0.0))
    policy.refresh(view)
    out = np.empty(10_000, np.int32)
    policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 1000)), out)
    policy.refresh(replace(view, at_s=1.0, waiting_records=waiting_records))
    policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 1000)), out)
    changes = np.flatnonzero(np.diff(out))
    return int(np.median(np.diff(changes)))


def next_slot_bytes(policy: ScoreWeighted, record_bytes: int, acknowledged: I64) -> int:
    """Length of the next slot, which is used up and acknowledged at once."""
    policy.watch_in_flight(lambda: (acknowledged, acknowledged))
    slot_bytes = policy.enter_slot(record_bytes)
    policy.slot.left_bytes = 0
    acknowledged[policy.slot.partition] += slot_bytes
    return slot_bytes


def test_blocks_follow_the_rate_between_two_views() -> None:
    """A caller that picks blocks gets slots of 10 ms as well, once it has sent for a moment."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    now_s = 0.0
    policy = ScoreWeighted(Context(clock=lambda: now_s))
    policy.refresh(view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY]))
    block, sent, picked = np.full(250, 1000), np.zeros(4, np.int64), []
    for number in range(200):
        now_s = number * 0.005
        policy.watch_in_flight(lambda: (sent, sent))  # noqa: B023 - called at once
        out = np.empty(len(block), np.int32)
        policy.pick_batch(RecordBatch(size_bytes=block), out)
        sent = sent + np.bincount(out, block, 4).astype(np.int64)
        picked.append(out)
    changes = np.flatnonzero(np.diff(np.concatenate(picked[100:])))
    assert np.median(np.diff(changes)) == pytest.approx(500, abs=5)


def test_slots_follow_the_rate_between_two_views() -> None:
    """A burst gets 10 ms of it in one slot long before the next view, and keeps it while the producer is held up."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    now_s = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now_s[0]))
    policy.refresh(view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY]))
    acknowledged = np.zeros(4, np.int64)

    def slot_after(bytes_per_s: float, seconds: float) -> int:
        """Length of the slot that is entered when this has gone on for a while, in records of 1000 bytes."""
        end_s, slot_bytes = now_s[0] + seconds, 0
        while now_s[0] < end_s:
            slot_bytes = next_slot_bytes(policy, 1000, acknowledged)
            now_s[0] += slot_bytes / bytes_per_s
        return slot_bytes

    assert slot_after(50e6, 0.2) == pytest.approx(500_000, rel=0.01)
    now_s[0] += 0.1
    assert next_slot_bytes(policy, 1000, acknowledged) > 262_000, "a full buffer is no lower rate"
    assert slot_after(1e6, 10.0) <= 20_000
    assert slot_after(1e9, 1.0) == pytest.approx(10_000_000, rel=0.15)


@pytest.mark.parametrize(
    ("record_bytes", "per_s", "slot_records"),
    [
        (100_000, 1_400, 14),
        (100_000, 4_000, 40),
        (10_000, 40_000, 400),
        (1_000, 145_000, 1_450),
        (100, 230_000, 2_300),
    ],
)
def test_slots_last_as_long_as_the_clients_own(record_bytes: int, per_s: int, slot_records: int) -> None:
    """By latency, slots are 10 ms, like librdkafka's own, at every rate and length: two whole linger times."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    now_s = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now_s[0]))
    policy.refresh(view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY]))
    acknowledged = np.zeros(4, np.int64)

    while now_s[0] < 1:
        slot_bytes = next_slot_bytes(policy, record_bytes, acknowledged)
        now_s[0] += slot_bytes / (record_bytes * per_s)

    assert slot_bytes / record_bytes == pytest.approx(slot_records, abs=1)


def test_slots_by_bytes_last_twice_as_long_at_a_high_rate() -> None:
    """Slots are 20 ms where brokers hold so much that they stay balanced: fewer batches wait for their linger time."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4, existing_bytes=10**11))
    now_s = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now_s[0]))
    policy.refresh(view_of(cluster, TOPIC, load_scores(["disk"])))
    acknowledged = np.zeros(4, np.int64)

    while now_s[0] < 1:
        slot_bytes = next_slot_bytes(policy, 1000, acknowledged)
        now_s[0] += slot_bytes / 100e6

    assert slot_bytes == pytest.approx(2_000_000, rel=0.01)


@pytest.mark.parametrize(("scores", "planned_s"), [("disk", 0.02), ("latency", 0.002)])
def test_slots_are_planned_for_some_milliseconds(
    scores: str, planned_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any rate for twice as long as librdkafka's own partitioner stays with a partition, or until brokers are looked
    at, and at least for some batches."""
    monkeypatch.setattr(ByteStride, "plan_slots", lambda _, _size, _overruns, ahead_bytes: [(0, ahead_bytes)])
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    now_s = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now_s[0]))
    policy.refresh(view_of(cluster, TOPIC, load_scores([scores]), supplied=[Need.TELEMETRY]))

    def bytes_of_plan(bytes_per_s: float) -> int:
        for _ in range(20):
            ((_, planned),) = policy.plan_slots(1000, [])
            now_s[0] += planned / bytes_per_s
        return planned

    for bytes_per_s in (1e6, 300e6, 900e6, 1e6):
        assert bytes_of_plan(bytes_per_s) == pytest.approx(max(262_144, bytes_per_s * planned_s), rel=1e-4)
    assert policy.plan_slots(1000, [], 50_000_000) == [(0, 50_000_000)], "a batch is planned whole"


def test_larger_brokers_get_more(view_over: Callable[..., RoutingView]) -> None:
    """A broker of twice the capacity gets twice the bytes."""
    view = view_over(brokers=3)
    capacity = np.array([2e12, 1e12, 1e12])
    marginal = replace(view.marginal_loads[0], capacity=capacity)
    view = replace(view, capacity_bytes=capacity, marginal_loads=(marginal,))
    outcome = run("score", view, Workload(records=40_000, sizes=FixedSize(10_000)))

    assert outcome.added_bytes / outcome.added_bytes.sum() == pytest.approx([0.5, 0.25, 0.25], abs=0.005)


@pytest.mark.parametrize(("others_bytes", "share"), [(10**7, 0.1 / 4), (0, 0.001 / 4)], ids=["shared", "alone"])
def test_an_overfull_broker_gets_little(view_over: Callable[..., RoutingView], others_bytes: int, share: float) -> None:
    """It gets the floor while others write, who make up for the same imbalance, and next to nothing from a producer
    that is alone."""
    view = view_over(brokers=4, existing_bytes=10**6, own_existing_bytes={1: 10**9})
    policy = ScoreWeighted(Context(), floor=0.1)
    policy.refresh(view)
    partition_bytes = view.partition_bytes
    for number in range(1, 12):
        out = np.empty(1000, np.int32)
        policy.pick_batch(RecordBatch(size_bytes=np.full(1000, 1000)), out)
        partition_bytes = partition_bytes + np.bincount(out, minlength=4) * 1000 + others_bytes // 4
        policy.refresh(replace(view, at_s=view.at_s + 5 * number, partition_bytes=partition_bytes))

    assert policy.client_weights().weights[0] == pytest.approx(share)


def test_one_bad_measurement_changes_weights_by_a_bounded_step(view_over: Callable[..., RoutingView]) -> None:
    """If one view shows a much fuller broker, its share falls by no more than the bound; it recovers at once."""
    view = view_over(brokers=4, existing_bytes=10**9)
    policy = ScoreWeighted(Context(clock=lambda: 0.0), max_change=0.5, horizon=0.2)
    policy.refresh(view)
    jolt = replace(view.marginal_loads[0], load=view.marginal_loads[0].load * np.array([10.0, 1, 1, 1]))

    policy.refresh(replace(view, marginal_loads=(jolt,)))
    assert share_of_first(policy) == pytest.approx(0.25 / 1.5, rel=0.02)

    policy.refresh(view)
    assert share_of_first(policy) == pytest.approx(0.25, rel=0.02)


def share_of_first(policy: ScoreWeighted) -> float:
    """Part of a few thousand records that goes to partition 0."""
    out = np.empty(4000, np.int32)
    policy.pick_batch(RecordBatch(size_bytes=np.full(4000, 20_000)), out)
    return float(np.mean(out == 0))


def test_slow_broker_gets_less_by_the_latency_score() -> None:
    """With the latency score a slow broker gets less than its share, but not nothing."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    latency_s = np.array([0.1, 0.01, 0.01, 0.01])
    marginal = replace(
        view.marginal_loads[0], load=latency_s, counted=np.ones(4, np.bool_), follows_traffic=np.ones(4, np.bool_)
    )
    policy = ScoreWeighted(Context())
    policy.refresh(replace(view, marginal_loads=(marginal,)))

    assert 0.02 < share_of_first(policy) < 0.1


def test_an_ordinary_latency_ends_what_a_wrong_one_began() -> None:
    """Once all brokers are equally fast they get equal parts, however little one of them got before."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4))
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    policy = ScoreWeighted(Context())
    for at_s, latency_s in enumerate(([0.1, 0.01, 0.01, 0.01], [0.01] * 4)):
        marginal = replace(
            view.marginal_loads[0],
            load=np.array(latency_s),
            counted=np.ones(4, np.bool_),
            follows_traffic=np.ones(4, np.bool_),
        )
        policy.refresh(replace(view, at_s=float(at_s), marginal_loads=(marginal,)))

    assert share_of_first(policy) == pytest.approx(0.25, rel=0.02)


def test_scores_that_routing_cannot_change_leave_weights_even(view_over: Callable[..., RoutingView]) -> None:
    """Counts of replicas and leaders do not depend on where records go."""
    view = view_over("replicas", "leaders", brokers=4)
    policy = ScoreWeighted(Context())
    policy.refresh(view)

    assert not any(marginal.is_moved_by_routing for marginal in view.marginal_loads)
    assert share_of_first(policy) == pytest.approx(0.25, rel=0.02)


def test_slow_broker_does_not_fill_the_buffer() -> None:
    """A broker at an eighth of the others' rate: with the latency score at least 1.9 times the default's throughput."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4, partitions=8))
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    transport = Transport(
        buffer_bytes=4 * 2**20, acks_all=False, broker_bytes_per_s=8e6, own_bytes_per_s={4: 1e6}, in_flight=1000
    )
    workload = Workload(records=30_000, bytes_per_s=60e6, metrics_interval_s=5.0, transport=transport)
    default, own = (
        simulate(view, load_policy(name), workload, SimulationOptions(seed=1)) for name in ("default", "score")
    )

    assert own.bytes_per_s >= 1.9 * default.bytes_per_s
    assert own.latency is not None
    assert default.latency is not None
    assert own.latency.p99_s <= 0.5 * default.latency.p99_s


def test_a_small_difference_is_not_overshot(view_over: Callable[..., RoutingView]) -> None:
    """Few records to brokers that hold a little, not quite equally: weights that make up for it last for some records
    of each partition, and are meant for as many."""
    view = view_over(brokers=3, partitions=12, own_existing_bytes={1: 22_050, 2: 21_900, 3: 22_000})
    for records in (600, 2_000, 5_000):
        assert run("score", view, Workload(records=records, sizes=FixedSize(1000))).max_over_mean <= 1.01


@pytest.mark.parametrize("copies", [1, 2])
def test_long_records_do_not_overshoot_an_imbalance(view_over: Callable[..., RoutingView], copies: int) -> None:
    """The first weights are computed before the length of records is known, for a twentieth of what brokers hold: 100
    records of 1 MB went by them, and left the fullest of three brokers at 2.07 times the mean instead of 1.06."""
    view = view_over(
        brokers=3,
        partitions=48,
        replication_factor=copies,
        own_existing_bytes={1: 22_000_000, 2: 22_000_000, 3: 18_000_000},
    )

    assert max_over_mean(view.used_ratio) > 1.06
    assert run("score", view, Workload(records=100, sizes=FixedSize(10**6))).max_over_mean <= 1.03


@pytest.mark.parametrize("seed", range(12))
def test_a_single_producer_balances_as_well_as_an_online_choice_can(
    view_over: Callable[..., RoutingView], seed: int
) -> None:
    """Some hundred long records onto unequal brokers: no farther from the best than 1.5% of the mean and half a
    record. The best gives each record to the broker with the fewest bytes."""
    rng = np.random.default_rng(seed)
    brokers, records, record_bytes = int(rng.integers(3, 7)), int(rng.integers(150, 400)), 400_000
    each_bytes = records * record_bytes / brokers
    own = {broker + 1: int(each_bytes * rng.uniform(0, 1.5)) for broker in range(brokers)}
    view = view_over(brokers=brokers, partitions=brokers * int(rng.integers(1, 7)), own_existing_bytes=own)
    workload = Workload(records=records, sizes=FixedSize(record_bytes), bytes_per_s=30e6, metrics_interval_s=1.0)

    best_bytes = np.array(list(own.values()), np.float64)
    for _ in range(records):
        best_bytes[best_bytes.argmin()] += record_bytes
    mean_bytes = best_bytes.mean()
    allowed = best_bytes.max() / mean_bytes + 0.015 + record_bytes / 2 / mean_bytes
    assert run("score", view, workload).max_over_mean <= allowed


def test_a_partition_is_kept_for_whole_linger_times(view_over: Callable[..., RoutingView]) -> None:
    """Where time closes batches, records wait less for others if partitions change when a batch is closed."""
    view = view_over(brokers=4, partitions=8)
    workload = Workload(
        records=8_000,
        bytes_per_s=3e6,
        process=ArrivalProcess.STEADY,
        metrics_interval_s=0.5,
        transport=Transport(batch_bytes=10**6, linger_s=0.005),
    )
    aligned, by_bytes = (
        simulate(view, load_policy(name), workload, SimulationOptions())
        for name in ("score", "score:linger-ms=0,batch-size=2000")
    )

    assert aligned.latency is not None
    assert by_bytes.latency is not None
    assert aligned.latency.p50_s < 0.95 * by_bytes.latency.p50_s
    assert aligned.max_over_mean < 1.01


def test_an_idle_topic_takes_every_view(view_over: Callable[..., RoutingView]) -> None:
    """A topic without records for an hour is routed on: its rate, which only decays, makes no slot infinitely long."""
    now_s = [0.0]
    policy = ScoreWeighted(Context(clock=lambda: now_s[0]))
    view = view_over(brokers=4)
    policy.refresh(view)
    for _ in range(1000):
        policy.pick(None, 1000)
    for _ in range(720):
        now_s[0] += 5.0
        policy.refresh(replace(view, at_s=now_s[0]))

    assert len({policy.pick(None, 100_000) for _ in range(100)}) == view.n_partitions


def bytes_after_a_stall(latencies_s: list[float]) -> I64:
    """Bytes by broker, of 2 s at 100 MB/s, with four brokers of these latencies; the last one stalls for 0.4 s."""
    cluster = build_workload_cluster(WorkloadCluster(brokers=4)).replace(
        measured={PRODUCE_LATENCY: np.array(latencies_s)}
    )
    now_s = 0.0
    policy = ScoreWeighted(Context(clock=lambda: now_s))
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    policy.refresh(view)
    sent, settled = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for step in range(1000):
        now_s = step * 0.002
        policy.watch_in_flight(lambda: (sent, settled))  # noqa: B023 - called at once
        out = np.empty(200, np.int32)
        policy.pick_batch(RecordBatch(size_bytes=np.full(len(out), 1000)), out)
        is_stalled = (view.leader == 3) & (100 <= step < 300)
        settled = np.where(is_stalled, settled, sent)
        sent = sent + np.bincount(out, minlength=4) * 1000
    return np.bincount(view.leader, sent).astype(np.int64)


def test_what_a_broker_lacks_by_a_stall_is_made_up_for() -> None:
    """By latency, a broker that stalls gets nothing for that time; all are as fast again, and end balanced."""
    assert max_over_mean(bytes_after_a_stall([0.01] * 4)) <= 1.015, "a slot is 0.02 of what each gets"


def test_what_a_slow_broker_lacks_is_not_made_up_for() -> None:
    """It goes on getting what its latency says."""
    got = bytes_after_a_stall([0.01, 0.01, 0.01, 0.1])
    assert got[3] < 0.05 * got.sum()
    assert max_over_mean(got[:3]) <= 1.01
