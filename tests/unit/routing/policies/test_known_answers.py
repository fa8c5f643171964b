"""Policies against what theory and their papers say of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.policies.adaptive import Adaptive, draw
from kafkabal.routing.policies.astraea import t_score, turn_weights
from kafkabal.routing.policy_protocol import Context, RecordBatch
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator.simulate_policy import SimulationOptions, simulate
from kafkabal.simulator.workload import Transport, Workload


def loads(text: str, view: RoutingView, key: Any = None, n_keys: int = 1, n: int | None = None) -> Any:
    """Records of one byte in each partition after a batch."""
    policy = load_policy(text).create(Context(seed=1))
    policy.refresh(view)
    count = len(key) if key is not None else n
    assert count is not None
    out = np.empty(count, np.int32)
    keys = None if key is None else KeyTable.numbered(n_keys)
    policy.pick_batch(RecordBatch(size_bytes=np.ones(count, np.int64), key=key, keys=keys), out)
    return np.bincount(out, minlength=view.n_partitions)


def zipf_keys(n: int, n_keys: int, exponent: float) -> Any:
    """Rows of keys drawn by Zipf's law."""
    weight = np.arange(1, n_keys + 1) ** -exponent
    cumulative = np.cumsum(weight) / weight.sum()
    return np.searchsorted(cumulative[:-1], np.random.default_rng(3).random(n)).astype(np.int32)


def imbalance(counts: Any) -> float:
    """The papers' measure: largest load above the mean, over all records."""
    return float((counts.max() - counts.mean()) / counts.sum())


def test_power_of_two_has_the_maximum_load_of_theory(view_over: Callable[..., RoutingView]) -> None:
    """n balls in n bins: about ln n / ln ln n in the fullest with one choice, ln ln n / ln d + O(1) with d."""
    n = 4000
    view = view_over(brokers=n)
    one, two, three = (int(loads(f"power-of-d:d={d}", view, n=n).max()) for d in (1, 2, 3))

    assert one >= math.log(n) / math.log(math.log(n))
    assert two <= math.log(math.log(n)) / math.log(2) + 2
    assert three <= two < one


def test_pkg_balances_where_hashing_cannot(view_over: Callable[..., RoutingView]) -> None:
    """On five workers two choices bring the imbalance of a Zipf stream down by orders of magnitude."""
    view, key = view_over(brokers=5), zipf_keys(100_000, 10_000, 1.0)
    hashed, pkg = (imbalance(loads(name, view, key, 10_000)) for name in ("key-hash", "pkg"))

    assert hashed > 0.02
    assert pkg < hashed / 100


def test_heavy_keys_need_more_than_two_choices(view_over: Callable[..., RoutingView]) -> None:
    """On fifty workers a key with a third of the records breaks PKG; D-Choices and W-Choices still carry it."""
    view, key = view_over(brokers=50), zipf_keys(100_000, 10_000, 1.4)
    pkg, d_choices, w_choices = (
        imbalance(loads(name, view, key, 10_000)) for name in ("pkg", "d-choices", "w-choices")
    )
    heaviest = float(np.mean(key == 0))

    # two workers share the heaviest key, and each has half of it
    assert pkg == pytest.approx(heaviest / 2 - 1 / 50, abs=0.01)
    assert d_choices < 0.01
    assert w_choices < 0.001


@pytest.mark.parametrize("n", [2, 6, 50])
def test_a_key_that_needs_all_choices_gets_all_partitions(view_over: Callable[..., RoutingView], n: int) -> None:
    """One key that is all of the stream is spread over every partition: n hashes would leave a third of them out."""
    counts = loads("d-choices", view_over(brokers=n), np.zeros(2000, np.int32))

    assert counts.max() - counts.min() <= 1


