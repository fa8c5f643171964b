"""The settings that nodes start with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.config.java_properties import read_properties
from kafkabal.sandbox import KafkaListener, Node, SandboxSpec
from kafkabal.sandbox.node_layout import NodeFiles, lay_out_nodes
from kafkabal.sandbox.sandbox_record import SandboxRecord
from kafkabal.sandbox.server_properties import as_properties_file, node_properties


def _settings_of(node_id: int, **spec: Any) -> dict[str, str]:
    ports = iter(range(9000, 9100))
    nodes = tuple(
        Node(number, role, rack, {name: next(ports) for name in listeners})
        for number, role, rack, listeners in lay_out_nodes(SandboxSpec(**spec))
    )
    record = SandboxRecord("test", SandboxSpec(**spec), "id", 0.0, nodes)
    node = record.node(node_id)
    return node_properties(record, node, NodeFiles(Path("/s") / node.folder_name))


@pytest.mark.parametrize(
    ("node_id", "spec", "expected"),
    [
        (
            1,
            {"brokers": 2},
            {
                "process.roles": "broker,controller",
                "node.id": "1",
                "broker.rack": "r0",
                "controller.quorum.voters": "1@127.0.0.1:9001",
                "listeners": "PLAINTEXT://127.0.0.1:9000,CONTROLLER://127.0.0.1:9001",
                "advertised.listeners": "PLAINTEXT://127.0.0.1:9000",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "log.dirs": "/s/broker-1/d0,/s/broker-1/d1",
                "metadata.log.dir": "/s/broker-1/metadata",
            },
        ),
        (
            102,
            {"brokers": 1, "controllers": 3},
            {
                "process.roles": "controller",
                "controller.quorum.voters": "101@127.0.0.1:9000,102@127.0.0.1:9001,103@127.0.0.1:9002",
                "listeners": "CONTROLLER://127.0.0.1:9001",
                "log.dirs": "/s/controller-102/metadata",
                "broker.rack": None,
            },
        ),
        (
            2,
            {"brokers": 2, "zookeeper": True},
            {
                "broker.id": "2",
                "zookeeper.connect": "127.0.0.1:9000",
                "listeners": "PLAINTEXT://127.0.0.1:9002",
                "process.roles": None,
                "share.coordinator.state.topic.min.isr": None,
            },
        ),
        (0, {"brokers": 1, "zookeeper": True}, {"clientPort": "9000", "dataDir": "/s/zookeeper/metadata"}),
        (
            1,
            {"brokers": 1, "listeners": (KafkaListener(name="TLS", protocol="SSL", advertised_ports={1: 77}),)},
            {
                "advertised.listeners": "PLAINTEXT://127.0.0.1:9000,TLS://127.0.0.1:77",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT",
            },
        ),
    ],
)
def test_settings(node_id: int, spec: dict[str, Any], expected: dict[str, str | None]) -> None:
    """Each kind of node gets its identity, addresses and folders; None means a setting that must be absent."""
    settings = _settings_of(node_id, **spec)
    assert {key: settings.get(key) for key in expected} == expected


@pytest.mark.parametrize(("brokers", "factor", "in_sync"), [(1, "1", "1"), (2, "2", "2"), (6, "3", "2")])
def test_internal_topics_survive_a_broker_where_they_can(brokers: int, factor: str, in_sync: str) -> None:
    """Kafka's internal topics have three replicas, or one per broker if there are fewer brokers, and few partitions."""
    settings = _settings_of(1, brokers=brokers)
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert settings[f"{topic}.replication.factor"] == factor
        assert settings[f"{topic}.num.partitions"] == "6"
    assert settings["transaction.state.log.min.isr"] == in_sync


def test_the_users_settings_come_last() -> None:
    """A setting for one broker overrides one for all brokers, which overrides the sandbox's own."""
    spec: dict[str, Any] = {
        "brokers": 2,
        "properties": {"num.io.threads": "5", "x": "all"},
        "broker_properties": {2: {"x": "two"}},
    }
    first, second = _settings_of(1, **spec), _settings_of(2, **spec)
    assert (first["num.io.threads"], first["x"], second["x"]) == ("5", "all", "two")


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(properties=st.dictionaries(_TEXT, _TEXT, max_size=5))
def test_java_reads_back_the_written_values(
    properties: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A reader of Java properties gets back every key and value, whatever their characters."""
    path = tmp_path_factory.mktemp("properties") / "node.properties"
    path.write_bytes(as_properties_file(properties))
    assert {key: node.content for key, node in read_properties(path).items()} == properties


def test_signs_beyond_16_bits_are_written_as_two() -> None:
    """A character beyond 16 bits becomes a surrogate pair, since Java's escapes hold 16 bits."""
    assert as_properties_file({"k": "\U00010000"}) == rb"k=\ud800\udc00" + b"\n"
