"""``kafkabal sandbox``: run a real Apache Kafka cluster on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kafkabal.atomic_files import parse_path
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Forms, OutputOptions
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.errors import InterruptedRunError, UsageError
from kafkabal.units import parse_bytes, parse_some_time, parse_whole_number

if TYPE_CHECKING:
    from kafkabal.sandbox import KafkaListener, Sandbox, SandboxSpec

_SECTION = "Shape"
_DEFAULT_NAME: Final = "default"
_ZOOKEEPER: Final = "zookeeper"
_ZOOKEEPER_ID: Final = 0


def parse_node(text: str) -> int:
    """Read the id of a node, or ``zookeeper``.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if text == _ZOOKEEPER:
        return _ZOOKEEPER_ID
    try:
        return parse_whole_number(text, 0, 2**31 - 1)
    except UsageError:
        hint = "give a broker id, a controller id, or zookeeper"
        raise UsageError(f"not a node: {text[:40]!r}", hint=hint) from None


def parse_assignment(text: str) -> tuple[str, str]:
    """Read ``KEY=VALUE``.

    Raises
    ------
    UsageError
        If the key is missing.
    """
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(f"invalid setting: {text!r}", hint="write it like num.io.threads=8")
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
    path = parse_path(text)
    if not (path.parent if path.name == "*" else path).exists():
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

    name, protocol = parse_assignment(text)
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
            parser=parse_bytes,
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
        typer.Option("--kafka-version", metavar="VERSION", help="Kafka version.", rich_help_panel=_SECTION),
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
            "--heap", metavar="SIZE", parser=parse_bytes, help="Heap size of each broker.", rich_help_panel=_SECTION
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
            "properties": dict(self.properties or ()) or None,
            "broker_properties": self._broker_properties() or None,
            "class_path": tuple(path.absolute() for path in self.class_path or ()) or None,
        }
        shape: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        return SandboxSpec(**shape) if shape else None

    def _broker_properties(self) -> dict[int, dict[str, str]]:
        settings: dict[int, dict[str, str]] = {}
        for broker, (key, value) in self.broker_properties or ():
            settings.setdefault(broker, {})[key] = value
        return settings


Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Sandbox name.")]
Nodes = Annotated[
    list[int], typer.Argument(metavar="NODE...", parser=parse_node, help="Broker or controller ids, or zookeeper.")
]
ReportOptions = Annotated[OutputOptions, Forms("table", "json", "yaml")]


def up(
    context: CommandContext,
    shape: ShapeOptions,
    output: ReportOptions,
    name: Name = _DEFAULT_NAME,
    timeout_s: Annotated[
        float,
        typer.Option("--timeout", metavar="TIME", parser=parse_some_time, help="Time to wait. [default: 90s]"),
    ] = 90.0,
) -> None:
    """Start a cluster, or the stopped nodes of one.

    The first start downloads Apache Kafka as ordinary packages and verifies their checksums; later starts need no
    network. While the sandbox is up, commands without a cluster option use it.

    Examples:

      kafkabal sandbox up --brokers 6 --racks 3

      kafkabal sandbox up --name old --zookeeper

      kafkabal sandbox up --property auto.create.topics.enable=false --broker-property 2:num.io.threads=1
    """
    from kafkabal.reporting.sandbox_report import sandbox_report
    from kafkabal.sandbox import WaitLimit, cache_of, home_of
    from kafkabal.sandbox import up as bring_up

    started_s = context.monotonic()
    try:
        sandbox = bring_up(
            shape.spec(),
            name,
            home=home_of(context.environ, context.state_dir),
            cache_folder=cache_of(context.cache_dir),
            wait_limit=WaitLimit(deadline_s=timeout_s, clock=context.monotonic, sleep=context.sleep),
            on_step=context.say,
        )
    except KeyboardInterrupt as stopped:
        raise InterruptedRunError(
            f"interrupted: sandbox {name} is not up",
            terminated=isinstance(stopped, Terminated),
            hint=f"start it with the same command, or remove it with 'kafkabal sandbox down --name {name}'",
        ) from stopped
    context.say(f"up after {context.monotonic() - started_s:.1f} s")
    show_report(sandbox_report("sandbox up", [sandbox]), output, context)


def status(
    context: CommandContext,
    output: ReportOptions,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Sandbox name. [default: all]")] = None,
) -> None:
    """Show node status and why a node exited."""
    from kafkabal.reporting.sandbox_report import sandbox_report
    from kafkabal.sandbox import home_of, list_sandboxes

    home = home_of(context.environ, context.state_dir)
    sandboxes = list_sandboxes(home=home) if name is None else [_find(context, name)]
    show_report(sandbox_report("sandbox status", sandboxes), output, context)


def logs(
    context: CommandContext,
    node: Annotated[int, typer.Argument(metavar="NODE", parser=parse_node, help="Node, as named by 'sandbox status'.")],
    name: Name = _DEFAULT_NAME,
    lines: Annotated[int, typer.Option("-n", "--lines", metavar="N", min=0, help="Number of lines.")] = 50,
) -> None:
    """Show the last log lines of a node."""
    from kafkabal.sandbox import last_lines

    log = _find(context, name).log(node)
    context.detail(str(log))
    context.stdout.writelines(f"{line}\n" for line in last_lines(log, lines))


def kill(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Kill nodes with SIGKILL, like a crash."""
    _find(context, name).kill(*nodes)


def pause(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Pause nodes with SIGSTOP, like a hung machine."""
    _find(context, name).pause(*nodes)


def stop(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Shut nodes down gracefully (SIGTERM)."""
    _find(context, name).stop(*nodes)


def start(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Start or continue nodes and wait until they respond."""
    _find(context, name).start(*nodes, on_step=context.say)


def down(context: CommandContext, name: Name = _DEFAULT_NAME) -> None:
    """Remove a sandbox: its processes and files."""
    from kafkabal.sandbox import home_of, take_down

    take_down(name, home=home_of(context.environ, context.state_dir))
    context.say(f"removed sandbox {name}")


def _find(context: CommandContext, name: str) -> "Sandbox":
    from kafkabal.sandbox import cache_of, find_sandbox, home_of

    home = home_of(context.environ, context.state_dir)
    return find_sandbox(name, home=home, cache_folder=cache_of(context.cache_dir))
