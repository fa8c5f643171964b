"""Memory of answers: never given twice while somebody looks at it."""

from __future__ import annotations

import random

from kafkabal.clusters.kafka.buffer_pool import BufferPool


def test_memory_in_use_is_never_given_again() -> None:
    """Whatever views are kept, in whichever order they are dropped, each still has what was written into it."""
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
    """A view of the same bytes comes back once the one before is gone, also for a smaller answer."""
    pool = BufferPool()
    first = pool.take(2**21)
    first[:4] = b"mark"
    second = pool.take(2**21)
    del first
    assert bytes(pool.take(2**20)[:4]) == b"mark"
    assert len(second) == 2**21
