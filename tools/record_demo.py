"""Record ``kafkabal demo`` as a picture: ``python docs/record_demo.py docs/demo.svg``.

The demo runs in a terminal of its own, a terminal emulator turns what it writes into the screen that a person would
be left with, and rich draws that screen. Nothing is edited.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

COLUMNS, MOST_LINES = 88, 400
COLOURS = {"brown": "yellow", "default": None}
# a picture that loads nothing: any monospaced font will do
FONT_FROM_ELSEWHERE = re.compile(r"@font-face\s*{[^}]*}")
# paths of whoever records are nobody's business
ENVIRONMENT = {"TERM": "xterm", "KAFKABAL_SANDBOX_HOME": "/var/tmp/kafkabal"}


def run_in_terminal(words: list[str]) -> tuple[pyte.Screen, int]:
    """Run a program in a terminal, and return the screen that it leaves behind and its exit code."""
    screen = pyte.Screen(COLUMNS, MOST_LINES)
    stream = pyte.ByteStream(screen)
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", MOST_LINES, COLUMNS, 0, 0))
    with subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner, env={**os.environ, **ENVIRONMENT}) as program:
        os.close(inner)
        while data := read(outer):
            stream.feed(data)
    return screen, program.returncode


def read(terminal: int) -> bytes:
    """What was written since; nothing once the program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that nobody holds the other end any more
        return b""


def as_text(screen: pyte.Screen) -> Text:
    """The screen down to its last line that is not blank."""
    text = Text()
    last = max(y for y in range(MOST_LINES) if screen.display[y].strip())
    for y in range(last + 1):
        line = Text()
        cells = [screen.buffer[y][x] for x in range(COLUMNS)]
        for style, run in groupby(cells, key=style_of):
            line.append("".join(cell.data for cell in run), style)
        line.rstrip()
        text.append_text(line).append("\n")
    return text


def style_of(cell: pyte.screens.Char) -> Style:
    """The style of a cell in the words of rich."""
    colour = COLOURS.get(cell.fg, cell.fg.replace("bright", "bright_"))
    if colour and len(colour) == 6 and all(sign in "0123456789abcdef" for sign in colour):
        colour = f"#{colour}"
    return Style(color=colour, bold=cell.bold, italic=cell.italics)


def main() -> int:
    """Record to the file that is named, unless the demo fails."""
    screen, code = run_in_terminal([sys.executable, "-m", "kafkabal", "demo"])
    text = as_text(screen)
    if code:
        print(text.plain)
        return code
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    console.print(Text("$ kafkabal demo\n") + text, end="")
    Path(sys.argv[1]).write_text(FONT_FROM_ELSEWHERE.sub("", console.export_svg(title="kafkabal")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
