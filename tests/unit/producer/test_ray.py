"""Writing a Ray Data data set."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.producer import ray


def _write(schema: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Write a data set of this schema; returns how many sinks it was given."""
    for name in ("ray", "ray.data"):  # an extra that is not installed here
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["ray.data"], "Datasink", object, raising=False)
    monkeypatch.setattr(ray, "KafkaCluster", lambda _: nullcontext())
    monkeypatch.setattr(ray, "topic_facts", lambda _, topic: topic)
    sinks: list[Any] = []
    dataset: Any = SimpleNamespace(schema=lambda: schema, write_datasink=lambda sink, concurrency: sinks.append(sink))
    ray.write_topic(dataset, "t", bootstrap_servers="nowhere:9092")
    return len(sinks)


def test_a_data_set_without_rows_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no schema, and so no column that could be missing; one with other columns is refused."""
    assert _write(None, monkeypatch) == 1
    with pytest.raises(UsageError, match="lacks column value"):
        _write(SimpleNamespace(names=["image"]), monkeypatch)
