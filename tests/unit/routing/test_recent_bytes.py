"""Bytes count the less, the older they are."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from kafkabal.routing.recent_bytes import RecentBytes


def test_bytes_fade_and_partitions_may_be_added() -> None:
    """After the memory an e-th counts; a partition that is added has none, and a count that falls adds none."""
    now_s = 0.0
    recent = RecentBytes(lambda: now_s, 2.0)
    assert recent.count(np.array([100, 50])) == 150
    now_s = 2.0
    assert recent.count(np.array([100, 40, 7])) == 7
    assert recent.by_partition == pytest.approx([100 / exp(1), 50 / exp(1), 7])
    assert recent.span_s == 2.0
