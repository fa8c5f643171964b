"""Finds the heaviest keys of a stream in bounded memory: Space-Saving.

References
----------
Metwally, Agrawal, El Abbadi, *Efficient Computation of Frequent and Top-k Elements in Data Streams*, ICDT 2005.

Notes
-----
The counters are sorted by count. When a counted key occurs again, it swaps places with the last counter of the same
count and is then incremented, so that one binary search preserves the order. A new key takes over the first counter,
which has the lowest count. An open-addressing hash table finds a key's counter.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkabal.routing.compiled_kernels import kernel

_FREE = -1


class HeavyKeys(NamedTuple):
    """Columns of the counters."""

    counts: list[int]
    """Ascending; a count is never too low, and too high by at most (records / counters)."""
    key: list[int]
    bucket: list[int]
    """Bucket of each counter in the hash table."""
    table: list[int]
    """The hash table: the counter in each bucket, -1 if it is free; its length is a power of two."""

    @classmethod
    def empty(cls, n_counters: int) -> HeavyKeys:
        """No keys counted yet."""
        n_buckets = 1 << (4 * n_counters - 1).bit_length()
        return cls([0] * n_counters, [_FREE] * n_counters, [_FREE] * n_counters, [_FREE] * n_buckets)


@kernel
def count_key(heavy: HeavyKeys, key: int) -> int:
    """Count a key (a number from 0 to 2^31 - 1); returns its count."""
    bucket = _find(heavy, key)
    at = heavy.table[bucket]
    if at < 0:
        at = 0
        if heavy.bucket[0] >= 0:
            _release(heavy, heavy.bucket[0])
            bucket = _find(heavy, key)
        _place(heavy, at, key, bucket)
    count = heavy.counts[at]
    last = _last_of_equals(heavy.counts, at)
    _swap(heavy, at, last)
    heavy.counts[last] = count + 1
    return count + 1


@kernel
def _find(heavy: HeavyKeys, key: int) -> int:
    """The bucket that holds the key, or the free one where it belongs."""
    mask = len(heavy.table) - 1
    bucket = _home(key, mask)
    while heavy.table[bucket] >= 0 and heavy.key[heavy.table[bucket]] != key:
        bucket = (bucket + 1) & mask
    return bucket


@kernel
def _home(key: int, mask: int) -> int:
    return ((key * 1103515245 + 12345) & 0x7FFFFFFF) >> 7 & mask


@kernel
def _release(heavy: HeavyKeys, bucket: int) -> None:
    """Free a bucket; entries that had been pushed past it move up, so that searches still find them."""
    mask = len(heavy.table) - 1
    heavy.table[bucket] = -1
    probe = (bucket + 1) & mask
    while heavy.table[probe] >= 0:
        at = heavy.table[probe]
        home = _home(heavy.key[at], mask)
        if ((probe - home) & mask) >= ((probe - bucket) & mask):
            heavy.table[bucket] = at
            heavy.bucket[at] = bucket
            heavy.table[probe] = -1
            bucket = probe
        probe = (probe + 1) & mask


@kernel
def _place(heavy: HeavyKeys, at: int, key: int, bucket: int) -> None:
    heavy.key[at] = key
    heavy.bucket[at] = bucket
    if bucket >= 0:
        heavy.table[bucket] = at


@kernel
def _last_of_equals(counts: list[int], at: int) -> int:
    low = at
    high = len(counts)
    while high - low > 1:
        middle = (low + high) // 2
        if counts[middle] == counts[at]:
            low = middle
        else:
            high = middle
    return low


@kernel
def _swap(heavy: HeavyKeys, a: int, b: int) -> None:
    """Exchange two counters of the same count."""
    key = heavy.key[a]
    bucket = heavy.bucket[a]
    _place(heavy, a, heavy.key[b], heavy.bucket[b])
    _place(heavy, b, key, bucket)
