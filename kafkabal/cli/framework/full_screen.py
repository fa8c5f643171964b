"""Draws on the whole terminal and reads keys; always restores the terminal afterwards."""

from __future__ import annotations

import os
import select
import signal
import termios
import tty
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType, TracebackType

# xterm's private modes 1049 (alternate screen) and 25 (cursor), which other terminals share; the scrollback is kept
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_MOST_KEYS: Final = 64
"""Bytes read at once: the keys pressed while a frame is drawn, with a margin."""


class FullScreen:
    """The screen of a terminal; use it in a ``with`` block on the main thread.

    Ctrl-Z leaves the screen before the process is stopped, and draws it again when the process continues.
    Ctrl-\\ leaves it before the process is killed.

    Parameters
    ----------
    keys
        Source of keys; if it is not a terminal, none are read.
    screen
        A terminal.
    """

    def __init__(self, keys: TextIO, screen: TextIO) -> None:
        self._keys: int | None = keys.fileno() if not keys.closed and keys.isatty() else None
        self._screen = screen.fileno()
        self._modes: list[Any] | None = None
        self._before_stop: Any = None
        self._before_quit: Any = None
        self._must_redraw = True

    def __enter__(self) -> FullScreen:
        if self._keys is not None:
            self._modes = termios.tcgetattr(self._keys)
        self._before_quit = signal.signal(signal.SIGQUIT, self._quit)
        self._before_stop = signal.signal(signal.SIGTSTP, self._suspend)
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGTSTP, self._before_stop)
        self._leave()
        signal.signal(signal.SIGQUIT, self._before_quit)

    @property
    def must_redraw(self) -> bool:
        """Whether the screen was left since the last drawing."""
        return self._must_redraw

    def size(self) -> tuple[int, int]:
        """Current columns and lines."""
        size = os.get_terminal_size(self._screen)
        # a terminal that does not know its size reports 0
        return size.columns or 80, size.lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Draw lines from the top, cut to the size of the screen, without flicker.

        Raises
        ------
        OSError
            If the terminal is gone.
        """
        self._must_redraw = False
        # clear each line before drawing it: clearing after a line as wide as the screen would remove its last character
        self._write(_HOME + "\r\n".join(_CLEAR_LINE + line for line in lines))

    def key(self, within_s: float) -> str:
        """The next keys; empty if none was pressed within that many seconds."""
        readable, _, _ = select.select([] if self._keys is None else [self._keys], [], [], within_s)
        if not readable or self._keys is None:
            return ""
        pressed = os.read(self._keys, _MOST_KEYS)
        if not pressed:
            self._keys = None  # closed: it would always be readable
        return pressed.decode(errors="replace")

    def _enter(self) -> None:
        self._must_redraw = True
        if self._keys is not None:
            tty.setcbreak(self._keys)
        self._write(_ENTER)

    def _leave(self) -> None:
        # a closed terminal need not be restored
        with suppress(OSError):
            self._write(_LEAVE)
        if self._keys is not None and self._modes is not None:
            with suppress(OSError, termios.error):
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._modes)

    def _suspend(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._enter()

    def _quit(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        # as without a handler: Ctrl-\ is for a program that hangs, and may leave a core dump
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        self._leave()
        os.kill(os.getpid(), signal.SIGQUIT)

    def _write(self, text: str) -> None:
        # bypass the stream's buffer, which a signal handler must not reenter while it interrupts a write
        rest = text.encode()
        while rest:
            rest = rest[os.write(self._screen, rest) :]
