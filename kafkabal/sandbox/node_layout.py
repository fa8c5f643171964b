"""The nodes of a sandbox: what each of them is, and where it keeps what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from kafkabal.sandbox.sandbox_spec import CONTROLLER_LISTENER, INNER_LISTENER, SandboxSpec

ZOOKEEPER_ID: Final = 0
ZOOKEEPER_LISTENER: Final = "ZOOKEEPER"
_FIRST_CONTROLLER_ID: Final = 101
"""Above the id of any broker: a sandbox has 50 at most."""


class Role(StrEnum):
    """What a node does."""

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
        """Whether it is part of the quorum of controllers."""
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
        """How people call it: ``broker 3``, ``controller 101``, ``zookeeper``."""
        if self.role is Role.ZOOKEEPER:
            return "zookeeper"
        return f"{'broker' if self.role.serves_clients else 'controller'} {self.id}"

    @property
    def folder_name(self) -> str:
        """Name of its folder in the sandbox's."""
        return self.title.replace(" ", "-")

    @property
    def main_port(self) -> int:
        """The port that it is reached on by the sandbox itself."""
        if self.role.serves_clients:
            return self.ports[INNER_LISTENER]
        return next(iter(self.ports.values()))


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Where a node keeps what, all below one folder."""

    folder: Path

    @property
    def settings(self) -> Path:
        """``server.properties`` or ``zoo.cfg``."""
        return self.folder / "node.properties"

    @property
    def log(self) -> Path:
        """All that the process has printed, over all its starts."""
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
        """Name of the signal that the sandbox ended the process with, if it did."""
        return self.folder / "last-signal"

    def log_dir(self, index: int) -> Path:
        """Log dir number ``index``, from 0."""
        return self.folder / f"d{index}"


def lay_out_nodes(spec: SandboxSpec) -> Iterator[tuple[int, Role, str | None, tuple[str, ...]]]:
    """Yield id, role, rack and the names of the listeners of every node, those first that others wait for."""
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
