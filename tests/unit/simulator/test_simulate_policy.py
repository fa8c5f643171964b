"""The simulator: what it counts, what happens to brokers, and that results are reproducible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from msgspec.structs import replace as replace_struct

from kafkabal.config.topic_specs import topic_spec
from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.placement.placement_policy import PlacementPolicy
from kafkabal.placement.topic_placement import place_topics
from kafkabal.routing.compiled_kernels import is_available
from kafkabal.routing.policies.score import ScoreWeighted
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_score, load_scores
from kafkabal.scoring.score_protocol import Need
from kafkabal.simulator.brokers_under_workload import SimulatedBrokers
from kafkabal.simulator.compare_policies import compare
from kafkabal.simulator.delivery_runner import DeliveryRunner, empty_delivery
from kafkabal.simulator.key_order_risk import KeyOrderRisk
from kafkabal.simulator.policy_outcome import PolicyOutcome
from kafkabal.simulator.simulate_policy import SimulationOptions, simulate
from kafkabal.simulator.workload import (
    ArrivalProcess,
    BrokerEvent,
    BrokerEventKind,
    FixedSize,
    ListedSizes,
    LogNormalSize,
    LogOverhead,
    Sizes,
    Transport,
    UniformKeys,
    Workload,
    ZipfKeys,
)
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster
from kafkabal.simulator.workload_file import load_workload
from kafkabal.simulator.workload_records import record_stream
from kafkabal.testing import cluster_builders

ViewMaker: TypeAlias = "Callable[..., RoutingView]"


def run(name: str, view: RoutingView, workload: Workload, **options: object) -> PolicyOutcome:
    """Simulate one policy."""
    return simulate(view, load_policy(name), workload, SimulationOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["random", "score", "pkg", "c3"])
def test_every_byte_is_counted_once_a_copy(view_over: ViewMaker, name: str) -> None:
    """Written bytes are those of the records; logs are a few per cent longer, and brokers hold three copies."""
    workload = Workload(records=3000, sizes=LogNormalSize(5000, 1), keys=UniformKeys(50), producers=3)
    expected = sum(int(chunk.size_bytes.sum()) for chunk in record_stream(workload, workload.key_table(0), 0))
    outcome = run(name, view_over(brokers=5, partitions=10, replication_factor=3), workload)

    assert outcome.records == int(outcome.broker_records.sum()) == 3000
    assert outcome.written_bytes == expected
    assert outcome.batches is not None
    # records of up to 63, 8191 and more bytes take 7 to 11 more, and batch headers 61
    added_bytes = outcome.partition_bytes.sum() - expected - 61 * outcome.batches
    assert 7 * 3000 <= added_bytes <= 11 * 3000
    assert outcome.added_bytes.sum() == pytest.approx(3 * outcome.partition_bytes.sum())


@pytest.mark.parametrize("delivery", [True, False])
def test_logs_are_as_long_as_their_batches_written_out(view_over: ViewMaker, *, delivery: bool) -> None:
    """Records of 1000 bytes, 16 per batch, take 61 bytes plus 16 times 1009, as computed by hand."""
    transport = Transport(linger_s=1.0)
    workload = Workload(records=1600, sizes=FixedSize(1000), process=ArrivalProcess.STEADY, transport=transport)
    outcome = run("random", view_over(brokers=1), workload, delivery=delivery)

    # record length 2, attributes 1, timestamp 1, offset 1, key length 1, value length 2, headers 1
    assert outcome.partition_bytes.tolist() == [100 * 61 + 1600 * 1009]
    assert outcome.written_bytes == 1_600_000


def test_headers_and_compression_follow_the_workload(view_over: ViewMaker) -> None:
    """Headers add bytes to every record; compression shrinks everything but batch headers."""
    workload = Workload(
        records=1600, sizes=FixedSize(1000), process=ArrivalProcess.STEADY, transport=Transport(linger_s=1.0)
    )
    log = LogOverhead(header_bytes=100, compression=0.5)
    outcome = run("random", view_over(brokers=1), replace(workload, log=log), delivery=False)

    assert outcome.partition_bytes.tolist() == [100 * 61 + 1600 * 1109 / 2]


def test_refused_records_are_in_no_log(view_over: ViewMaker) -> None:
    """Records for a partition without a leader count as offered but are in no log."""
    event = BrokerEvent(at_s=0.0, broker=1, becomes=BrokerEventKind.DEAD)
    workload = Workload(records=2000, keys=UniformKeys(500), events=(event,))
    outcome = run("key-hash", view_over(brokers=4), workload, delivery=False)

    assert outcome.partition_bytes[0] == 0
    assert outcome.written_bytes == 2_000_000


def test_same_seed_same_outcome_and_another_differs(uneven_view: RoutingView) -> None:
    """A simulation depends on its seed alone."""
    workload = Workload(records=5000, producers=2)
    first, again, other = (run("c3", uneven_view, workload, seed=seed) for seed in (4, 4, 5))

    assert first.partition_bytes.tolist() == again.partition_bytes.tolist()
    assert first.latency == again.latency
    assert first.partition_bytes.tolist() != other.partition_bytes.tolist()


def test_a_data_set_ends_more_even_than_what_has_no_end(view_over: ViewMaker) -> None:
    """`produce` knows how much there is to come of a folder or a file, so what is simulated for one does, too."""
    view = view_over(brokers=3)

    def fullest(sizes: Sizes, records: int) -> float:
        sent = run("score", view, Workload(records=records, sizes=sizes)).partition_bytes - view.partition_bytes
        of_broker = np.bincount(view.leader, sent)
        return float(of_broker.max() / of_broker.mean())

    listed, counts = ListedSizes(np.full(100, 1000), "data"), range(4000, 5000, 130)
    assert max(fullest(listed, n) for n in counts) < 1.002 < max(fullest(FixedSize(1000), n) for n in counts)


def test_delivery_does_not_change_where_records_go(uneven_view: RoutingView) -> None:
    """Policies without feedback send every record to the same partition, with and without latencies."""
    workload = Workload(records=5000, sizes=LogNormalSize(3000, 1), metrics_interval_s=0.05)
    for name in ("score", "uniform-sticky", "power-of-d"):
        timed, plain = (run(name, uneven_view, workload, delivery=delivery) for delivery in (True, False))
        assert timed.broker_records.tolist() == plain.broker_records.tolist()
        assert timed.partition_bytes == pytest.approx(plain.partition_bytes, rel=0.01)
        assert plain.latency is None


@pytest.mark.skipif(not is_available(), reason="numba is not installed")
def test_machine_code_simulates_the_same(uneven_view: RoutingView) -> None:
    """Compiled and interpreted runs agree in every figure, bit for bit."""
    workload = Workload(
        records=3000,
        sizes=LogNormalSize(3000, 1),
        keys=ZipfKeys(100, 1.0),
        producers=2,
        metrics_interval_s=0.05,
        events=(BrokerEvent(at_s=0.1, broker=2, becomes=BrokerEventKind.SLOW, factor=9),),
    )
    plain, fast = (run("adaptive", uneven_view, workload, compiled=compiled) for compiled in (False, True))

    assert plain.partition_bytes.tolist() == fast.partition_bytes.tolist()
    assert (plain.latency, plain.batches, plain.duration_s) == (fast.latency, fast.batches, fast.duration_s)


def test_idle_brokers_answer_after_linger_service_and_round_trip(view_over: ViewMaker) -> None:
    """On idle brokers a record waits for its batch to linger, for its own bytes and for a round trip."""
    transport = Transport(
        linger_s=0.01, request_s=0.002, round_trip_s=0.004, broker_bytes_per_s=1e6, batch_bytes=10**6, acks_all=True
    )
    workload = Workload(
        records=50, sizes=FixedSize(1000), bytes_per_s=10_000, process=ArrivalProcess.STEADY, transport=transport
    )
    one, three = (
        run("round-robin", view_over(brokers=3, replication_factor=copies), workload).latency for copies in (1, 3)
    )

    assert one is not None
    assert three is not None
    assert one.p50_s == pytest.approx(0.01 + 0.002 + 0.001 + 0.004, rel=0.01)
    # followers fetch once the leader has it: another round trip and the bytes once more
    assert three.p50_s == pytest.approx(one.p50_s + 0.004 + 0.001, rel=0.02)


def test_full_batches_do_not_linger(view_over: ViewMaker) -> None:
    """Records that fill a batch each are sent at once, one batch per record."""
    workload = Workload(
        records=100, sizes=FixedSize(20_000), bytes_per_s=1e6, transport=Transport(linger_s=5.0, acks_all=False)
    )
    outcome = run("round-robin", view_over(brokers=2), workload)

    assert outcome.batches == 100
    assert outcome.latency is not None
    assert outcome.latency.p999_s < 0.01


def test_batches_of_a_byte_carry_a_record_each(view_over: ViewMaker) -> None:
    """The smallest batch size is legal, and needs no more memory than there are records in flight."""
    transport = Transport(batch_bytes=1)
    view = view_over(brokers=2)
    assert run("random", view, Workload(records=500, transport=transport)).batches == 500

    sim = empty_delivery(1, view, transport)
    assert len(sim.batches.spare) == len(sim.records.spare) == transport.buffer_records


def test_no_requests_without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records minutes apart cost one step each, not one for every moment in between."""
    looks: list[float] = []
    counted = DeliveryRunner.waits_s
    monkeypatch.setattr(DeliveryRunner, "waits_s", lambda self, at_s: looks.append(at_s) or counted(self, at_s))
    workload = Workload(records=50, sizes=FixedSize(1000), bytes_per_s=5, process=ArrivalProcess.STEADY)
    cluster = build_workload_cluster(WorkloadCluster(brokers=3))
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    outcome = run("score", view, workload)

    assert outcome.duration_s == pytest.approx(50 * 200, abs=1)
    assert len(looks) == 50
    # each of them as late as possible
    assert looks == pytest.approx([200 * turn for turn in range(1, 51)], abs=0.051)


