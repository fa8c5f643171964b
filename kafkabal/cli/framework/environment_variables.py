"""Options from ``KAFKABAL_`` environment variables, and a warning about misspelt ones, which would be ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperOption

from kafkabal.cli.framework.command_context import PROGRAM
from kafkabal.errors import UsageError
from kafkabal.units import parse_whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from typer.core import TyperCommand, TyperGroup

    from kafkabal.cli.framework.command_context import CommandContext

PREFIX: Final = f"{PROGRAM.upper()}_"
LIST_FILE: Final = "environment_variables.txt"
"""A file next to this module: all names without their prefix, one per line; generated, so that no command is
imported."""

_TRUTHS: Final = frozenset(["1", "true", "t", "yes", "y", "on", "0", "false", "f", "no", "n", "off"])
"""Words that typer takes for a flag."""
_MOST_TIMES: Final = 9
"""How often a flag such as ``-v`` may be repeated; more than two have no further effect."""
_LIKENESS: Final = 0.8
"""One wrong letter in five."""


def environment_name(option: TyperOption) -> str:
    """The environment variable of an option, see :func:`variable_of`."""
    return variable_of(option.opts)


def variable_of(flags: Sequence[str]) -> str:
    """The environment variable of an option: its longest flag in capitals, after ``KAFKABAL_``."""
    flag = max(flags, key=len)
    return f"{PROGRAM}_{flag.lstrip('-')}".replace("-", "_").upper()


def values_from_environment(command: TyperCommand | TyperGroup, parent: Any) -> dict[str, Any]:
    """Option values from the environment; empty ones are refused, except for flags; lists are split at blanks.

    Without settings, which are read together with the profile.
    """
    from kafkabal.cli.framework.shared_options import SETTINGS

    environ = parent.find_root().obj.environ
    options = [p for p in command.params if isinstance(p, TyperOption) and p.name not in SETTINGS]
    texts = [(option, environ.get(environment_name(option))) for option in options]
    for option, text in texts:
        if text is not None and not text.strip() and not option.is_flag:
            raise UsageError(f"{environment_name(option)}: empty value", hint="unset it, or give it a value")
        if text and option.is_flag and text.strip().lower() not in _TRUTHS:
            raise UsageError(
                f"{environment_name(option)}: must be true or false: {text!r}",
                hint="unset it, or set it to true or false",
            )
        if text and option.count:
            _check_count(environment_name(option), text)
    return {option.name: text.split() if option.multiple else text for option, text in texts if text}


def _check_count(name: str, text: str) -> None:
    try:
        parse_whole_number(text, 0, _MOST_TIMES)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from error


def warn_of_misspelt(context: CommandContext) -> None:
    """Warn about each unknown variable that is similar to one of ours; others may belong to another program."""
    for name, near in misspelt(context.environ):
        context.warn(f"unknown environment variable ignored: {name}; did you mean: {near}")


def misspelt(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names that are similar to one of ours, with the most similar one."""
    given = sorted(name.removeprefix(PREFIX) for name, value in environ.items() if value and name.startswith(PREFIX))
    if not given:
        return
    from difflib import get_close_matches
    from importlib import resources

    known = (resources.files("kafkabal.cli.framework") / LIST_FILE).read_text(encoding="ascii").splitlines()
    for name in given:
        if name not in known and (near := get_close_matches(name, known, n=1, cutoff=_LIKENESS)):
            yield PREFIX + name, PREFIX + near[0]
