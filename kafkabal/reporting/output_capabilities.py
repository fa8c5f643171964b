"""What can be drawn where the text goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCapabilities:
    """A terminal, a pipe or a file, as far as drawing on it goes."""

    width: int | None = None
    """Columns; None where lines may have any length, as in a pipe."""
    colour: bool = False
    animated: bool = False
    """What was drawn can be drawn over."""
    unicode: bool = True


PLAIN = OutputCapabilities()
