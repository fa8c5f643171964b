"""The rack rule against what its docstring says, counted with sets, for every placement in a few racks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_state import I32
from kafkabal.model.rack_rule import (
    NO_RACK,
    distinct_racks,
    in_emptiest_racks,
    is_bound_to_racks,
    may_enter,
    may_enter_each,
    missing_racks,
    most_in_a_rack,
    rack_numbers,
    racks_by_partition,
    required_racks,
    shares_rack,
)
from kafkabal.testing.cluster_builders import brokers, cluster, topic

RACKS = 3
WIDTHS = (1, 2, 3)


def _placements(width: int) -> I32:
    """Every way to put this many replicas into the racks, or nowhere; one per row."""
    return np.array(list(product(range(NO_RACK, RACKS), repeat=width)), np.int32)


def _sets(placements: I32) -> Iterator[set[int]]:
    return (set(row) - {NO_RACK} for row in placements.tolist())


@pytest.mark.parametrize(
    ("factor", "racks", "required", "most"), [(1, 3, 1, 1), (3, 3, 3, 1), (3, 2, 2, 2), (5, 1, 1, 5)]
)
def test_racks_that_a_partition_has_to_be_in(factor: int, racks: int, required: int, most: int) -> None:
    """As many as it has replicas, if there are so many racks; further replicas may share one."""
    assert required_racks(factor, racks) == required
    assert most_in_a_rack(factor, racks) == most
    both = np.array([factor, 1], np.int32)
    assert required_racks(both, racks).tolist() == [required, 1]
    assert most_in_a_rack(both, racks).tolist() == [most, 1]


@pytest.mark.parametrize("width", WIDTHS)
def test_racks_are_counted_once(width: int) -> None:
    """An empty position is in no rack, and two replicas in one rack count once, also with columns."""
    placements = _placements(width)
    counted = [len(racks) for racks in _sets(placements)]
    assert distinct_racks(placements).tolist() == counted
    assert missing_racks(placements, np.full(len(placements), 2, np.int32)).tolist() == [2 - n for n in counted]
    rows, slots = np.nonzero(placements != NO_RACK)
    assert racks_by_partition(rows, placements[rows, slots], len(placements)).tolist() == counted


def test_partitions_without_replicas_are_in_no_rack() -> None:
    """Neither alone nor beside one that is in a rack."""
    none = np.array([], np.int32)
    assert racks_by_partition(none, none, 2).tolist() == [0, 0]
    assert racks_by_partition(np.array([1], np.int32), np.array([4], np.int32), 3).tolist() == [0, 1, 0]


@pytest.mark.parametrize("required", [None, 1, 2, 3])
@pytest.mark.parametrize("width", WIDTHS)
def test_eligible_racks(width: int, required: int | None) -> None:
    """Into a rack without the others, or into any once they span enough racks; for one rack and for all at once."""
    others = _placements(width)
    needed = None if required is None else np.full(len(others), required, np.int32)
    allowed = [
        [rack not in held or (required is not None and len(held) >= required) for rack in range(RACKS)]
        for held in _sets(others)
    ]
    assert may_enter_each(others, RACKS, needed).tolist() == allowed
    for rack in range(RACKS):
        found = may_enter(others, np.full(len(others), rack, np.int32), needed)
        assert found.tolist() == [row[rack] for row in allowed]


@pytest.mark.parametrize("width", WIDTHS)
def test_replicas_that_share_a_rack(width: int) -> None:
    """Both are marked; empty positions share none."""
    placements = _placements(width)
    expected = [[rack != NO_RACK and row.count(rack) > 1 for rack in row] for row in placements.tolist()]
    assert shares_rack(placements).tolist() == expected


@pytest.mark.parametrize(
    ("factors", "racks", "is_bound"),
    [([3, 3], 3, True), ([2, 2], 2, True), ([3, 2], 3, False), ([1, 1], 1, False), ([2, 2], 3, False)],
)
def test_one_replica_in_every_rack(factors: list[int], racks: int, is_bound: bool) -> None:
    """Replicas are bound to theirs only if each partition has one in every rack, and there are several."""
    assert is_bound_to_racks(np.array(factors, np.int32), racks) is is_bound


def test_numbers_are_as_narrow_as_their_columns() -> None:
    """Sums over millions of partitions take the bytes that they are documented to take."""
    factor, racks = np.array([3], np.int64), _placements(2)
    assert required_racks(factor, RACKS).dtype == np.int32
    assert most_in_a_rack(factor, RACKS).dtype == np.int32
    assert missing_racks(racks, np.full(len(racks), 2, np.int64)).dtype == np.int32
    for partitions in ([], [0]):
        found = racks_by_partition(np.array(partitions, np.int32), np.array(partitions, np.int32), 1)
        assert found.dtype == np.int64


def test_a_broker_without_a_rack_is_a_rack_of_its_own() -> None:
    """Its number differs from that of every other broker, and the cluster's numbers stay unchanged."""
    first, second, third, fourth = brokers(4, racks=2)
    state = cluster([first, replace(second, rack=None), third, replace(fourth, rack=None)], [topic("t", [1, 2])])
    numbers = rack_numbers(state).tolist()
    assert numbers[0] == numbers[2]
    assert len(set(numbers)) == 3
    assert state.brokers.rack.tolist() == [0, -1, 0, -1]


@pytest.mark.parametrize(
    ("chosen", "candidates", "free"),
    [
        ([], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        ([0], [0, 1, 2, 3, 4], [2, 3, 4]),
        ([0, 2], [0, 1, 2, 3, 4], [4]),
        ([0, 2, 4], [0, 1, 2, 3, 4], [1, 3]),
        ([0, 1, 2, 4], [0, 1, 2, 3, 4], [3]),
        ([0], [1], [1]),
        ([0, 1], [0, 1], []),
    ],
)
def test_new_racks_come_first(chosen: list[int], candidates: list[int], free: list[int]) -> None:
    """Of five brokers in racks 0, 0, 1, 1 and 2: those in the racks that hold the fewest, and never a holder."""
    among = np.isin(np.arange(5), candidates)
    found = in_emptiest_racks(among, np.array([0, 0, 1, 1, 2], np.int32), chosen)
    assert np.flatnonzero(found).tolist() == free
    assert np.flatnonzero(among).tolist() == candidates
