"""``kafkabal completion``: the script that teaches a shell our commands."""

from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext


class Shell(StrEnum):
    """A shell whose language we speak."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: CommandContext, shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]
) -> None:
    """Print the completion script of a shell.

    Commands and options stand in the script itself; names of topics and ids of brokers come from what the last
    command saw, so that completing never waits for a cluster.

    Examples:

      source <(kafkabal completion bash)

      kafkabal completion zsh > ~/.zfunc/_kafkabal

      kafkabal completion fish > ~/.config/fish/completions/kafkabal.fish
    """
    from kafkabal.cli.framework.completion.command_pages import pages

    context.stdout.write(import_module(f"kafkabal.cli.framework.completion.{shell}").script(pages()))