def test_overload_holds_producers_back_to_the_rate_of_the_brokers(view_over: ViewMaker) -> None:
    """Two brokers of 1 MB/s each take 2 MB/s of the 10 offered, in bounded memory."""
    transport = Transport(broker_bytes_per_s=1e6, request_s=0.0, buffer_bytes=10**6, buffer_records=500, acks_all=False)
    workload = Workload(records=5000, sizes=FixedSize(2000), bytes_per_s=10e6, transport=transport)

    assert run("round-robin", view_over(brokers=2), workload).bytes_per_s == pytest.approx(2e6, rel=0.03)


def test_dead_leader_is_replaced_where_there_is_a_copy(view_over: ViewMaker) -> None:
    """A dead broker receives nothing; replicated partitions get a new leader, others are left out."""
    event = BrokerEvent(at_s=0.5, broker=2, becomes=BrokerEventKind.DEAD)
    workload = Workload(records=10_000, sizes=FixedSize(1000), bytes_per_s=10e6, events=(event,), metrics_interval_s=9)
    single = run("random", view_over(brokers=4), workload)
    copied = run("random", view_over(brokers=4, replication_factor=2), workload)

    assert not single.live[1]
    assert single.partition_bytes[1] == pytest.approx(10e6 / 2 / 4, rel=0.1)
    assert copied.partition_bytes[1] == pytest.approx(copied.partition_bytes[0], rel=0.2)
    assert copied.added_bytes[1] == pytest.approx(copied.partition_bytes[[0, 1]].sum() / 2, rel=0.2)


