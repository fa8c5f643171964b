"""Options of ``kafkabal sandbox up`` that say what cluster to run: its size, versions and settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkabal.atomic_files import parse_path
from kafkabal.cli.framework.repeated_options import each_key_once
from kafkabal.errors import UsageError
from kafkabal.units import parse_bytes, parse_positive_bytes, parse_whole_number

if TYPE_CHECKING:
    from kafkabal.sandbox import KafkaListener, SandboxSpec

_SECTION = "Shape"


def parse_assignment(text: str, what: str = "setting", example: str = "num.io.threads=8") -> tuple[str, str]:
    """Read ``KEY=VALUE``; errors say what it should have been, and show an example.

    Raises
    ------
    UsageError
        If the key is missing.
    """
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(f"invalid {what}: {text!r}", hint=f"write it like {example}")
    return key.strip(), value.strip()


def parse_broker_assignment(text: str) -> tuple[int, tuple[str, str]]:
    """Read ``ID:KEY=VALUE``.

    Raises
    ------
    UsageError
        If it is no such setting.
    """
    broker, colon, setting = text.partition(":")
    try:
        number = parse_whole_number(broker if colon else "", 0, 2**31 - 1)
    except UsageError:
        raise UsageError(f"invalid broker setting: {text!r}", hint="write it like 3:num.io.threads=8") from None
    return number, parse_assignment(setting)


def parse_class_path(text: str) -> Path:
    """Read an entry of a class path: a jar or a folder that is there, or all jars of a folder as ``FOLDER/*``.

    Raises
    ------
    UsageError
        If there is none.
    """
    from kafkabal.input_files import exists

    path = parse_path(text)
    if not exists(path.parent if path.name == "*" else path):
        raise UsageError(f"no such file or folder: {text}")
    return path


def parse_listener(text: str) -> "KafkaListener":
    """Read ``NAME=PROTOCOL``.

    Raises
    ------
    UsageError
        If it is no such listener.
    """
    from kafkabal.sandbox import KafkaListener

    name, protocol = parse_assignment(text, "listener", "TLS=SSL")
    return KafkaListener(name=name, protocol=protocol)  # type: ignore[arg-type]  # it checks its protocol itself


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOptions:
    """Size and settings of a sandbox; None means the default."""

    brokers: Annotated[
        int | None,
        typer.Option("--brokers", metavar="N", help="Number of brokers. [default: 3]", rich_help_panel=_SECTION),
    ] = None
    racks: Annotated[
        int | None,
        typer.Option(
            "--racks", metavar="N", help="Number of racks, 0 for none. [default: up to 3]", rich_help_panel=_SECTION
        ),
    ] = None
    log_dirs: Annotated[
        int | None,
        typer.Option("--log-dirs", metavar="N", help="Log dirs per broker. [default: 2]", rich_help_panel=_SECTION),
    ] = None
    capacity: Annotated[
        int | None,
        typer.Option(
            "--capacity",
            metavar="SIZE",
            parser=parse_positive_bytes,
            help="Reported size of each log dir. [default: 10GiB]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    controllers: Annotated[
        int | None,
        typer.Option(
            "--controllers",
            metavar="N",
            help="Number of dedicated controllers; 1 means broker 1 is the controller. [default: 1]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    zookeeper: Annotated[
        bool,
        typer.Option(
            "--zookeeper", help="Use ZooKeeper, with the last Kafka version that supports it.", rich_help_panel=_SECTION
        ),
    ] = False
    kafka_version: Annotated[
        str | None,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Kafka version. [default: 4.1.2; with --zookeeper: 3.9.2]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    expected_replicas: Annotated[
        int | None,
        typer.Option(
            "--replicas",
            metavar="N",
            help="Number of replicas to size each broker's heap for. [default: 1000]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    heap: Annotated[
        int | None,
        typer.Option(
            "--heap",
            metavar="SIZE",
            parser=parse_bytes,
            help="Heap size of each broker. [default: by --replicas]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    properties: Annotated[
        list[tuple[str, str]] | None,
        typer.Option(
            "--property",
            metavar="KEY=VALUE",
            parser=parse_assignment,
            help="Setting for all nodes. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    broker_properties: Annotated[
        list[tuple[int, tuple[str, str]]] | None,
        typer.Option(
            "--broker-property",
            metavar="ID:KEY=VALUE",
            parser=parse_broker_assignment,
            help="Setting for one broker. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    listeners: Annotated[
        list[Any] | None,
        typer.Option(
            "--listener",
            metavar="NAME=PROTOCOL",
            parser=parse_listener,
            help="Additional listener, such as TLS=SSL. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    class_path: Annotated[
        list[Path] | None,
        typer.Option(
            "--class-path",
            metavar="PATH",
            parser=parse_class_path,
            help="Jar for the class path of all nodes. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None

    def spec(self) -> "SandboxSpec | None":
        """The requested sandbox, None if no option was given.

        Raises
        ------
        UsageError
            If options contradict each other.
        """
        from kafkabal.input_files import absolute_path
        from kafkabal.sandbox import SandboxSpec

        given = {
            "brokers": self.brokers,
            "racks": self.racks,
            "log_dirs": self.log_dirs,
            "controllers": self.controllers,
            "zookeeper": self.zookeeper or None,
            "kafka_version": self.kafka_version,
            "log_dir_capacity_bytes": self.capacity,
            "expected_replicas": self.expected_replicas,
            "heap_bytes": self.heap,
            "listeners": tuple(self.listeners or ()) or None,
            "properties": each_key_once("--property", self.properties or ()) or None,
            "broker_properties": self._broker_properties() or None,
            "class_path": tuple(absolute_path(path) for path in self.class_path or ()) or None,
        }
        shape: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        return SandboxSpec(**shape) if shape else None

    def _broker_properties(self) -> dict[int, dict[str, str]]:
        given = self.broker_properties or ()
        each_key_once("--broker-property", ((f"{broker}:{key}", value) for broker, (key, value) in given))
        brokers = {broker for broker, _ in given}
        return {broker: dict(assignment for owner, assignment in given if owner == broker) for broker in brokers}
