"""Sequences for weighted choices."""

from __future__ import annotations

import numpy as np

from kafkabal.routing.cyclic_sequences import replay, smooth_weighted


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
