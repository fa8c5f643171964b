"""Writing a Ray Data data set."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafkabal.errors import UsageError
from kafkabal.producer import ray
from kafkabal.producer.record_sender import RecordSender
from kafkabal.routing.policy_protocol import Context
from kafkabal.routing.registry import load_policy
from tests.unit.producer.conftest import TOPIC, MockCluster


def _write(schema: Any, monkeypatch: pytest.MonkeyPatch, base: type = object) -> list[Any]:
    """Write a data set of this schema; returns the sinks it was given."""
    for name in ("ray", "ray.data"):  # an extra that is not installed here
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["ray.data"], "Datasink", base, raising=False)
    monkeypatch.setattr(ray, "KafkaCluster", lambda _: nullcontext())
    monkeypatch.setattr(ray, "topic_facts", lambda _, topic: topic)
    sinks: list[Any] = []
    dataset: Any = SimpleNamespace(schema=lambda: schema, write_datasink=lambda sink, concurrency: sinks.append(sink))
    ray.write_topic(dataset, "t", bootstrap_servers="nowhere:9092")
    return sinks


def test_a_data_set_without_rows_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no schema, and so no column that could be missing; one with other columns is refused."""
    assert len(_write(None, monkeypatch)) == 1
    with pytest.raises(UsageError, match="lacks column value"):
        _write(SimpleNamespace(names=["image"]), monkeypatch)


def test_small_blocks_share_a_write_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is told to bundle them: by bytes if it can count those, else by rows; it refuses a sink that sets both."""
    by_rows = type("Datasink", (), {"min_rows_per_write": None})
    by_bytes = type("Datasink", (), {"min_rows_per_write": None, "min_bytes_per_write": None})
    sinks = [_write(None, monkeypatch, base)[0] for base in (by_rows, by_bytes)]
    assert [(sink.min_rows_per_write, sink.min_bytes_per_write) for sink in sinks] == [(1000, None), (None, 64 << 20)]


def _records(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The records of a block that is this table."""
    for name in ("ray", "ray.data", "ray.data.block"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    accessor = SimpleNamespace(for_block=lambda block: SimpleNamespace(to_arrow=lambda: block))
    monkeypatch.setattr(sys.modules["ray.data.block"], "BlockAccessor", accessor, raising=False)
    return ray._records([table])


def test_a_null_stays_a_null(mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a value, a key, a header and all headers: a tombstone is one in the topic, and empty ones stay empty."""
    headers = [[{"name": "a", "value": None}, {"name": "b", "value": b""}], None, []]
    table = pa.table({"value": [b"x", b"", None], "key": [None, "", "k"], "headers": headers, "other": [1, 2, 3]})
    policy = load_policy("key-hash").create(Context(seed=1))
    with RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client) as sender:
        assert ray._send(sender, list(_records(table, monkeypatch))) == 3

    arrived = {(m.value(), m.key(), tuple(m.headers() or ())) for m in mock_cluster.messages(3)}

    assert arrived == {(b"x", None, (("a", None), ("b", b""))), (b"", b"", ()), (None, b"k", ())}


@pytest.mark.parametrize("column", ["value", "key"])
def test_other_columns_than_bytes_and_text_are_named(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number has no bytes that could be meant."""
    table = pa.table({"value": [b"x"], column: [7]}) if column == "key" else pa.table({"value": [7]})
    with pytest.raises(UsageError, match=f"column {column}: neither bytes nor text: 7"):
        list(_records(table, monkeypatch))
