"""Splitting streams into lists."""

from __future__ import annotations

from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.chunks import chunked


@given(st.lists(st.integers()), st.integers(1, 9))
def test_all_items_are_kept_and_only_the_last_list_is_short(items: list[int], size: int) -> None:
    """Joined again the lists equal the input; all but the last are full, and none is empty."""
    chunks = list(chunked(items, size))
    assert [item for chunk in chunks for item in chunk] == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(chunks)


def test_an_iterator_is_not_read_ahead() -> None:
    """An endless stream is split lazily, one list at a time."""
    stream = count()
    assert list(islice(chunked(stream, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(stream) == 6


@pytest.mark.parametrize("items", [[], ()])
def test_an_empty_stream_gives_no_list(items: list[int]) -> None:
    """An empty stream gives no list, not an empty one."""
    assert list(chunked(items, 2)) == []
