"""The settings of each node of a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkabal.sandbox.free_ports import LOOPBACK
from kafkabal.sandbox.node_layout import ZOOKEEPER_LISTENER, Node, NodeFiles, Role
from kafkabal.sandbox.sandbox_record import SandboxRecord
from kafkabal.sandbox.sandbox_spec import CONTROLLER_LISTENER, INNER_LISTENER, SandboxSpec

# Keeps an idle broker small: the log cleaner's buffer alone takes 128 MiB of heap by default.
_SMALL_BROKER: Final = {
    "background.threads": "4",
    "log.cleaner.dedupe.buffer.size": str(4 * 2**20),
    "num.io.threads": "4",
    "num.network.threads": "2",
}
# Kafka creates 50 partitions of an internal topic when its first user appears: in a sandbox of three brokers these take
# more processor time than half of its start, and five seconds on a busy machine.
_INTERNAL_PARTITIONS: Final = "6"
# By default a ZooKeeper client gives up after 18 s, which may be too short for a broker started at the same time.
_PATIENT_BROKER: Final = {"zookeeper.connection.timeout.ms": "60000", "zookeeper.session.timeout.ms": "9000"}

# In this order: starts an escape; Java skips it before a value; ends a key.
_SPECIAL: Final = "\\"
_SPECIAL_IN_FRONT: Final = "\\ "
_SPECIAL_IN_KEYS: Final = "\\ =:#!"


def node_properties(record: SandboxRecord, node: Node, files: NodeFiles) -> dict[str, str]:
    """The settings of a node: the sandbox's own, then the user's for all nodes, then those for this one."""
    if node.role is Role.ZOOKEEPER:
        return _zookeeper(node, files)
    if node.role is Role.CONTROLLER:
        base = {**_kraft(record, node), "listeners": _listeners(node), "log.dirs": str(files.metadata)}
    elif record.spec.zookeeper:
        base = {**_broker(record.spec, node, files), **_zookeeper_client(record), "broker.id": str(node.id)}
    else:
        base = {
            **_broker(record.spec, node, files),
            **_kraft(record, node),
            "metadata.log.dir": str(files.metadata),
        }
    return {**base, **record.spec.properties, **record.spec.broker_properties.get(node.id, {})}


def as_properties_file(properties: Mapping[str, str]) -> bytes:
    """Settings in Java's properties format."""
    lines = (
        f"{_escaped(key, _SPECIAL_IN_KEYS)}={_escaped(value[:1], _SPECIAL_IN_FRONT)}{_escaped(value[1:], _SPECIAL)}\n"
        for key, value in properties.items()
    )
    return "".join(lines).encode("ascii")


def _broker(spec: SandboxSpec, node: Node, files: NodeFiles) -> dict[str, str]:
    rack = {"broker.rack": node.rack} if node.rack else {}
    return {
        "listeners": _listeners(node),
        "advertised.listeners": _advertised_listeners(spec, node),
        "listener.security.protocol.map": _protocols(spec),
        "inter.broker.listener.name": INNER_LISTENER,
        "log.dirs": ",".join(str(files.log_dir(index)) for index in range(spec.log_dirs)),
        **rack,
        **_internal_topics(spec),
        **_SMALL_BROKER,
    }


def _internal_topics(spec: SandboxSpec) -> dict[str, str]:
    replicas = str(spec.internal_replication_factor)
    in_sync = str(min(2, spec.brokers))
    shared = {
        "share.coordinator.state.topic.num.partitions": _INTERNAL_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }
    return {
        "offsets.topic.num.partitions": _INTERNAL_PARTITIONS,
        "transaction.state.log.num.partitions": _INTERNAL_PARTITIONS,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
        **({} if spec.zookeeper else shared),
    }


def _kraft(record: SandboxRecord, node: Node) -> dict[str, str]:
    voters = ",".join(f"{n.id}@{LOOPBACK}:{n.ports[CONTROLLER_LISTENER]}" for n in record.nodes if n.role.votes)
    return {
        "process.roles": node.role.replace("+", ","),
        "node.id": str(node.id),
        "controller.quorum.voters": voters,
        "controller.listener.names": CONTROLLER_LISTENER,
        "listener.security.protocol.map": f"{_protocols(record.spec)},{CONTROLLER_LISTENER}:PLAINTEXT",
    }


def _zookeeper_client(record: SandboxRecord) -> dict[str, str]:
    server = next(node for node in record.nodes if node.role is Role.ZOOKEEPER)
    return {"zookeeper.connect": f"{LOOPBACK}:{server.main_port}", **_PATIENT_BROKER}


def _zookeeper(node: Node, files: NodeFiles) -> dict[str, str]:
    return {
        "dataDir": str(files.metadata),
        "clientPortAddress": LOOPBACK,
        "clientPort": str(node.ports[ZOOKEEPER_LISTENER]),
        "tickTime": "1000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
    }


def _listeners(node: Node) -> str:
    return ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in node.ports.items())


def _advertised_listeners(spec: SandboxSpec, node: Node) -> str:
    advertised = {listener.name: listener.advertised_ports.get(node.id) for listener in spec.listeners}
    return ",".join(
        f"{name}://{LOOPBACK}:{advertised.get(name) or port}"
        for name, port in node.ports.items()
        if name != CONTROLLER_LISTENER
    )


def _protocols(spec: SandboxSpec) -> str:
    inner = f"{INNER_LISTENER}:PLAINTEXT"
    return ",".join([inner, *(f"{listener.name}:{listener.protocol}" for listener in spec.listeners)])


def _escaped(text: str, special: str) -> str:
    """Escape the given special characters, and all that is not printable ASCII."""
    return "".join(sign if " " <= sign <= "~" and sign not in special else _utf16_escape(sign) for sign in text)


def _utf16_escape(sign: str) -> str:
    units = sign.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
