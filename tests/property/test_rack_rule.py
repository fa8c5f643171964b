"""The rack rule against counts with sets, for single replicas and for matrices of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.model import (
    I32,
    NO_RACK,
    distinct_racks,
    in_emptiest_racks,
    is_bound_to_racks,
    may_enter,
    may_enter_each,
    missing_racks,
    most_in_a_rack,
    racks_by_partition,
    required_racks,
    shares_rack,
)

N_RACKS = 4
rack = st.integers(NO_RACK, N_RACKS - 1)


@st.composite
def matrices(draw: st.DrawFn) -> I32:
    """Racks of the replicas of up to six partitions with up to five positions each."""
    width = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(rack, min_size=width, max_size=width), min_size=1, max_size=6))
    return np.array(rows, np.int32)


def counted(racks: list[int]) -> int:
    """Racks of one partition, as a set."""
    return len({r for r in racks if r != NO_RACK})


def is_allowed(others: list[int], entered: int, required: int) -> bool:
    """The rule in words: a rack without another replica, or the others span enough racks without this one."""
    return entered not in others or counted(others) >= required


@given(matrices(), st.data())
def test_every_form_of_the_rule_agrees_with_a_set(racks: I32, data: st.DataObject) -> None:
    """A single replica, one per partition for a rack each, and each of them for every rack give the same verdict."""
    entered = np.array(data.draw(st.lists(st.integers(0, N_RACKS - 1), min_size=len(racks), max_size=len(racks))))
    required = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(racks), max_size=len(racks))), np.int32)
    each = may_enter_each(racks, N_RACKS, required)
    rows = may_enter(racks, entered.astype(np.int32), required)
    for i, others in enumerate(racks.tolist()):
        assert rows[i] == is_allowed(others, entered[i], required[i])
        assert each[i].tolist() == [is_allowed(others, r, required[i]) for r in range(N_RACKS)]
        assert may_enter(racks[i], np.int32(entered[i]), required[i]) == rows[i]
        assert may_enter(racks[i], np.arange(N_RACKS, dtype=np.int32), required[i]).tolist() == each[i].tolist()


@given(matrices(), st.data())
def test_others_of_a_partition_with_one_replica_a_rack_need_not_be_counted(racks: I32, data: st.DataObject) -> None:
    """Omitting the number of racks is the same as a number equal to the replicas, one of which is still to be
    placed."""
    entered = np.array(data.draw(st.lists(st.integers(0, N_RACKS - 1), min_size=len(racks), max_size=len(racks))))
    factor = np.full(len(racks), racks.shape[1] + 1, np.int32)
    assert np.array_equal(
        may_enter(racks, entered.astype(np.int32), None), may_enter(racks, entered.astype(np.int32), factor)
    )
    assert np.array_equal(may_enter_each(racks, N_RACKS, None), may_enter_each(racks, N_RACKS, factor))


@given(matrices(), st.integers(1, 5), st.integers(1, N_RACKS))
def test_racks_are_counted_as_by_a_set(racks: I32, factor: int, n_racks: int) -> None:
    """Distinct, missing and shared racks, in a matrix, for one partition, and for columns of replicas."""
    required = required_racks(factor, n_racks)
    distinct, shared = distinct_racks(racks), shares_rack(racks)
    placed = np.nonzero(racks != NO_RACK)
    assert racks_by_partition(placed[0], racks[placed], len(racks)).tolist() == distinct.tolist()
    for i, row in enumerate(racks.tolist()):
        assert distinct[i] == counted(row) == distinct_racks(racks[i])
        assert missing_racks(racks, required)[i] == min(factor, n_racks) - counted(row)
        assert shared[i].tolist() == [r != NO_RACK and row.count(r) > 1 for r in row]


@given(st.lists(st.integers(0, N_RACKS - 1), min_size=1, max_size=7), st.integers(1, 5))
def test_a_partition_that_follows_the_rule_is_as_wide_as_any_placement(racks: list[int], factor: int) -> None:
    """Replicas placed one by one, anywhere the rule allows, span as many racks as the best choice."""
    factor = min(factor, len(racks))
    required = required_racks(factor, len(set(racks)))
    assert required == max(counted(list(chosen)) for chosen in combinations(racks, factor))
    for start in range(len(racks)):
        left = racks[start:] + racks[:start]
        chosen: list[int] = []
        while len(chosen) < factor:
            others = np.array(chosen, np.int32)
            allowed = [i for i, r in enumerate(left) if may_enter(others, np.int32(r), required)]
            # the last one allowed: the rule alone has to ensure the rest
            chosen.append(left.pop(allowed[-1]))
        assert counted(chosen) == required


@given(st.lists(st.integers(0, N_RACKS - 1), min_size=1, max_size=7), st.integers(1, 5))
def test_no_placement_has_more_replicas_in_a_rack(racks: list[int], factor: int) -> None:
    """Over all choices of brokers that span enough racks, the fullest rack never exceeds the limit, and reaches it if
    the rack has enough brokers."""
    factor, n_racks = min(factor, len(racks)), len(set(racks))
    limit = int(most_in_a_rack(factor, n_racks))
    wide = [c for c in combinations(racks, factor) if counted(list(c)) == required_racks(factor, n_racks)]
    fullest = max(chosen.count(r) for chosen in wide for r in chosen)
    assert fullest == min(limit, max(racks.count(r) for r in racks))


@given(
    st.lists(st.integers(0, N_RACKS - 1), min_size=1, max_size=7),
    st.lists(st.booleans(), min_size=7, max_size=7),
    st.data(),
)
def test_the_emptiest_racks_come_first(racks: list[int], takes: list[bool], data: st.DataObject) -> None:
    """The candidates are in racks with the fewest replicas so far, and never a broker that has one."""
    chosen = data.draw(st.lists(st.integers(0, len(racks) - 1), unique=True))
    candidates = np.array(takes[: len(racks)])
    found = in_emptiest_racks(candidates, np.array(racks, np.int32), chosen)
    held = {b: sum(racks[c] == racks[b] for c in chosen) for b in range(len(racks)) if takes[b] and b not in chosen}
    assert set(np.flatnonzero(found).tolist()) == {b for b in held if held[b] == min(held.values())}


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, N_RACKS))
def test_replicas_are_bound_to_racks_where_each_rack_has_to_have_one(factors: list[int], n_racks: int) -> None:
    """Every replica of every partition may then enter only the rack that it leaves."""
    everywhere = list(range(n_racks))
    stuck = n_racks > 1
    for factor in factors:
        spread = [r % n_racks for r in range(factor)]
        for k in range(factor):
            others = np.array(spread[:k] + spread[k + 1 :], np.int32)
            entered = [r for r in everywhere if may_enter(others, np.int32(r), required_racks(factor, n_racks))]
            stuck &= entered == [spread[k]]
    assert is_bound_to_racks(np.array(factors, np.int32), n_racks) == stuck
