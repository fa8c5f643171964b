"""What is known of a batch before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.producer.split_produce_batch import value_sizes


@pytest.mark.parametrize(
    ("messages", "sizes"),
    [
        ([{"value": b"abc"}, {"value": "de"}], [3, 2]),
        ([{"value": b"abc"}, {"value": None}], [3, 0]),
        ([{"value": b"abc"}, {"value": b"d", "callback": print}], [3, 1]),
        ([{"value": b"abc", "partition": 1}], [3]),
        ([{"partition": 1}], [0]),
        ([], []),
        ([{"value": 7}], None),
        ([{"value": [b"x"]}], None),
        (({"value": b"abc"},), None),
        (["abc"], None),
    ],
)
def test_batches_are_measured(messages: Any, sizes: list[int] | None) -> None:
    """The sizes of the values of a valid batch are known, none of an invalid one."""
    assert value_sizes(messages) == sizes