@pytest.mark.parametrize("delivery", [True, False])
def test_keyed_records_for_a_lost_partition_are_refused_and_counted(view_over: ViewMaker, *, delivery: bool) -> None:
    """A keyed record for a partition without a leader is refused, and the outcome counts such records."""
    event = BrokerEvent(at_s=0.0, broker=1, becomes=BrokerEventKind.DEAD)
    workload = Workload(records=2000, keys=UniformKeys(500), events=(event,))
    outcome = run("key-hash", view_over(brokers=4), workload, delivery=delivery)

    assert outcome.refused == pytest.approx(500, rel=0.2)
    assert outcome.refused_bytes == 1000 * outcome.refused
    assert outcome.bytes_per_s == pytest.approx((2_000_000 - outcome.refused_bytes) / outcome.duration_s)
    if outcome.batches is not None:
        assert outcome.batches_per_mb == pytest.approx(outcome.batches / (2 - outcome.refused_bytes / 1e6))


def test_records_refused_before_a_broker_came_are_not_its_own(view_over: ViewMaker) -> None:
    """Every record is counted as refused, or as one of the broker that got it, never as both."""
    event = BrokerEvent(at_s=0.02, broker=1, becomes=BrokerEventKind.ADDED)
    outcome = run("key-hash", view_over(brokers=4), Workload(records=2000, keys=UniformKeys(500), events=(event,)))

    assert 100 < outcome.refused < 400
    assert outcome.broker_records.sum() + outcome.refused == 2000


