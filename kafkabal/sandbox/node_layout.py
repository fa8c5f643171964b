"""The nodes of a sandbox: their roles, listeners and files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from kafkabal.sandbox.sandbox_spec import CONTROLLER_LISTENER, INNER_LISTENER, SandboxSpec

ZOOKEEPER_ID: Final = 0
ZOOKEEPER_LISTENER: Final = "ZOOKEEPER"
_FIRST_CONTROLLER_ID: Final = 101
"""Above any broker id: a sandbox has at most 50 brokers."""


class Role(StrEnum):
    """The role of a node."""

    BROKER = "broker"
    BROKER_AND_CONTROLLER = "broker+controller"
    CONTROLLER = "controller"
    ZOOKEEPER = "zookeeper"

    @property
    def serves_clients(self) -> bool:
        """Whether it is a broker."""
        return self in (Role.BROKER, Role.BROKER_AND_CONTROLLER)

    @property
    def votes(self) -> bool:
        """Whether it belongs to the controller quorum."""
        return self in (Role.CONTROLLER, Role.BROKER_AND_CONTROLLER)


@dataclass(frozen=True, slots=True)
class Node:
    """A process of a sandbox: its id (0 is ZooKeeper), role, rack, and the port of each of its listeners."""

    id: int
    role: Role
    rack: str | None
    ports: Mapping[str, int]

    @property
    def title(self) -> str:
        """How messages call it: ``broker 3``, ``controller 101``, ``zookeeper``."""
        if self.role is Role.ZOOKEEPER:
            return "zookeeper"
        return f"{'broker' if self.role.serves_clients else 'controller'} {self.id}"

    @property
    def folder_name(self) -> str:
        """Name of its folder inside the sandbox's."""
        return self.title.replace(" ", "-")

    @property
    def main_port(self) -> int:
        """The port on which the sandbox itself connects to it."""
        if self.role.serves_clients:
            return self.ports[INNER_LISTENER]
        return next(iter(self.ports.values()))


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Paths of a node's files, all below one folder."""

    folder: Path

    @property
    def settings(self) -> Path:
        """``server.properties`` or ``zoo.cfg``."""
        return self.folder / "node.properties"

    @property
    def log(self) -> Path:
        """The output of the process, over all its starts."""
        return self.folder / "node.log"

    @property
    def scratch(self) -> Path:
        """Temporary files of the process, such as native libraries that Java unpacks."""
        return self.folder / "scratch"

    @property
    def metadata(self) -> Path:
        """The metadata log of KRaft, or the data of ZooKeeper."""
        return self.folder / "metadata"

    @property
    def last_signal(self) -> Path:
        """Holds the name of the signal with which the sandbox ended the process, if it did."""
        return self.folder / "last-signal"

    def log_dir(self, index: int) -> Path:
        """Log dir number ``index``, from 0."""
        return self.folder / f"d{index}"


def lay_out_nodes(spec: SandboxSpec) -> Iterator[tuple[int, Role, str | None, tuple[str, ...]]]:
    """Yield id, role, rack and listener names of every node, in the order of their dependencies."""
    if spec.zookeeper:
        yield ZOOKEEPER_ID, Role.ZOOKEEPER, None, (ZOOKEEPER_LISTENER,)
    own_controllers = spec.controllers if spec.controllers > 1 else 0
    for controller in range(_FIRST_CONTROLLER_ID, _FIRST_CONTROLLER_ID + own_controllers):
        yield controller, Role.CONTROLLER, None, (CONTROLLER_LISTENER,)
    client_listeners = (INNER_LISTENER, *(listener.name for listener in spec.listeners))
    combined = not spec.zookeeper and not own_controllers
    for broker in range(1, spec.brokers + 1):
        if broker == 1 and combined:
            yield broker, Role.BROKER_AND_CONTROLLER, spec.rack_of(broker), (*client_listeners, CONTROLLER_LISTENER)
        else:
            yield broker, Role.BROKER, spec.rack_of(broker), client_listeners