def test_bounded_load_keeps_its_bound(view_over: Callable[..., RoutingView]) -> None:
    """No partition gets more than c times the average, whatever the keys."""
    view, key = view_over(brokers=8), zipf_keys(50_000, 100, 1.5)

    counts = loads("bounded-load:c=1.1", view, key, 100)
    assert counts.max() <= 1.1 * counts.mean() + 1
    assert loads("key-hash", view, key, 100).max() > 2 * counts.mean()


def test_adaptive_draws_by_the_weights_of_the_kip(view_over: Callable[..., RoutingView]) -> None:
    """Queues of 0, 3 and 1 batches give the weights 4, 1 and 3 of KIP-794."""
    policy = Adaptive(Context(), batch_size=100)
    policy.refresh(view_over(brokers=3))
    policy.state.pending_bytes[:] = [0, 300, 100]

    drawn = [draw(policy.state, (i + 0.5) / 8, 0.0) for i in range(8)]

    assert drawn == [0, 0, 0, 0, 1, 2, 2, 2]


def test_adaptive_avoids_a_broker_that_does_not_respond(view_over: Callable[..., RoutingView]) -> None:
    """A broker with acknowledgements overdue for longer than the timeout gets nothing until it responds."""
    now = [0.0]
    policy = Adaptive(Context(clock=lambda: now[0]), batch_size=10, availability_timeout_ms=100)
    policy.refresh(view_over(brokers=2))
    first = policy.pick(None, 10)
    now[0] = 0.2

    picks = set()
    for _ in range(50):
        picked = policy.pick(None, 10)
        picks.add(picked)
        policy.acked(picked, 10, 0.001)
    assert picks == {1 - first}

    policy.acked(first, 10, 0.2)
    assert {policy.pick(None, 10) for _ in range(50)} == {0, 1}


def test_t_score_loses_how_far_costs_are_apart() -> None:
    """Costs 100 : 1 and 100 : 90 give the same shares of 40 : 60; without the T-score they do not."""
    for costs in (np.array([100.0, 1.0]), np.array([100.0, 90.0])):
        weights = turn_weights(t_score(t_score(costs)))
        assert weights / weights.sum() == pytest.approx([0.4, 0.6])
    plain = turn_weights(np.array([100.0, 1.0]))
    assert plain / plain.sum() == pytest.approx([0.0099, 0.9901], abs=1e-4)


def test_join_idle_queue_takes_idle_brokers_first(view_over: Callable[..., RoutingView]) -> None:
    """As many records as brokers reach every broker once; the next one that responds is taken next."""
    policy = load_policy("join-idle-queue").create(Context(seed=2))
    policy.refresh(view_over(brokers=5))

    assert sorted(policy.pick(None, 1) for _ in range(5)) == [0, 1, 2, 3, 4]
    policy.acked(3, 1, 0.01)
    assert policy.pick(None, 1) == 3


def test_c3_and_prequal_shun_the_slow_broker(view_over: Callable[..., RoutingView]) -> None:
    """A broker that takes ten times as long gets a small part of the records."""
    for name in ("c3", "prequal"):
        policy = load_policy(name).create(Context(seed=2))
        policy.refresh(view_over(brokers=4))
        counts = [0] * 4
        for _ in range(2000):
            picked = policy.pick(None, 1)
            counts[picked] += 1
            policy.acked(picked, 1, 0.1 if picked == 2 else 0.01)
        assert counts[2] < 0.1 * sum(counts) / 4, name


@pytest.mark.parametrize(
    ("response_s", "pending", "picked"),
    [
        # (1 + 1)^3 times the mean of 10 and 20 ms is more than 10 ms
        ([0.01, 0.0, 0.02], [0, 1, 0], 0),
        # (2 + 1)^3 times 10 ms is more than (1 + 1)^3 times the mean
        ([0.01, 0.0, 0.02], [2, 1, 2], 1),
        # alone it is average, neither the first choice nor the last
        ([0.03, 0.0, 0.01], [0, 0, 1], 1),
        ([0.0, 0.0, 0.0], [3, 2, 1], 2),
    ],
)
def test_c3_treats_an_unmeasured_broker_as_average(
    view_over: Callable[..., RoutingView], response_s: list[float], pending: list[int], picked: int
) -> None:
    """A broker that has not responded yet does not count as fast: it gets the others' mean, and its queue counts."""
    policy = load_policy("c3").create(Context(seed=2))
    policy.refresh(view_over(brokers=3))
    state = policy.state  # type: ignore[attr-defined]
    state.response_s[:] = state.service_s[:] = response_s
    state.in_flight.pending[:] = pending

    assert policy.pick(None, 1) == picked


