"""Sequences for weighted choices."""

from __future__ import annotations

import numpy as np

from kafkabal.routing.cyclic_sequence_policy import apportion, evenly_spaced, replay, smooth_weighted


def test_smooth_weighted_known_answer() -> None:
    """Weights 5, 1, 1 give nginx's a a b a c a a."""
    ring = smooth_weighted(np.array([5.0, 1.0, 1.0]), 7)

    assert "".join("abc"[i] for i in ring) == "aabacaa"


def test_smooth_weighted_keeps_the_shares_in_every_period() -> None:
    """After each period every candidate was taken as often as its weight says."""
    ring = smooth_weighted(np.array([3.0, 2.0, 4.0]), 27)

    assert np.bincount(ring[:9]).tolist() == [3, 2, 4]
    assert (ring[:9] == ring[9:18]).all()


def test_replay_goes_round_from_any_start() -> None:
    """A ring of three, filled from its second place, over two ends."""
    out = np.empty(8, np.int32)
    replay(np.array([7, 8, 9], np.int32), 1, out)

    assert out.tolist() == [8, 9, 7, 8, 9, 7, 8, 9]


def test_evenly_spaced_places_have_no_clusters() -> None:
    """Between two turns of a candidate lie less than its fair gap, and two."""
    counts = np.array([10, 5, 1])
    ring = evenly_spaced(counts)

    assert np.bincount(ring).tolist() == [10, 5, 1]
    for candidate, count in enumerate(counts[:2]):
        places = np.flatnonzero(ring == candidate)
        gaps = np.diff(np.append(places, places[0] + len(ring)))
        assert gaps.max() < len(ring) / count + 2


def test_apportioned_numbers_add_up_by_largest_remainder() -> None:
    """Ten turns over 1 : 1 : 1 are 4, 3, 3; of 5.6 : 3.1 : 1.3 the first has most left over."""
    assert apportion(np.ones(3), 10).tolist() == [4, 3, 3]
    assert apportion(np.array([5.6, 3.1, 1.3]), 10).tolist() == [6, 3, 1]
