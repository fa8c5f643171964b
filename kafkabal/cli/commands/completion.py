"""``kafkabal completion``: what shells need to complete commands, options and names."""

import os
import pwd
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.completion.quick_candidates import DEFAULT_SANDBOX, CandidateKind, candidate_lines
from kafkabal.cli.framework.shared_options import CLUSTER, Uses
from kafkabal.config import Settings
from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLUSTER: Final = tuple(key for key in CLUSTER if key != "broker_timeout")


class Shell(StrEnum):
    """A supported shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def bash(context: CommandContext) -> None:
    """Print the completion script for bash.

    Examples:

      source <(kafkabal completion bash)
    """
    context.stdout.write(_script(Shell.BASH))


def zsh(context: CommandContext) -> None:
    """Print the completion script for zsh.

    Examples:

      kafkabal completion zsh > ~/.zfunc/_kafkabal
    """
    context.stdout.write(_script(Shell.ZSH))


def fish(context: CommandContext) -> None:
    """Print the completion script for fish.

    Examples:

      kafkabal completion fish > ~/.config/fish/completions/kafkabal.fish
    """
    context.stdout.write(_script(Shell.FISH))


def install(
    context: CommandContext,
    shell: Annotated[
        Shell | None, typer.Argument(metavar="[SHELL]", help="Shell: bash, zsh or fish. [default: that of $SHELL]")
    ] = None,
) -> None:
    """Install completion for your shell.

    Writes the script to the folder from which the shell loads completions; other files are not touched. Where the shell
    does not search there yet, the lines to add to its start-up file are printed.

    Examples:

      kafkabal completion install

      kafkabal completion install zsh
    """
    from kafkabal.atomic_files import make_folder_of, replacing

    chosen = shell or _own_shell(context)
    path = _script_path(chosen, context)
    make_folder_of(path)
    with replacing(path) as file:
        file.write(_script(chosen).encode())
    context.say(f"completion for {chosen} written to {path}")
    for line in _next_step(chosen, path, context):
        context.say(line)


def candidates(
    context: CommandContext,
    kind: Annotated[CandidateKind, typer.Argument(metavar="KIND", help=f"Names to print: {', '.join(CandidateKind)}.")],
    settings: Annotated[Settings, Uses(*_CLUSTER)],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Sandbox whose nodes to print.")
    ] = DEFAULT_SANDBOX,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Plan file whose partitions to print.")
    ] = None,
) -> None:
    """Print the names that a shell can offer, one per line.

    Connects to no cluster: topics and brokers are those that the last command found on the cluster that the options
    name.

    Examples:

      kafkabal completion candidates topics --profile prod
    """
    context.stdout.write(candidate_lines(kind, context, settings, name, plan))


def _script(shell: Shell) -> str:
    from kafkabal.cli.framework.completion.command_pages import pages

    text: str = import_module(f"kafkabal.cli.framework.completion.{shell}").script(pages())
    return text


def _own_shell(context: CommandContext) -> Shell:
    name = Path(context.environ.get("SHELL", "")).name
    if name not in {*Shell}:
        raise UsageError(
            f"no completion for the shell {name!r}" if name else "SHELL is not set",
            hint=f"name a shell: kafkabal completion install {'|'.join(Shell)}",
        )
    return Shell(name)


def _home_folder(context: CommandContext) -> Path:
    """The user's; of an empty or relative HOME, shells would not read what is installed there."""
    home = Path(context.environ.get("HOME", ""))
    if home.is_absolute():
        return home
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise UsageError("HOME is not set, and this user has no home folder", hint="set HOME") from None


def _script_path(shell: Shell, context: CommandContext) -> Path:
    """The folder in which each shell searches by default, or can be told to."""
    environ, home = context.environ, _home_folder(context)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    match shell:
        case Shell.BASH:
            own = Path(environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
            return own / "completions" / "kafkabal"
        case Shell.ZSH:
            return data / "zsh" / "site-functions" / "_kafkabal"
        case Shell.FISH:
            config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
            return config / "fish" / "completions" / "kafkabal.fish"


def _next_step(shell: Shell, path: Path, context: CommandContext) -> "Iterable[str]":
    home = _home_folder(context)
    match shell:
        case Shell.BASH:
            start_up, lines = home / ".bashrc", [f"source {path}"]
            note = "loaded by the package bash-completion; without that package, add to"
        case Shell.ZSH:
            start_up = Path(context.environ.get("ZDOTDIR") or home) / ".zshrc"
            lines = [f"fpath=({path.parent} $fpath)", "autoload -Uz compinit && compinit"]
            note = "add to"
        case Shell.FISH:
            return ("new shells load it",)
    text = start_up.read_text(errors="replace") if start_up.is_file() else ""
    if lines[0] in text:
        return ("new shells load it",)
    return (f"{note} {start_up}:", *(f"  {line}" for line in lines))