@pytest.mark.parametrize(("known_s", "picked"), [(0.01, 1), (0.09, 0)])
def test_prequal_treats_an_unmeasured_broker_as_average(
    view_over: Callable[..., RoutingView], known_s: float, picked: int
) -> None:
    """Of brokers that are all cold, one without a response yet comes after one that is faster than most."""
    policy = load_policy("prequal:probes=50").create(Context(seed=2))
    policy.refresh(view_over(brokers=3))
    policy.state.response_s[:] = [0.05, known_s, 0.0]  # type: ignore[attr-defined]

    assert policy.pick(None, 1) == picked


def test_c3_avoids_a_broker_that_never_responds(view_over: Callable[..., RoutingView]) -> None:
    """A broker too slow to respond at all gets a few records, not nearly all of them."""
    transport = Transport(broker_bytes_per_s=100e6, own_bytes_per_s={3: 1e3})
    workload = Workload(records=10_000, bytes_per_s=20e6, transport=transport)
    outcome = simulate(view_over(brokers=3), load_policy("c3"), workload, SimulationOptions())

    assert outcome.broker_records[2] < 0.01 * outcome.records


def test_failed_deliveries_leave_nothing_in_flight(view_over: Callable[..., RoutingView]) -> None:
    """A failed delivery is no longer in flight, and says nothing about the broker's speed."""
    for name in ("c3", "prequal", "join-idle-queue", "adaptive", "sticky"):
        policy = load_policy(name).create(Context(seed=2))
        policy.refresh(view_over(brokers=3))
        for _ in range(20):
            policy.acked(policy.pick(None, 7), 7, math.nan)
        assert policy.state.in_flight.pending == [0, 0, 0], name  # type: ignore[attr-defined]


def test_bytes_in_flight_follow_a_leader_that_moves(uneven_view: RoutingView) -> None:
    """Records in flight move with a partition's leadership, so that none is counted forever."""
    from dataclasses import replace

    policy = load_policy("join-idle-queue").create(Context(seed=2))
    policy.refresh(uneven_view)
    picks = [policy.pick(None, 1) for _ in range(12)]
    policy.refresh(replace(uneven_view, leader=np.roll(uneven_view.leader, 1)))
    for picked in picks:
        policy.acked(picked, 1, 0.1)

    assert policy.state.in_flight.pending == [0] * 6  # type: ignore[attr-defined]


def test_rack_local_stays_in_the_rack_until_it_is_full(uneven_view: RoutingView) -> None:
    """Records go to leaders in the reader's rack, and to all others once its brokers are much fuller."""
    from dataclasses import replace

    near = np.flatnonzero(uneven_view.rack == 1)
    policy = load_policy("rack-local:rack=rack-1").create(Context())
    policy.refresh(uneven_view)
    assert {uneven_view.leader[policy.pick(None, 1)] for _ in range(50)} == set(near.tolist())

    used = uneven_view.used_bytes.copy()
    used[near] *= 100
    policy.refresh(replace(uneven_view, used_bytes=used))
    assert {uneven_view.leader[policy.pick(None, 1)] for _ in range(50)} == set(range(6)) - set(near.tolist())


def _with_last_broker_dead(view: RoutingView, used_bytes: list[float]) -> RoutingView:
    """Four brokers of 1000 bytes, one partition each; nothing is known of the last one's disk."""
    from dataclasses import replace

    return replace(
        view,
        live=np.array([True, True, True, False]),
        leader=np.array([0, 1, 2, -1], np.int32),
        used_bytes=np.array(used_bytes),
        capacity_bytes=np.array([1000.0, 1000, 1000, 1]),
    )


