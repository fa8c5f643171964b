"""Properties of routing for any records, weights and batch boundaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.routing.byte_stride import ByteStride
from kafkabal.routing.cyclic_sequences import replay
from kafkabal.routing.heavy_keys import HeavyKeys, count_key
from kafkabal.routing.key_hashes import KeyTable, murmur2
from kafkabal.routing.policies.smooth_weighted import apportion

weights = st.lists(st.floats(0.01, 10), min_size=1, max_size=12).map(lambda w: np.array(w) / sum(w))
sizes = st.lists(st.integers(1, 200_000), min_size=1, max_size=400).map(lambda s: np.array(s, np.int64))


@given(weights, sizes, st.integers(1, 40_000), st.floats(0, 2**30), st.data())
def test_byte_ring_gives_the_same_partitions_by_any_call(
    w: np.ndarray, size_bytes: np.ndarray, slot: int, span: float, data: st.DataObject
) -> None:
    """One by one or in batches cut anywhere, records go to the same partitions, and their bytes are counted."""
    single, batched = ByteStride(slot, 0.3, lambda: None), ByteStride(slot, 0.3, lambda: None)
    for stride in (single, batched):
        stride.set_weights(w, span)
    cut = data.draw(st.integers(0, len(size_bytes)))
    out = np.empty(len(size_bytes), np.int32)
    batched.fill(size_bytes[:cut], out[:cut])
    batched.fill(size_bytes[cut:], out[cut:])

    assert [single.pick(None, size) for size in size_bytes.tolist()] == out.tolist()
    assert batched.sent_bytes.tolist() == np.bincount(out, size_bytes, len(w)).astype(int).tolist()


@given(weights, st.integers(1, 50_000))
def test_byte_ring_gives_every_partition_its_weight(w: np.ndarray, size: int) -> None:
    """Over many records of one size, bytes follow the weights to within a few slots per partition."""
    stride = ByteStride(16384, 0.7, lambda: None)
    stride.set_weights(w, 1e7)
    n = 30_000
    out = np.empty(n, np.int32)
    stride.fill(np.full(n, size), out)

    off_bytes = np.abs(np.bincount(out, minlength=len(w)) - w * n) * size
    assert off_bytes.max() <= 4 * max(16384, size) + 0.01 * n * size


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=50), st.integers(0, 2**32 - 1))
def test_hashes_in_bulk_are_hashes_one_by_one(keys: list[bytes], seed: int) -> None:
    """Whatever the keys and the seed, hashing a table equals hashing each key."""
    assert KeyTable.of(keys).murmur2(seed).tolist() == [murmur2(key, seed) for key in keys]


@given(weights, st.integers(1, 5000))
def test_apportioned_numbers_are_as_near_as_whole_numbers_get(w: np.ndarray, total: int) -> None:
    """Apportioned numbers add up to the total, and each differs from its exact part by less than a whole turn."""
    counts = apportion(w, total)

    assert counts.sum() == total
    assert np.abs(counts - w * total).max() < 1 + 1e-6


@given(st.integers(1, 9), st.integers(0, 100), st.integers(0, 60))
def test_replay_is_indexing_modulo_the_length(length: int, start: int, n: int) -> None:
    """A replayed ring equals the ring indexed modulo its length."""
    ring, out = np.arange(length, dtype=np.int32), np.empty(n, np.int32)
    replay(ring, start, out)

    assert out.tolist() == [(start + i) % length for i in range(n)]


@given(st.lists(st.integers(0, 25), max_size=400), st.integers(1, 30))
def test_heavy_keys_are_never_undercounted(stream: list[int], counters: int) -> None:
    """Space-Saving's guarantee: a count is at least the truth, and at most that plus the records over the counters."""
    heavy = HeavyKeys.empty(counters)
    for key in stream:
        count_key(heavy, key)

    assert sum(heavy.counts) == len(stream)
    assert heavy.counts == sorted(heavy.counts)
    held = {key: count for key, count in zip(heavy.key, heavy.counts, strict=True) if key >= 0}
    for key in set(stream):
        truth = stream.count(key)
        if truth * counters > len(stream):
            assert key in held
        if key in held:
            assert truth <= held[key] <= truth + len(stream) / counters