def test_added_broker_is_filled_by_score(view_over: ViewMaker) -> None:
    """A broker that is added later is empty until then, and has its share in the end."""
    event = BrokerEvent(at_s=1.0, broker=4, becomes=BrokerEventKind.ADDED)
    workload = Workload(
        records=40_000, sizes=FixedSize(10_000), bytes_per_s=100e6, events=(event,), metrics_interval_s=0.2
    )
    outcome = run("score", view_over(brokers=4), workload, delivery=False)

    assert outcome.added_bytes[3] == pytest.approx(outcome.added_bytes.mean(), rel=0.05)


@pytest.mark.parametrize("copies", [1, 2])
def test_a_broker_that_dies_and_comes_back_catches_up(view_over: ViewMaker, copies: int) -> None:
    """It was there before; afterwards its followers have all that was written, and it leads again."""
    events = tuple(
        BrokerEvent(at_s=at_s, broker=2, becomes=becomes)
        for at_s, becomes in ((0.1, BrokerEventKind.DEAD), (0.3, BrokerEventKind.ADDED))
    )
    workload = Workload(records=8000, sizes=FixedSize(1000), bytes_per_s=20e6, events=events, metrics_interval_s=9)
    outcome = run("random", view_over(brokers=4, replication_factor=copies), workload)

    assert outcome.live.all()
    logs = outcome.partition_bytes
    assert outcome.added_bytes[1] == pytest.approx(logs[1] if copies == 1 else logs[0] + logs[1])
    assert logs[1] == pytest.approx(logs[0], rel=0.1 if copies == 2 else 0.6)
    assert copies == 2 or logs[1] < 0.7 * logs[0]
    assert outcome.broker_records[1] > 0


@pytest.mark.parametrize(
    ("score", "dirs", "counted"), [("disk", 2, "101"), ("log-dir", 1, "101"), ("log-dir", 2, "110111")]
)
def test_disks_of_a_dead_broker_are_due_nothing(score: str, dirs: int, counted: str) -> None:
    """Scores of brokers and of log dirs leave out what no live replica is on."""
    rows = cluster_builders.brokers(3, dirs=dirs)
    view = view_of(
        cluster_builders.cluster(rows, [cluster_builders.topic(TOPIC, [1], [2], [3])]), TOPIC, load_scores([score])
    )
    event = BrokerEvent(at_s=1, broker=2, becomes=BrokerEventKind.DEAD)
    brokers = SimulatedBrokers(view, Workload(events=(event,)))
    brokers.apply(event)
    (marginal,) = brokers.view(1, np.full(3, np.nan)).marginal_loads

    assert "".join(str(int(one)) for one in marginal.counted) == counted


def test_events_of_one_moment_happen_in_their_order(view_over: ViewMaker) -> None:
    """The last of them decides."""
    events = tuple(
        BrokerEvent(at_s=0.01, broker=2, becomes=kind) for kind in (BrokerEventKind.DEAD, BrokerEventKind.ADDED)
    )
    assert run("random", view_over(brokers=2), Workload(records=2000, events=events)).live.all()


def test_an_offline_partition_stays_offline(view_over: ViewMaker) -> None:
    """Its live replica is no leader: it was not in sync when the leader died."""
    view = view_over(brokers=3, replication_factor=2)
    offline = replace(view, live=np.array([False, True, True]), leader=np.array([-1, 1, 2], np.int32))
    outcome = run("key-hash", offline, Workload(records=900, keys=UniformKeys(300)))

    assert 200 < outcome.refused < 400
    assert outcome.partition_bytes[0] == 0


def test_unknown_broker_in_an_event_is_named(view_over: ViewMaker) -> None:
    """An event for an unknown broker is refused, and the error lists some of the known ones."""
    workload = Workload(events=(BrokerEvent(at_s=0.0, broker=9, becomes=BrokerEventKind.DEAD),))

    with pytest.raises(UsageError, match="unknown broker in the workload: 9") as refused:
        run("random", view_over(brokers=8), workload)
    assert refused.value.hint == "choose from: 1, 2, 3, 4, 5 and 3 more"


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"records": 200_000, "sizes": FixedSize(10**14)}, "17764 PiB exceeds the limit of 1024 PiB"),
        ({"records": None, "total_bytes": 2**62}, "4,611,686,018,427,388 exceeds the limit"),
        ({"records": 10**13}, "10,000,000,000,000 exceeds the limit"),
    ],
)
def test_a_workload_beyond_measure_is_refused(view_over: ViewMaker, size: dict[str, Any], message: str) -> None:
    """A workload whose copies exceed 64 bits, or with endless records, is refused at the start."""
    with pytest.raises(UsageError, match=message):
        run("random", view_over(brokers=2), Workload(**size))