def test_rack_local_compares_a_broker_with_live_ones(view_over: Callable[..., RoutingView]) -> None:
    """The first broker is half as full again as the live ones in the mean, whatever is on the dead one."""
    policy = load_policy("rack-local:rack=rack-0").create(Context())
    policy.refresh(_with_last_broker_dead(view_over(brokers=4, racks=2), [210, 100, 100, 100]))

    assert {policy.pick(None, 1) for _ in range(20)} == {2}


def test_astraea_gives_a_dead_broker_no_turns(view_over: Callable[..., RoutingView]) -> None:
    """Its turns would go to random partitions, also to the one that is to get a tenth of the others."""
    policy = load_policy("astraea:cost=size,t-score=false").create(Context())
    policy.refresh(_with_last_broker_dead(view_over(brokers=4), [1000, 100, 100, 0]))

    assert [policy.pick(None, 1) for _ in range(400)].count(0) == pytest.approx(400 / 21, abs=1)


@pytest.mark.parametrize(
    ("racks_written_from", "least_local"), [(("rack-0", "rack-1", "rack-2"), 0.95), (("rack-1",), 0.0)]
)
def test_rack_local_bounds_the_skew_that_it_causes(
    view_over: Callable[..., RoutingView], racks_written_from: tuple[str, ...], least_local: float
) -> None:
    """Producers of all racks stay near, that of one rack spills; brokers stay within 2% and what a view misses."""
    from dataclasses import replace

    view = view_over(brokers=6, racks=3, existing_bytes=10**9)
    policies = [load_policy(f"rack-local:max-skew=2%,rack={rack}").create(Context()) for rack in racks_written_from]
    used, local, sizes = view.used_bytes.copy(), 0, np.random.default_rng(0).lognormal(13, 1, 60_000).astype(int)
    for number, size in enumerate(sizes.tolist()):
        if not number % 100:
            for policy in policies:
                policy.refresh(replace(view, used_bytes=used.copy()))
        writer = number % len(policies)
        broker = view.leader[policies[writer].pick(None, size)]
        used[broker] += size
        local += view.racks[view.rack[broker]] == racks_written_from[writer]
    assert used.max() < (1.02 + 100 * sizes.mean() / used.mean()) * used.mean()
    assert len(policies) == 1 or used.max() < 1.02 * used.mean()
    assert local >= least_local * len(sizes)


def test_default_takes_an_empty_key_for_none(view_over: Callable[..., RoutingView]) -> None:
    """As librdkafka's consistent_random: records with an empty key are distributed like those without a key."""
    policy = load_policy("default:sticky-linger-ms=0").create(Context(seed=1))
    policy.refresh(view_over(brokers=4))
    records = RecordBatch(size_bytes=np.ones(200, np.int64), key=np.zeros(200, np.int32), keys=KeyTable.of([b"", b"a"]))
    out = np.empty(200, np.int32)
    policy.pick_batch(records, out)

    assert set(out.tolist()) == {0, 1, 2, 3}


def test_rack_local_does_not_count_on_dead_replicas(view_over: Callable[..., RoutingView]) -> None:
    """Of two partitions led elsewhere, one has its copy in the rack on a dead broker: the other is the near one."""
    from dataclasses import replace

    view = replace(
        view_over(brokers=4, racks=2, partitions=2, replication_factor=2),
        live=np.array([False, True, True, True]),
        leader=np.array([1, 1], np.int32),
        replica_partition=np.array([0, 0, 1, 1], np.int32),
        replica_broker=np.array([0, 1, 1, 2], np.int32),
    )
    policy = load_policy("rack-local:rack=rack-0").create(Context())
    policy.refresh(view)

    assert {policy.pick(None, 1) for _ in range(20)} == {1}
