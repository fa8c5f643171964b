"""Where a sequence of records is cut into batches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.routing.batches import cuts_by_bytes


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