@pytest.mark.parametrize("n_keys", [20, 2**16, 2**16 + 20])
def test_order_violations_equal_a_count_by_hand(n_keys: int) -> None:
    """Violations counted in chunks equal a count record by record, up to the last key."""
    source = np.random.default_rng(2)
    key, partition = source.integers(-1, 20, 5000).astype(np.int32), source.integers(0, 3, 5000).astype(np.int32)
    key[key >= 10] += n_keys - 20
    order = KeyOrderRisk(n_keys)
    for start in range(0, 5000, 700):
        order.add(key[start : start + 700], partition[start : start + 700])
    last: dict[int, int] = {}
    by_hand = 0
    for k, p in zip(key.tolist(), partition.tolist(), strict=True):
        if k >= 0:
            by_hand += last.get(k, p) != p
            last[k] = p

    assert order.violations == by_hand


def test_records_without_a_key_are_no_records_of_the_last_key() -> None:
    """A record without a key between two of the last key does not put their order at risk; nor does one among no
    keys."""
    order = KeyOrderRisk(2)
    for key, partition in ((1, 0), (-1, 5), (1, 0)):
        order.add(np.array([key], np.int32), np.array([partition], np.int32))
    assert order.violations == 0

    none = KeyOrderRisk(0)
    none.add(np.array([-1, -1], np.int32), np.array([0, 1], np.int32))
    assert none.violations == 0


def test_policies_that_keep_order_show_no_violation(uneven_view: RoutingView) -> None:
    """Keyed records stay in order with key-hash and adaptive, but not with score."""
    workload = Workload(records=5000, keys=ZipfKeys(100, 1.0), producers=2)

    assert run("key-hash", uneven_view, workload).order_violations == 0
    assert run("adaptive", uneven_view, workload).order_violations == 0
    assert run("score", uneven_view, workload).order_violations > 1000


def test_delayed_broker_has_the_shape_of_kip_794() -> None:
    """One broker takes 20 ms a request: KIP-480 feeds it most and chokes; KIP-794 does not, adaptive least of all."""
    chosen = load_workload("delayed-broker")
    assert chosen.cluster is not None
    view = view_of(build_workload_cluster(chosen.cluster), TOPIC)
    workload = replace(chosen.workload, records=20_000)
    sticky, uniform, adaptive = (
        run(name, view, workload) for name in ("sticky:linger-ms=0", "uniform-sticky", "adaptive")
    )

    assert sticky.latency is not None
    assert uniform.latency is not None
    assert adaptive.latency is not None
    assert sticky.added_bytes[0] > 0.6 * sticky.written_bytes
    assert sticky.bytes_per_s < 0.95 * uniform.bytes_per_s
    assert sticky.latency.p99_s > 10 * uniform.latency.p99_s
    assert adaptive.latency.p99_s <= uniform.latency.p99_s
    assert adaptive.added_bytes[0] < uniform.added_bytes[0]


def test_batches_in_the_stream_do_not_depend_on_the_policy() -> None:
    """A seed determines the stream of records, and bytes end it where they say."""
    workload = Workload(records=None, total_bytes=3_000_000, sizes=LogNormalSize(10_000, 1))
    chunks = list(record_stream(workload, None, 1))
    sizes = np.concatenate([chunk.size_bytes for chunk in chunks])

    assert 3_000_000 <= sizes.sum() < 3_000_000 + sizes[-1] + 1
    assert all((np.diff(chunk.at_s) >= 0).all() for chunk in chunks if chunk.at_s is not None)


def test_time_to_full_follows_from_the_rate(view_over: ViewMaker) -> None:
    """The time to full is the room left after the run, divided by the rate: a second per 10 MB at 10 MB/s."""
    view = view_over(brokers=2, capacity_bytes=10**9)
    workload = Workload(records=10_000, sizes=FixedSize(10_000), bytes_per_s=20e6, process=ArrivalProcess.STEADY)
    outcome = run("round-robin", view, workload, delivery=False)

    assert outcome.full_after_s == pytest.approx((10**9 - 50e6) / 10e6, rel=0.01)


