"""How many brokers suffice: the bound never exceeds a brute-force result, and a plan confirms the number."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.advice.broker_advice import advise_brokers
from kafkabal.inspection.broker_sizing import size_brokers
from kafkabal.model import BrokerRow, ClusterState, LogDirRow, TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic


def a_cluster(count: int, racks: int, partitions: int, factor: int, size_gb: int) -> ClusterState:
    """Partitions spread round-robin over brokers of 1000 GB."""
    assignments = [[(p + r) % count + 1 for r in range(factor)] for p in range(partitions)]
    return cluster(brokers(count, racks=racks), [topic("t", *assignments, size_bytes=size_gb * GB)])


def fits(state: ClusterState, chosen: tuple[int, ...], target: float) -> bool:
    """Whether the racks of these brokers can hold all replicas, one copy of a partition in each, byte by byte."""
    sizes = state.replicas.size_bytes.sum() / GB
    copies = sizes / 3
    held = dict.fromkeys(range(3), 0.0)
    for row in chosen:
        held[int(state.brokers.rack[row])] += target * 1000
    return all(held[z] for z in held) and sum(min(room, copies) for room in held.values()) >= sizes - 1e-6


@pytest.mark.parametrize("target", [0.1, 0.25, 0.4, 0.6])
def test_no_choice_of_fewer_brokers_holds_everything(target: float) -> None:
    """All subsets of nine brokers in three racks are tried: none smaller than the bound suffices."""
    state = a_cluster(9, 3, 27, 3, 10)
    bound = size_brokers(state, target).count
    smallest = next(
        (k for k in range(1, 10) if any(fits(state, chosen, target) for chosen in combinations(range(9), k))), None
    )
    assert smallest is None or bound == smallest


def test_more_replicas_than_racks_may_crowd_one_rack() -> None:
    """Four replicas with three in one rack make 500 GB per broker: at 60% of 1000 GB four brokers suffice."""
    rows = [replace(row, rack="a" if row.broker < 4 else "b") for row in brokers(4)]
    state = cluster(rows, [topic("t", *[[1, 2, 3, 4]] * 5, size_bytes=100 * GB)])
    assert size_brokers(state, 0.6).count == 4


def test_brokers_are_added_beside_one_with_the_largest_id() -> None:
    """Ids have 31 bits, so that none follows the largest: the added brokers take free ones."""
    largest = 2**31 - 1
    rows = [replace(row, broker=broker) for row, broker in zip(brokers(2), (1, largest), strict=True)]
    state = cluster(rows, [topic("t", *[(1, largest)] * 10, size_bytes=90 * GB)])

    assert len(advise_brokers(state, 0.6, 0.09, 50e6).add) == 2


def test_surplus_brokers_are_drained_and_a_plan_shows_it() -> None:
    """90 GB of 9000 need three brokers, one per rack, at replication factor 3."""
    advice = advise_brokers(a_cluster(9, 3, 9, 3, 10), 0.6, 0.09, 50e6)
    assert (advice.bound, advice.suffices, advice.live) == (3, 3, 9)
    assert len(advice.drain) == 6
    assert advice.fullest_after is not None
    assert advice.fullest_after <= 0.6
    assert advice.moved_bytes > 0
    assert advice.duration_s > 0


def test_lacking_brokers_are_added_where_racks_need_them() -> None:
    """2100 GB in each of three racks at 60% need four brokers per rack, of which there are three."""
    state = a_cluster(9, 3, 90, 3, 23)
    advice = advise_brokers(state, 0.6, 0.02, 50e6)
    assert advice.bound == 12
    assert advice.suffices == 12
    assert sorted(broker.rack or "" for broker in advice.add) == ["r0", "r1", "r2"]
    assert advice.fullest_after is not None
    assert advice.fullest_after <= 0.605


def test_the_fullest_brokers_stay() -> None:
    """Of equal brokers those with most data are kept, which moves the fewest bytes."""
    state = a_cluster(6, 3, 3, 3, 10)
    sizing = size_brokers(state, 0.6)
    held = np.bincount(state.replicas.broker, minlength=6)
    kept = [state.brokers.index_of(b) for b in sizing.keep]
    assert held[kept].min() >= held[[r for r in range(6) if r not in kept]].max()


def test_an_empty_broker_goes_first_whatever_its_rack() -> None:
    """The third broker that three replicas need stays in the rack where it holds data: a drained one is drained."""
    state = cluster(brokers(4, racks=2), [topic("t", [1, 2], [1, 4], size_bytes=GB), topic("o", [1, 2, 4])])
    assert size_brokers(state, 0.6).drain == (3,)


def test_replicas_nearly_as_large_as_a_broker_need_one_each() -> None:
    """18 replicas of 420 GB at 70%: two do not fit on a broker of 1000 GB, which total bytes do not show."""
    advice = advise_brokers(a_cluster(3, 3, 6, 3, 420), 0.7, 0.09, 50e6)
    assert advice.suffices is not None
    assert advice.bound < 18 <= advice.suffices


def test_unknown_capacity_leaves_the_number_open() -> None:
    """If a capacity is unknown, no number of brokers is given."""
    rows = [BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d0")]) for b in (1, 2, 3)]
    advice = advise_brokers(cluster(rows, [topic("t", [1, 2])]), 0.6, 0.09, 50e6)
    assert (advice.bound, advice.suffices) == (None, None)
    assert "capacity" in advice.warnings[0]


def test_other_programs_make_a_broker_full_too() -> None:
    """Disks of 1000 GB with 200 GB free and 30 GB of logs are 80% full, as in 'inspect'."""
    rows = [
        BrokerRow(broker=b, rack=f"r{b}", log_dirs=[LogDirRow(path="/d", total_bytes=1000 * GB, usable_bytes=200 * GB)])
        for b in (1, 2, 3)
    ]
    state = cluster(rows, [topic("t", [1, 2, 3], size_bytes=30 * GB)])

    assert advise_brokers(state, 0.9, 0.09, 50e6).fullest_before == pytest.approx(0.8)


def shared_disks(others_gb: list[int], racks: int, size_gb: int, factor: int) -> ClusterState:
    """Disks of 1000 GB, of which other programs occupy this much; six partitions, round-robin."""
    count = len(others_gb)
    assignments = [[(p + r) % count + 1 for r in range(factor)] for p in range(6)]
    held = np.bincount(np.array(assignments).ravel(), minlength=count + 1)[1:] * size_gb
    rows = [
        BrokerRow(
            broker=b + 1,
            rack=f"r{b % racks}",
            log_dirs=[
                LogDirRow(path="/d", total_bytes=1000 * GB, usable_bytes=int(1000 - others_gb[b] - held[b]) * GB)
            ],
        )
        for b in range(count)
    ]
    return cluster(rows, [topic("t", *assignments, size_bytes=size_gb * GB)])


def fewest_by_trying(
    others_gb: list[int], racks: int, total_gb: int, rack_limit_gb: int, target: float
) -> tuple[int, int]:
    """The fewest brokers by trying all choices of live and new ones: fewest new ones, then fewest in all."""
    room = [target * 1000 - held for held in others_gb]
    may_stay = [b for b in range(len(room)) if room[b] >= 0]
    choices = [chosen for k in range(len(may_stay) + 1) for chosen in combinations(may_stay, k)]

    def holds(chosen: tuple[int, ...], new: tuple[int, ...]) -> bool:
        by_rack = [[*(room[b] for b in chosen if b % racks == z), *[target * 1000] * new[z]] for z in range(racks)]
        return all(by_rack) and sum(min(sum(rooms), rack_limit_gb) for rooms in by_rack) >= total_gb - 1e-6

    for added in range(20):
        ways = [new for new in product(range(added + 1), repeat=racks) if sum(new) == added]
        found = [len(chosen) + added for chosen in choices if any(holds(chosen, new) for new in ways)]
        if found:
            return added, min(found)
    raise AssertionError


@pytest.mark.parametrize("seed", range(30))
def test_no_smaller_set_holds_everything_besides_other_programs(seed: int) -> None:
    """The bound is never above what trying all choices finds, and where nothing is added it is that number.

    Other programs fill some brokers beyond the target: no choice has them.
    """
    source = np.random.default_rng(seed)
    racks, size_gb = 3, int(source.integers(20, 60))
    others_gb = source.choice([0, 250, 550, 650], int(source.integers(3, 8))).tolist()

    sizing = size_brokers(shared_disks(others_gb, racks, size_gb, 3), 0.6)
    added, fewest = fewest_by_trying(others_gb, racks, 18 * size_gb, 6 * size_gb, 0.6)

    assert len(sizing.add) == added
    assert sizing.bound <= fewest <= sizing.count
    assert sizing.bound == fewest or added
    assert not {b + 1 for b, held in enumerate(others_gb) if held > 600} & set(sizing.keep)


def test_brokers_that_other_programs_fill_are_replaced() -> None:
    """With 650 GB of other programs on each of three disks, 60% needs three new brokers, and a plan shows them."""
    advice = advise_brokers(shared_disks([650] * 3, 3, 10, 3), 0.6, 0.09, 50e6)

    assert (advice.bound, advice.suffices, len(advice.add)) == (3, 3, 3)
    assert advice.drain == advice.filled_by_others == (1, 2, 3)
    assert advice.fullest_after is not None
    assert advice.fullest_after <= 0.6


def test_four_replicas_take_four_new_brokers_in_three_racks() -> None:
    """Three new brokers would have enough room, but the fourth replica needs a fourth broker."""
    sizing = size_brokers(shared_disks([650] * 4, 3, 10, 4), 0.6)
    assert (sizing.count, sizing.drain, len(sizing.add)) == (4, (1, 2, 3, 4), 4)


def test_the_bound_is_that_for_as_many_new_brokers_as_the_plan_adds() -> None:
    """Four of the five brokers could be enough, but no plan finds how; a new and larger one leaves three: not 3 of at
    least 4."""
    disks = [(20, 18), (20, 14), (20, 8), (30, 21), (20, 17)]
    rows = [
        BrokerRow(broker=b, rack=None, log_dirs=[LogDirRow(path="/d", total_bytes=total * GB, usable_bytes=free * GB)])
        for b, (total, free) in enumerate(disks)
    ]
    sizes = [([2], 1), ([0, 1], 1), ([3, 2], 4), ([2, 4], 2)]
    partitions = [partition(p, replicas, size * GB) for p, (replicas, size) in enumerate(sizes)]

    advice = advise_brokers(cluster(rows, [TopicRow(topic="t", partitions=partitions)]), 0.3, 0.1, 50e6)

    assert (advice.bound, advice.suffices, len(advice.add)) == (3, 3, 1)


def test_the_bound_holds_for_followers_that_are_smaller_than_their_leader() -> None:
    """60 GB on each of two brokers of 100 are within 60%, so that 3 brokers are no lower bound; a follower that is
    out of sync will be as large as its leader."""
    rows = brokers(3, dir_bytes=100 * GB)
    uneven = replace(partition(0, [1, 2], 60 * GB), sizes=[60 * GB, 30 * GB])
    single = partition(1, [2], 30 * GB)
    for isr, bound in (([1, 2], 2), ([1], 3)):
        partitions = [replace(uneven, isr=isr), single]
        assert size_brokers(cluster(rows, [TopicRow(topic="t", partitions=partitions)]), 0.6).bound == bound
