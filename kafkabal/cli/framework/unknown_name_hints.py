"""Hints for options and commands that do not exist: misspelt ones, and those of Kafka's own scripts and of kcat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafkabal.wording import suggestion

if TYPE_CHECKING:
    import typer

    from kafkabal.cli.framework.command_table import Row

_CLOSE = 0.75
"""Ratio of difflib: two letters in ten may differ. At its default of 0.6, ``--check`` is taken for ``--help``."""
_SAME_OPTION: Final[Mapping[str, tuple[str, ...]]] = {
    "--broker-list": ("--bootstrap-server",),
    "--brokers": ("--bootstrap-server",),
    "--consumer-config": ("--command-config",),
    "--consumer.config": ("--command-config",),
    "--from-beginning": ("--from-start",),
    "--producer-property": ("--producer-config",),
    "--producer.config": ("--command-config",),
    "--replica-alter-log-dirs-throttle": ("--log-dir-throttle",),
    "--topics-to-move-json-file": ("--topics",),
    "-F": ("--command-config",),
    "-X": ("--producer-config", "--command-config"),
    "-t": ("--topic", "--topics"),
}
"""Options of other tools, and ours: the first that a command has."""
_ARGUMENT: Final[Mapping[str, str]] = {"-t": "topic"}
"""Options of other tools, and the argument that is meant."""
_APPLY_PLAN = "'kafkabal rebalance apply PLAN' applies a plan or a reassignment JSON"
_COMPARE_RUN = "'kafkabal rebalance status' compares a run with the cluster"
_LIST_REASSIGNMENTS = "'kafkabal rebalance adopt' lists reassignments in flight"
_MAKE_PLAN = "'kafkabal rebalance plan' makes a plan"
_READ_TOPIC = "'kafkabal read TOPIC --follow' prints the records of a topic"
_SHOW_TOPICS = "'kafkabal inspect --by topic' shows topics"
_TARGET_BROKERS = "all brokers may receive replicas but those of --exclude-brokers"
_OPTION_AS_COMMAND: Final[Mapping[str, str]] = {
    "--describe": _SHOW_TOPICS,
    "--execute": _APPLY_PLAN,
    "--generate": _MAKE_PLAN,
    "--list": _SHOW_TOPICS,
    "--reassignment-json-file": _APPLY_PLAN,
    "--verify": _COMPARE_RUN,
    "-C": _READ_TOPIC,
    "-L": _SHOW_TOPICS,
    "-P": "'kafkabal produce TOPIC SOURCE' sends records to a topic",
    "inspect --watch": "'kafkabal top' follows a cluster in the terminal",
    "plan --broker-list": _TARGET_BROKERS,
    "rebalance --broker-list": _TARGET_BROKERS,
    "rebalance --list": _LIST_REASSIGNMENTS,
}
"""Options of other tools, and the command that does the same; ``COMMAND OPTION`` is what it means in that command."""
_SAME_COMMAND: Final[Mapping[str, str]] = {
    "brokers": "'kafkabal inspect --by broker' shows brokers",
    "consume": _READ_TOPIC,
    "describe": _SHOW_TOPICS,
    "list": _SHOW_TOPICS,
    "log-dirs": "'kafkabal inspect --by log-dir' shows log dirs",
    "partitions": "'kafkabal inspect --by partition' shows partitions",
    "reassign": "'kafkabal rebalance' moves partitions",
    "rebalance execute": _APPLY_PLAN,
    "rebalance generate": _MAKE_PLAN,
    "rebalance list": _LIST_REASSIGNMENTS,
    "rebalance verify": _COMPARE_RUN,
    "topic": _SHOW_TOPICS,
    "topics": _SHOW_TOPICS,
}
"""Commands that people try first, and the one that does the same."""


def option_hint(option: str, ctx: typer.Context | None, near: tuple[str, ...]) -> str | None:
    """The hint for an option that a command does not have; None if nothing fits.

    Parameters
    ----------
    near
        Options of the command that are spelt like it.
    """
    if ctx is None:
        return suggestion(option, near, likeness=_CLOSE, most=1)
    return (
        _OPTION_AS_COMMAND.get(f"{ctx.info_name} {option}")
        or _same_option(option, ctx)
        or _OPTION_AS_COMMAND.get(option)
        or _as_command(option, ctx)
        or _as_argument(option, ctx)
        or suggestion(option, near, likeness=_CLOSE, most=1)
        or (f"options follow the command: {ctx.command_path} COMMAND {option}" if ctx.parent is None else None)
    )


def command_hint(name: str, ctx: typer.Context, rows: Mapping[str, Row]) -> str | None:
    """The hint for a command that a group does not have; None if nothing fits."""
    within = [f"'{ctx.command_path} {group} {name}'" for group, row in rows.items() if name in (row.commands or ())]
    return (
        _SAME_COMMAND.get(name if ctx.parent is None else f"{ctx.info_name} {name}")
        or (f"did you mean: {', '.join(within)}" if within else None)
        or suggestion(name, rows, most=1)
    )


def _same_option(option: str, ctx: typer.Context) -> str | None:
    known = {flag for parameter in ctx.command.params for flag in parameter.opts}
    same = next((ours for ours in _SAME_OPTION.get(option, ()) if ours in known), None)
    return f"did you mean: {same}" if same else None


def _as_command(option: str, ctx: typer.Context) -> str | None:
    """The hint for an option that is a command of the group."""
    name = option.lstrip("-")
    is_command = name in getattr(ctx.command, "rows", ())
    return f"a command, not an option: {ctx.command_path} {name}" if is_command else None


def _as_argument(option: str, ctx: typer.Context) -> str | None:
    """The hint for an option that is an argument of the command: it is given without its name."""
    named = _ARGUMENT.get(option, option.lstrip("-").replace("-", "_"))
    metavar = next(
        (metavar for metavar in _metavars(ctx) if metavar.strip("[].").lower().replace("-", "_") == named), None
    )
    return f"an argument, not an option: {ctx.command_path} {metavar}" if metavar else None


def _metavars(ctx: typer.Context) -> Iterator[str]:
    for parameter in ctx.command.params:
        if parameter.param_type_name == "argument":
            yield getattr(parameter, "metavar", None) or str(parameter.name).upper()