def test_confidence_narrows_around_the_mean(uneven_view: RoutingView) -> None:
    """Five seeds give an interval; the figures of single seeds lie around its mean."""
    choices = [load_policy("random")]
    (runs,) = compare(uneven_view, choices, Workload(records=2000), range(5), SimulationOptions(delivery=False))
    figure = runs.figure(lambda outcome: outcome.max_over_mean)

    assert len({outcome.max_over_mean for outcome in runs.runs}) == 5
    assert 0 < figure.half_width < 0.2
    assert min(o.max_over_mean for o in runs.runs) < figure.mean < max(o.max_over_mean for o in runs.runs)


@pytest.mark.parametrize("brokers", [4, 5])
def test_score_reaches_the_shares_that_unequal_racks_allow(brokers: int) -> None:
    """With a replica in each of three racks, brokers end within 2% of their fair bytes, not of the mean."""
    old = [[1 if i % 4 else 4, 2, 3] for i in range(12)]
    cluster = cluster_builders.cluster(
        cluster_builders.brokers(brokers, racks=3), [cluster_builders.topic("old", *old, size_bytes=2 * 10**7)]
    )
    new = place_topics(cluster, [topic_spec(TOPIC, partitions=24, replication_factor=3)], PlacementPolicy()).state
    view = view_of(new, TOPIC, load_scores(["disk"]))
    outcome = run("score", view, Workload(records=20000, sizes=LogNormalSize(500_000, 1), producers=2))
    bytes_ = view.used_bytes + outcome.added_bytes
    fair = evaluate(load_score("replicas"), new, tolerance=0.1).fair_over_mean * bytes_.mean()

    assert fair.max() > 1.3 * bytes_.mean()
    assert bytes_ == pytest.approx(fair, rel=0.02)


def test_a_policy_by_latency_sees_the_latencies_of_the_simulated_brokers() -> None:
    """One broker takes 20 ms a request: it gets less than half of what each of the others gets."""
    chosen = load_workload("delayed-broker")
    assert chosen.cluster is not None
    cluster = build_workload_cluster(chosen.cluster)
    view = view_of(cluster, TOPIC, load_scores(["latency"]), supplied=[Need.TELEMETRY])
    added = run("score", view, replace(chosen.workload, records=20_000)).added_bytes
    assert added[0] < added[1:].min() / 2


def test_leaders_stay_where_they_are_as_long_as_they_live() -> None:
    """A leader need not be the preferred one; only the partitions of a dead broker get another."""
    rows = [replace_struct(cluster_builders.partition(n, (1, 2, 3)), leader=2 + n) for n in range(2)]
    view = view_of(
        cluster_builders.cluster(cluster_builders.brokers(3), [TopicRow(topic=TOPIC, partitions=rows)]), TOPIC
    )
    event = BrokerEvent(at_s=0.0, broker=3, becomes=BrokerEventKind.DEAD)
    records = run("round-robin", view, Workload(records=1000, sizes=FixedSize(1000), events=(event,))).broker_records
    assert records.tolist() == [500, 500, 0]


@pytest.mark.parametrize(
    ("interval_s", "times_s"),
    [
        (5.0, [0.0, 1.0, 6.0]),
        (2.0, [0.0, 1.0, 3.0, 5.0, 7.0]),
        (0.1, [0.1 * n for n in range(80)]),
    ],
)
def test_views_come_when_those_of_a_producer_do(
    view_over: ViewMaker, monkeypatch: pytest.MonkeyPatch, interval_s: float, times_s: list[float]
) -> None:
    """Simulated policies get views when a producer's do: soon after the first ones, and then at the interval."""
    seen: list[float] = []
    refresh = ScoreWeighted.refresh
    monkeypatch.setattr(ScoreWeighted, "refresh", lambda self, view: (seen.append(view.at_s), refresh(self, view))[1])
    workload = Workload(
        records=7900,
        sizes=FixedSize(1000),
        bytes_per_s=1e6,
        process=ArrivalProcess.STEADY,
        metrics_interval_s=interval_s,
    )
    run("score", view_over(brokers=3, partitions=6), workload, delivery=False)

    assert seen == pytest.approx(times_s)
