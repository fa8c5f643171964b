"""What is known of a batch before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.producer.split_produce_batch import plain_bytes, value_sizes


@pytest.mark.parametrize(
    ("messages", "n_bytes", "sizes"),
    [
        ([{"value": b"abc"}, {"value": "de"}], 5, [3, 2]),
        ([{"value": b"abc"}, {"value": None}], None, [3, 0]),
        ([{"value": b"abc"}, {"value": b"d", "callback": print}], None, [3, 1]),
        ([{"value": b"abc", "partition": 1}], None, [3]),
        ([{"partition": 1}], None, [0]),
        ([], None, []),
        ([{"value": 7}], None, None),
        (({"value": b"abc"},), None, None),
        (["abc"], None, None),
    ],
)
def test_batches_are_measured(messages: Any, n_bytes: int | None, sizes: list[int] | None) -> None:
    """The bytes of plain values are known at once, the size of each of all valid records, and nothing of invalid
    ones."""
    assert plain_bytes(messages) == n_bytes
    assert value_sizes(messages) == sizes
