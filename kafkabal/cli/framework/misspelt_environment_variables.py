"""Misspelt ``KAFKABAL_`` environment variables: without a warning they would be ignored silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkabal.cli.framework.command_context import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkabal.cli.framework.command_context import CommandContext

PREFIX: Final = f"{PROGRAM.upper()}_"
LIST_FILE: Final = "environment_variables.txt"
"""Beside this module: all names without their prefix, one a line; generated, so that no command need be imported."""

_LIKENESS: Final = 0.8
"""One letter wrong of five."""


def warn_of_misspelt(context: CommandContext) -> None:
    """Warn of each unknown variable that is nearly one of ours; others may belong to another program."""
    for name, near in misspelt(context.environ):
        context.warn(f"unknown environment variable ignored: {name}; did you mean {near}?")


def misspelt(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names that are nearly one of ours, and the nearest one."""
    given = sorted(name.removeprefix(PREFIX) for name, value in environ.items() if value and name.startswith(PREFIX))
    if not given:
        return
    from difflib import get_close_matches
    from importlib import resources

    known = (resources.files("kafkabal.cli.framework") / LIST_FILE).read_text(encoding="ascii").splitlines()
    for name in given:
        if name not in known and (near := get_close_matches(name, known, n=1, cutoff=_LIKENESS)):
            yield PREFIX + name, PREFIX + near[0]
