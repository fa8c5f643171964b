"""What is known of a batch before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.producer.split_produce_batch import plain_sizes, value_sizes


@pytest.mark.parametrize(
    ("messages", "plain", "sizes"),
    [
        ([{"value": b"abc"}, {"value": "de"}], [3, 2], [3, 2]),
        ([{"value": b"abc"}, {"value": None}], None, [3, 0]),
        ([{"value": b"abc"}, {"value": b"d", "callback": print}], None, [3, 1]),
        ([{"value": b"abc", "partition": 1}], None, [3]),
        ([{"partition": 1}], None, [0]),
        ([], None, []),
        ([{"value": 7}], None, None),
        ([{"value": [b"x"]}], None, None),
        (({"value": b"abc"},), None, None),
        (["abc"], None, None),
    ],
)
def test_batches_are_measured(messages: Any, plain: list[int] | None, sizes: list[int] | None) -> None:
    """The sizes of plain values are known at once, those of all valid records on demand, and none of invalid ones."""
    assert plain_sizes(messages) == plain
    assert value_sizes(messages) == sizes
