"""Where a sequence of records is cut into batches."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.routing.batch_cuts import cuts_by_bytes, cuts_by_time


def told_one_by_one(sizes: list[int], room_bytes: int, batch_bytes: int) -> tuple[list[int], int]:
    """The definition: a record opens a batch where the one before it is full."""
    cuts = []
    for at, size in enumerate(sizes):
        if room_bytes <= 0:
            cuts.append(at)
            room_bytes = batch_bytes
        room_bytes -= size
    return cuts, room_bytes


@given(
    sizes=st.lists(st.one_of(st.integers(1, 20), st.integers(1, 5000)), max_size=200),
    room_bytes=st.integers(-100, 3000),
    batch_bytes=st.integers(1, 3000),
)
def test_cuts_are_those_of_the_definition(sizes: list[int], room_bytes: int, batch_bytes: int) -> None:
    """Records of any sizes, far apart or alike, are cut where a count of bytes record by record cuts them."""
    cuts, left = cuts_by_bytes(np.array(sizes, np.int64), room_bytes, batch_bytes)

    assert (cuts.tolist(), left) == told_one_by_one(sizes, room_bytes, batch_bytes)


@pytest.mark.parametrize("mean_bytes", [100, 1000, 5000, 16384, 20_000, 110_000])
@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("room_bytes", [-5, 0, 10_000, 10**8])
def test_many_records_are_cut_as_defined(mean_bytes: int, sigma: float, room_bytes: int) -> None:
    """Thousands of records are cut alike where batches are long, of a few records, of one, and of all kinds."""
    exponent = np.log(mean_bytes) + sigma * np.random.default_rng(mean_bytes).standard_normal(5000)
    sizes = np.exp(exponent).astype(np.int64) + 1
    cuts, left = cuts_by_bytes(sizes, room_bytes, 16384)

    assert (cuts.tolist(), left) == told_one_by_one(sizes.tolist(), room_bytes, 16384)


def test_records_as_long_as_many_batches_are_cut_in_little_memory() -> None:
    """Records of a tebibyte in batches of a byte are a batch each, and no more than that."""
    sizes = np.full(5000, 2**40)
    tracemalloc.start()
    cuts, left = cuts_by_bytes(sizes, 0, 1)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (cuts.tolist(), left) == (list(range(5000)), 1 - 2**40)
    assert most_bytes < 10 * 2**20


def told_by_the_clock(times: list[float], opened_s: float, linger_s: float) -> tuple[list[int], float]:
    """The definition: a record opens a batch where the one before it has lingered for longer."""
    cuts = []
    for at, now_s in enumerate(times):
        if now_s > opened_s + linger_s:
            cuts.append(at)
            opened_s = now_s
    return cuts, opened_s


@given(
    gaps=st.lists(st.sampled_from([0.0, 1e-9, 0.001, 0.0099999, 0.01, 0.0100001, 5.0]), max_size=400),
    opened_s=st.sampled_from([-np.inf, 0.0, 0.003]),
)
def test_cuts_by_time_are_those_of_the_definition(gaps: list[float], opened_s: float) -> None:
    """Records that come together, just within a linger time or after it, are cut where a look at each cuts them."""
    at_s = np.cumsum(np.array(gaps))
    cuts, opened = cuts_by_time(at_s, opened_s, 0.01)

    assert (cuts.tolist(), opened) == told_by_the_clock(at_s.tolist(), opened_s, 0.01)


@pytest.mark.parametrize("gap_s", [1e-5, 1e-3, 0.005, 0.01, 0.02])
@pytest.mark.parametrize("is_steady", [True, False])
def test_many_records_are_cut_by_time_as_defined(gap_s: float, *, is_steady: bool) -> None:
    """Thousands of records are cut alike at any rate."""
    source = np.random.default_rng(1)
    at_s = np.cumsum(np.ones(5000) if is_steady else source.standard_exponential(5000)) * gap_s
    cuts, opened = cuts_by_time(at_s, 0.0, 0.01)

    assert (cuts.tolist(), opened) == told_by_the_clock(at_s.tolist(), 0.0, 0.01)
