"""The commands, by name: where the function of each is, and its one-line help; nothing is imported for it.

A row appears together with its module. The help is the first line of the function's docstring, which a test holds
to; it stands here too, so that ``kafkabal --help`` need not import every command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """A command, or a group of commands, which may also do something by itself."""

    help: str
    function: str = ""
    """``module:function``; empty for a group that does nothing by itself."""
    commands: Mapping[str, Row] | None = None
    """The commands of a group."""


COMMANDS: Final[Mapping[str, Row]] = {
    "inspect": Row("Show how evenly the load lies, worst first.", "kafkabal.cli.inspect:inspect"),
}
