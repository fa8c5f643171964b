"""The nodes of a sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.sandbox import KafkaListener, Node, Role, SandboxSpec
from kafkabal.sandbox.node_layout import lay_out_nodes

BROKER, CONTROLLER, BOTH = Role.BROKER, Role.CONTROLLER, Role.BROKER_AND_CONTROLLER


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"brokers": 2}, {1: BOTH, 2: BROKER}),
        ({"brokers": 2, "zookeeper": True}, {0: Role.ZOOKEEPER, 1: BROKER, 2: BROKER}),
        ({"brokers": 1, "controllers": 3}, {101: CONTROLLER, 102: CONTROLLER, 103: CONTROLLER, 1: BROKER}),
    ],
)
def test_roles(settings: dict[str, Any], expected: dict[int, Role]) -> None:
    """Nodes that others wait for come first; without separate controllers the first broker is a controller too."""
    assert {node_id: role for node_id, role, _rack, _listeners in lay_out_nodes(SandboxSpec(**settings))} == expected
    assert [node_id for node_id, *_ in lay_out_nodes(SandboxSpec(**settings))] == list(expected)


def test_listeners() -> None:
    """Every broker has the plain listener and the requested ones, a controller only the controller listener."""
    spec = SandboxSpec(brokers=2, listeners=(KafkaListener(name="TLS", protocol="SSL"),))
    listeners = {node_id: names for node_id, _role, _rack, names in lay_out_nodes(spec)}
    assert listeners == {1: ("PLAINTEXT", "TLS", "CONTROLLER"), 2: ("PLAINTEXT", "TLS")}


@pytest.mark.parametrize(
    ("node", "title", "folder", "port"),
    [
        (Node(3, BROKER, "r0", {"TLS": 2, "PLAINTEXT": 1}), "broker 3", "broker-3", 1),
        (Node(1, BOTH, "r0", {"PLAINTEXT": 1, "CONTROLLER": 2}), "broker 1", "broker-1", 1),
        (Node(101, CONTROLLER, None, {"CONTROLLER": 7}), "controller 101", "controller-101", 7),
        (Node(0, Role.ZOOKEEPER, None, {"ZOOKEEPER": 9}), "zookeeper", "zookeeper", 9),
    ],
)
def test_names_and_ports(node: Node, title: str, folder: str, port: int) -> None:
    """People, folders and the sandbox itself know a node by these names and ports."""
    assert (node.title, node.folder_name, node.main_port) == (title, folder, port)
