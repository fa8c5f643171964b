"""``kafkabal completion``: print the completion script of a shell."""

from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext


class Shell(StrEnum):
    """A supported shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: CommandContext, shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="Shell: bash, zsh or fish.")]
) -> None:
    """Print the completion script of a shell.

    The script contains the commands and options; topic names and broker ids come from a cache that every command
    updates, so completion never waits for a cluster.

    Examples:

      source <(kafkabal completion bash)

      kafkabal completion zsh > ~/.zfunc/_kafkabal

      kafkabal completion fish > ~/.config/fish/completions/kafkabal.fish
    """
    from kafkabal.cli.framework.completion.command_pages import pages

    context.stdout.write(import_module(f"kafkabal.cli.framework.completion.{shell}").script(pages()))
