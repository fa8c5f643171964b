"""Refuses options of the command line that would have no effect, instead of ignoring them silently.

Values from the environment or a profile pass: they are meant for other commands too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkabal.cli.framework.command_context import CommandContext

OF_CLUSTER: Final = (
    "--bootstrap-server",
    "--command-config",
    "--profile",
    "--snapshot",
    "--zookeeper",
    "--broker-timeout",
)
"""Options that select and read a cluster."""
_OF_OUTPUT: Final = frozenset({"--output", "--output-file", "--quiet", "--verbose", "--color", "--no-color"})


def refuse_beside(mode: str, options: Iterable[str], context: CommandContext, hint: str | None = None) -> None:
    """Refuse options that ``mode`` makes ineffective.

    Parameters
    ----------
    mode
        The option that is in force, as typed: ``--once``.
    options
        Options that have no effect then, by their long form.

    Raises
    ------
    UsageError
        If one was given.
    """
    for option in options:
        if option in context.given:
            way_out = hint or f"leave out {option}: it would have no effect"
            raise UsageError(f"{mode} and {option} cannot be combined", hint=way_out)


def refuse_without(required: str, options: Iterable[str], context: CommandContext, hint: str | None = None) -> None:
    """Refuse options that have no effect because ``required`` is missing.

    Raises
    ------
    UsageError
        If one was given.
    """
    for option in options:
        if option in context.given:
            raise UsageError(f"{option} requires {required}", hint=hint or f"add {required}, or leave out {option}")


def refuse_all_beside(mode: str, but_for: Iterable[str], context: CommandContext) -> None:
    """Refuse every option but those that ``mode`` uses, itself included, and those of the output.

    Raises
    ------
    UsageError
        If another was given.
    """
    refuse_beside(mode, _others(but_for, context), context)


def refuse_all_without(required: str, but_for: Iterable[str], context: CommandContext, hint: str | None = None) -> None:
    """Refuse every option but those that have an effect although ``required`` is missing, and those of the output.

    Raises
    ------
    UsageError
        If another was given.
    """
    refuse_without(required, _others(but_for, context), context, hint)


def _others(but_for: Iterable[str], context: CommandContext) -> list[str]:
    return sorted(context.given - _OF_OUTPUT - frozenset(but_for))
