"""``kafkabal sandbox``: run a real Apache Kafka cluster on this machine."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.commands.sandbox_shape import ShapeOptions
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import command_settings, names_cluster
from kafkabal.cli.framework.options_without_effect import refuse_beside
from kafkabal.cli.framework.shared_options import Forms, OutputOptions
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.errors import InputFileError, InterruptedRunError, KafkabalError, UsageError
from kafkabal.printable import shell_word
from kafkabal.units import parse_positive_duration, parse_whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kafkabal.sandbox import Node, Sandbox

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
        typer.Option("--timeout", metavar="TIME", parser=parse_positive_duration, help="Time to wait."),
    ] = 90.0,
) -> None:
    """Start a cluster, or the stopped nodes of one.

    The first start downloads Apache Kafka as ordinary packages and verifies their checksums; later starts need no
    network. While the sandbox is up, commands use it unless an option, the environment or a profile names a cluster.

    Examples:

      kafkabal sandbox up --brokers 6 --racks 3

      kafkabal sandbox up --name old --zookeeper

      kafkabal sandbox up --property auto.create.topics.enable=false --broker-property 2:num.io.threads=1
    """
    from kafkabal.reporting.sandbox_report import sandbox_report
    from kafkabal.sandbox import WaitLimit, cache_of, home_of
    from kafkabal.sandbox import up as bring_up

    if shape.heap is not None:
        refuse_beside("--heap", ["--replicas"], context)
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
    show_report(sandbox_report("sandbox up", [sandbox]), output, context, has_changed=True)
    _say_how_to_select(sandbox.profile_path, context)


def _say_how_to_select(profile: "Path", context: CommandContext) -> None:
    """Say that other commands do not use the sandbox, if a profile or the environment names another cluster."""
    # an invalid profiles file is reported by the commands that need it: the sandbox is up
    with suppress(KafkabalError):
        settings = command_settings({}, context)
        if (settings.profile is None or settings.profile.path != profile) and names_cluster(settings):
            other = "the environment" if settings.profile is None else f"the profile {settings.profile.name}"
            context.say(f"{other} names another cluster: to use the sandbox, add --profile {shell_word(str(profile))}")


def status(
    context: CommandContext,
    output: ReportOptions,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Sandbox name. [default: all]")] = None,
) -> None:
    """Show node status and why a node exited."""
    from kafkabal.reporting.sandbox_report import sandbox_report
    from kafkabal.sandbox import home_of, list_sandboxes

    damaged: list[InputFileError] = []
    home = home_of(context.environ, context.state_dir)
    sandboxes = list_sandboxes(home=home, on_damaged=damaged.append) if name is None else [_find(context, name)]
    show_report(sandbox_report("sandbox status", sandboxes, damaged=damaged), output, context)


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
    _say_ended("killed", _find(context, name).kill(*nodes), context)


def pause(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Pause nodes with SIGSTOP, like a hung machine."""
    from kafkabal.sandbox import titles

    paused = _find(context, name).pause(*nodes)
    context.say(f"paused {titles(paused)}")


def stop(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Shut nodes down gracefully (SIGTERM)."""
    _say_ended("stopped", _find(context, name).stop(*nodes), context)


def start(context: CommandContext, nodes: Nodes, name: Name = _DEFAULT_NAME) -> None:
    """Start or resume nodes and wait until they respond."""
    _find(context, name).start(*nodes, on_step=context.say)


def down(context: CommandContext, name: Name = _DEFAULT_NAME) -> None:
    """Remove a sandbox: its processes and files.

    Acts at once, without a prompt.
    """
    from kafkabal.sandbox import home_of, take_down

    take_down(name, home=home_of(context.environ, context.state_dir))
    context.say(f"removed sandbox {name}")


def _say_ended(what: str, nodes: "Sequence[Node]", context: CommandContext) -> None:
    from kafkabal.sandbox import titles

    context.say(f"{what} {titles(nodes)}" if nodes else "nothing to do: no such node is running")


def _find(context: CommandContext, name: str) -> "Sandbox":
    from kafkabal.sandbox import cache_of, find_sandbox, home_of

    home = home_of(context.environ, context.state_dir)
    return find_sandbox(name, home=home, cache_folder=cache_of(context.cache_dir))
