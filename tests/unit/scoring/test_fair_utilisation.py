"""Single cases of the fair utilisation, worked out by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from kafkabal.scoring.fair_utilisation import HolderColumns, fair_utilisation

INF = float("inf")


def shares(
    racks: str, each: Mapping[int, float], capacity: Sequence[float] = (), **limits: Sequence[float]
) -> list[float]:
    """Fair utilisation in shares of the mean, one letter a holder's rack."""
    rack = np.array([ord(r) for r in racks], np.int32)
    holders = HolderColumns.free(rack, np.array(capacity or [1.0] * len(racks)))
    holders = HolderColumns(
        rack=rack,
        capacity=holders.capacity,
        fixed=np.array(limits.get("fixed", holders.fixed)),
        most=np.array(limits.get("most", holders.most)),
        asked=np.array(limits["asked"]) if "asked" in limits else None,
    )
    found = fair_utilisation(holders, each)
    load = sum(min(r, len(racks)) * s for r, s in each.items()) + float(holders.fixed.sum())
    mean = load / float(holders.capacity.sum())
    return [1.0] * len(racks) if found is None else (found / mean).round(9).tolist()


@pytest.mark.parametrize(
    ("racks", "factor", "fair"),
    [
        ("aabc", 3, [2 / 3, 2 / 3, 4 / 3, 4 / 3]),
        ("aabbc", 3, [5 / 6, 5 / 6, 5 / 6, 5 / 6, 5 / 3]),
        ("aaabbcc", 3, [7 / 9] * 3 + [7 / 6] * 4),
        ("aaabb", 2, [5 / 6] * 3 + [5 / 4] * 2),
        ("aaabb", 1, [1] * 5),
        ("abc", 3, [1] * 3),
        ("aabbcc", 2, [1] * 6),
        ("aab", 3, [1] * 3),
        ("aaab", 3, [8 / 9] * 3 + [4 / 3]),
        ("aaaaab", 3, [4 / 5] * 5 + [2]),
        ("aaaaaaabc", 2, [9 / 14] * 7 + [9 / 4] * 2),
        ("aabbc", 2, [1] * 5),
        ("aaaaaaab", 2, [8 / 14] * 7 + [4]),
        ("ab", 4, [1] * 2),
    ],
)
def test_racks_of_unequal_size_limit_the_attainable_balance(racks: str, factor: int, fair: list[float]) -> None:
    """A rack holds its part of every partition, however few its brokers are."""
    assert shares(racks, {factor: 10.0}) == pytest.approx(fair)


def test_zones_of_one_two_and_three_brokers_with_a_half_disk() -> None:
    """Each zone is even within itself, larger disks holding more."""
    assert shares("abbccc", {3: 1.0}, [1, 1, 1, 1, 1, 0.5]) == pytest.approx(
        [5.5 / 3, 5.5 / 6, 5.5 / 6] + [5.5 / 7.5] * 3
    )


def test_topics_with_fewer_replicas_fill_the_remaining_room() -> None:
    """One replica goes where three cannot: with enough of them all are equal again."""
    assert shares("aabc", {3: 1.0, 1: 0.5}) == pytest.approx([6 / 7, 6 / 7, 8 / 7, 8 / 7])
    assert shares("aabc", {3: 1.0, 1: 1.0}) == [1.0] * 4


def test_immovable_load_is_filled_up_around() -> None:
    """A load above the level stays where it is, the others share the rest."""
    assert shares("abcd", {1: 6.0}, fixed=[6, 0, 0, 0]) == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3])
    assert shares("abcd", {1: 6.0}, fixed=[3, 1, 0, 0]) == pytest.approx([1.2, 14 / 15, 14 / 15, 14 / 15])


def test_a_holder_with_little_room_is_full_and_the_others_share_the_rest() -> None:
    """A limit below the level is the fair utilisation of its holder."""
    assert shares("abcd", {1: 8.0}, most=[0.5, np.inf, np.inf, np.inf]) == pytest.approx([0.25, 1.25, 1.25, 1.25])


def test_limits_that_leave_no_room_for_everything_are_ignored() -> None:
    """Nothing can be placed by them, so that they say nothing about who should hold how much."""
    assert shares("aabc", {3: 1.0}, most=[0.1] * 4) == pytest.approx([2 / 3, 2 / 3, 4 / 3, 4 / 3])


def test_equal_utilisation_differs_from_figures_that_happen_to_agree() -> None:
    """Where no rule binds there is nothing to compute with, so that equal clusters stay as they are to the bit."""
    assert fair_utilisation(HolderColumns.free(np.array([0, 0, 1, 1], np.int32), np.ones(4)), {2: 0.1, 3: 0.7}) is None
    assert fair_utilisation(HolderColumns.free(np.empty(0, np.int32), np.empty(0)), {}) is None


def test_the_sum_over_all_holders_is_the_whole_load() -> None:
    """Nothing is lost on the way, whatever the number of levels."""
    rng = np.random.default_rng(1)
    capacity = rng.random(300) + 0.5
    rack = rng.choice(5, 300, p=[0.02, 0.08, 0.1, 0.3, 0.5]).astype(np.int32)
    found = fair_utilisation(HolderColumns.free(rack, capacity), {1: 10.0, 3: 1000.0, 7: 5.0})
    assert found is not None
    assert float((found * capacity).sum()) == pytest.approx(10.0 + 3 * 1000.0 + 7 * 5.0)


@pytest.mark.parametrize(
    ("racks", "asked", "fair"),
    [
        pytest.param("aabbcc", [0, INF, INF, INF, INF, INF], [0, 2, 1, 1, 1, 1], id="its rack-mate alone takes it"),
        pytest.param("abc", [0, INF, INF], [1, 1, 1], id="alone in its rack"),
        pytest.param("aabbc", [1, 2, INF, INF, INF], [5 / 6, 5 / 6, 5 / 6, 5 / 6, 5 / 3], id="loose limits"),
        pytest.param("aabb", [0.2, 0.4, 0.5, INF], [1.6, 0.4, 0.5, 1.5], id="raised in one rack, kept in the other"),
    ],
)
def test_limits_of_a_user_are_raised_only_as_far_as_they_must_be(
    racks: str, asked: list[float], fair: list[float]
) -> None:
    """What cannot be kept in one rack lifts no limit in another; each rack holds a load of 2."""
    assert shares(racks, {len(set(racks)): 2.0}, asked=asked) == pytest.approx(fair)
