"""What the output device can display."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.printable import ESCAPED


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCapabilities:
    """The display abilities of a terminal, a pipe or a file."""

    width: int | None = None
    """Columns; None if lines may have any length, as in a pipe."""
    colour: bool = False
    animated: bool = False
    """Whether output can be overwritten."""
    encoding: str = "utf-8"
    """Of the bytes that are written to it."""

    @property
    def unicode(self) -> bool:
        """Whether it shows every character."""
        return self.encoding.lower().startswith("utf")

    def shown(self, text: str) -> str:
        """The text with the characters that cannot be written to it escaped.

        The stream escapes them too, but only after the columns have been aligned and lines wrapped.
        """
        return text if text.isascii() else text.encode(self.encoding, ESCAPED).decode(self.encoding)


PLAIN = OutputCapabilities()
