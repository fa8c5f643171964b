"""The heaviest keys of a stream, counted in bounded memory: Space-Saving.

References
----------
Metwally, Agrawal, El Abbadi, *Efficient Computation of Frequent and Top-k Elements in Data Streams*, ICDT 2005.

Notes
-----
The counters lie sorted by count. A key that is met again swaps places with the last of those that have the same
count, then counts one more, so that the order holds after one binary search. A key without a counter takes over the
first one, which has the least count. An open hash table finds a key's counter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkabal.routing.compiled import kernel

_FREE = -1


class HeavyKeys(NamedTuple):
    """Columns of the counters; kernels take any named tuple that has them."""

    heavy_count: list[int]
    """Ascending; a count is never too low, and too high by at most (records / counters)."""
    heavy_key: list[int]
    heavy_slot: list[int]
    """Place in the hash table of each counter."""
    heavy_table: list[int]
    """Counter in each place of the hash table, -1 where it is free; a power of two of them."""

    @classmethod
    def empty(cls, n_counters: int) -> HeavyKeys:
        """No key counted yet."""
        n_slots = 1 << (4 * n_counters - 1).bit_length()
        return cls([0] * n_counters, [_FREE] * n_counters, [_FREE] * n_counters, [_FREE] * n_slots)


@kernel
def count_key(state: Any, key: int) -> int:
    """Count a key (a number from 0 to 2^31 - 1), and return how often it came."""
    slot = _find(state, key)
    at = state.heavy_table[slot]
    if at < 0:
        at = 0
        if state.heavy_slot[0] >= 0:
            _release(state, state.heavy_slot[0])
            slot = _find(state, key)
        _place(state, at, key, slot)
    count = state.heavy_count[at]
    last = _last_of_equals(state.heavy_count, at)
    _swap(state, at, last)
    state.heavy_count[last] = count + 1
    return count + 1  # type: ignore[no-any-return]


@kernel
def _find(state: Any, key: int) -> int:
    """Slot that holds the key, or the free one where it belongs."""
    mask = len(state.heavy_table) - 1
    slot = _home(key, mask)
    while state.heavy_table[slot] >= 0 and state.heavy_key[state.heavy_table[slot]] != key:
        slot = (slot + 1) & mask
    return slot  # type: ignore[no-any-return]


@kernel
def _home(key: int, mask: int) -> int:
    return ((key * 1103515245 + 12345) & 0x7FFFFFFF) >> 7 & mask


@kernel
def _release(state: Any, slot: int) -> None:
    """Free a slot; those that were pushed past it move up, so that searches still find them."""
    mask = len(state.heavy_table) - 1
    state.heavy_table[slot] = -1
    probe = (slot + 1) & mask
    while state.heavy_table[probe] >= 0:
        at = state.heavy_table[probe]
        home = _home(state.heavy_key[at], mask)
        if ((probe - home) & mask) >= ((probe - slot) & mask):
            state.heavy_table[slot] = at
            state.heavy_slot[at] = slot
            state.heavy_table[probe] = -1
            slot = probe
        probe = (probe + 1) & mask


@kernel
def _place(state: Any, at: int, key: int, slot: int) -> None:
    state.heavy_key[at] = key
    state.heavy_slot[at] = slot
    if slot >= 0:
        state.heavy_table[slot] = at


@kernel
def _last_of_equals(counts: Any, at: int) -> int:
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
def _swap(state: Any, a: int, b: int) -> None:
    """Exchange two counters of the same count."""
    key = state.heavy_key[a]
    slot = state.heavy_slot[a]
    _place(state, a, state.heavy_key[b], state.heavy_slot[b])
    _place(state, b, key, slot)
