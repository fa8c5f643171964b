"""What the output device can display."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCapabilities:
    """The display abilities of a terminal, a pipe or a file."""

    width: int | None = None
    """Columns; None if lines may have any length, as in a pipe."""
    colour: bool = False
    animated: bool = False
    """Whether output can be overwritten."""
    unicode: bool = True


PLAIN = OutputCapabilities()
