"""Routing options among the settings of a client."""

from __future__ import annotations

import pytest

from kafkabal.errors import UsageError
from kafkabal.producer.producer_options import split_options


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("kafkabal.polcy", "did you mean: kafkabal.policy"),
        ("kafkabal.refreshms", "did you mean: kafkabal.refresh.ms"),
        ("kafkabal.xyzzy", "choose from: kafkabal.any.key.order, kafkabal.first.view.ms, kafkabal.metrics_cb"),
    ],
)
def test_an_unknown_key_gets_those_like_it_as_they_are_written(key: str, hint: str) -> None:
    """The prefix, which all keys share, makes none alike, and is part of the hint."""
    with pytest.raises(UsageError, match=f"unknown setting: {key}") as refused:
        split_options({key: 1})
    assert (refused.value.hint or "").startswith(hint)
