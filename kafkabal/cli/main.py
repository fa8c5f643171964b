"""The program: find the command, run it, and turn whatever it raises into one clear line and an exit code."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

import kafkabal
from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.cli.framework.command_table import COMMANDS
from kafkabal.cli.framework.environment_variables import warn_of_misspelt
from kafkabal.cli.framework.error_boundary import exit_code_of
from kafkabal.cli.framework.help_text import help_width
from kafkabal.cli.framework.termination_signals import raising_on_termination
from kafkabal.cli.framework.typer_commands import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = (
    "Options can also be set in the environment (KAFKABAL_<OPTION>) or in a profile; precedence: "
    "flags > environment > profile > defaults."
)


def main(argv: Sequence[str] | None = None, context: CommandContext | None = None) -> int:
    """Run a command and return its exit code; never raises.

    Parameters
    ----------
    argv
        The words after the program's name; None takes those of the process.
    context
        The environment to run in; None takes the one of the process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    world = context or CommandContext()
    with raising_on_termination():
        return exit_code_of(lambda: _invoke(words, world), words, world)


@cache
def root_command() -> Group:
    """The whole program as one group of commands, which keeps those that were built."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback(
        cls=Group,
        help="Balance the data of an Apache Kafka cluster.",
        epilog=_EPILOG,
        context_settings={"help_option_names": ["-h", "--help"]},
    )(_root)
    group = typer.main.get_command(app)
    assert isinstance(group, Group)
    group.rows = COMMANDS
    return group


def _invoke(words: list[str], context: CommandContext) -> int:
    warn_of_misspelt(context)
    command = root_command()
    # typer writes help and the version to the stdout of the process
    width = help_width(context.help_columns)
    with (
        redirect_stdout(context.stdout),
        command.make_context(PROGRAM, words, obj=context, terminal_width=width, max_content_width=width) as ctx,
    ):
        return int(command.invoke(ctx) or 0)


def _show_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"{PROGRAM} {kafkabal.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
