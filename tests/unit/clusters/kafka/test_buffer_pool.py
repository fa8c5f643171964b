"""Buffers for responses: never reused while a view of them exists."""

from __future__ import annotations

import random

from kafkabal.clusters.kafka.buffer_pool import BufferPool


def test_memory_in_use_is_never_given_again() -> None:
    """Whatever views are kept, in whatever order they are dropped, each keeps its content."""
    pool, randomness = BufferPool(), random.Random(1)
    kept: dict[int, memoryview] = {}
    for number in range(300):
        frame = pool.take(randomness.randrange(1000, 3 * 2**20))
        frame[-8:] = number.to_bytes(8, "big")
        kept[number] = frame[-8:][:]
        del frame
        while len(kept) > randomness.randrange(12):
            del kept[randomness.choice(list(kept))]
        assert all(int.from_bytes(view, "big") == each for each, view in kept.items())


def test_memory_that_is_free_is_given_again() -> None:
    """A view of the same bytes is returned once the previous one is gone, also for a smaller response."""
    pool = BufferPool()
    first = pool.take(2**21)
    first[:4] = b"mark"
    second = pool.take(2**21)
    del first
    assert bytes(pool.take(2**20)[:4]) == b"mark"
    assert len(second) == 2**21


def test_small_answers_leave_large_memory_to_large_ones() -> None:
    """The smallest buffer that fits is used, and none more than twice as large as requested."""
    pool = BufferPool()
    for size in (8, 2):
        frame = pool.take(size * 2**20)
        frame[:1] = bytes([size])
        del frame
    small, large = pool.take(2**20), pool.take(6 * 2**20)
    assert (small[0], large[0]) == (2, 8)
