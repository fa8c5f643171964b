"""``kafkabal top`` in a real terminal (a pseudo-terminal, read by a terminal emulator), and without one."""

from __future__ import annotations

import os
import pty
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pexpect
import psutil
import pyte
import pytest

from kafkabal.cli.framework.full_screen import FullScreen
from kafkabal.errors import ExitCode
from tests.cli.test_inspect import check_golden

PROGRAM = Path(__file__).parent / "top_on_simulation.py"
FOOT = "q to quit"
LEAVES = "\x1b[?25h\x1b[?1049l"
# a process may take long to start on a busy machine
LONGEST_S = 60.0


class Terminal:
    """A terminal of a given size that runs ``kafkabal top``."""

    def __init__(self, home: Path, columns: int = 80, lines: int = 24, looks: int = 3) -> None:
        self.raw, self.screen = b"", pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        environment = {
            **os.environ,
            "HOME": str(home),
            "TERM": "xterm-256color",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self.child = pexpect.spawn(
            sys.executable,
            [str(PROGRAM), str(looks)],
            dimensions=(lines, columns),
            env=environment,
            # under nohup the tests ignore it, which the program would inherit
            preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_DFL),
        )
        self.modes = self._modes()

    def _modes(self) -> list[Any]:
        return termios.tcgetattr(self.child.child_fd)

    def read(self) -> None:
        """Read the available output."""
        try:
            read = self.child.read_nonblocking(65536, 0.1)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self.raw += read
        self._stream.feed(read)

    @property
    def text(self) -> str:
        """The content of the screen."""
        return "".join(f"{line.rstrip()}\n" for line in self.screen.display)

    @property
    def is_drawn(self) -> bool:
        """Whether the frame is complete: it is drawn from the top, and may arrive in pieces."""
        cursor = self.screen.cursor
        return (cursor.y, cursor.x) == (self.screen.lines - 1, len(FOOT)) and FOOT in self.screen.display[-1]

    def until(self, shown: str) -> None:
        """Read until the screen shows a text, in a complete frame."""
        end_s = time.monotonic() + LONGEST_S
        while shown not in self.text or not self.is_drawn:
            assert time.monotonic() < end_s, self.text
            self.read()

    def end(self) -> int:
        """Exit code, after the program has exited on its own and restored the terminal."""
        end_s = time.monotonic() + LONGEST_S
        while self.child.isalive():
            assert time.monotonic() < end_s, self.text
            self.read()
        self.read()
        assert LEAVES in self.raw.decode()
        assert self._modes() == self.modes
        return self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start the program, which is killed with the test."""
    started: list[Terminal] = []

    def start(**how: int) -> Terminal:
        started.append(Terminal(tmp_path, **how))
        return started[-1]

    yield start
    for each in started:
        each.child.close(force=True)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40)])
def test_the_frame(terminal: Callable[..., Terminal], columns: int, lines: int) -> None:
    """Brokers against bands, moves with rate and time left, events, as recorded; q quits even if the cluster hangs."""
    top = terminal(columns=columns, lines=lines)
    top.until("00:00:15  6 registered")

    check_golden(f"top-{columns}x{lines}.txt", top.text)
    top.child.send("q")
    assert top.end() == ExitCode.DONE


def test_a_new_size_and_a_pause(terminal: Callable[..., Terminal]) -> None:
    """The screen is redrawn for a new terminal size, and after Ctrl-Z and fg; Ctrl-C ends the program."""
    top = terminal(columns=120, lines=40)
    top.until("00:00:15  6 registered")
    top.screen.resize(14, 60)
    top.child.setwinsize(14, 60)
    top.until("1 mi…")

    top.child.send("\x1a")
    process, end_s = psutil.Process(top.child.pid), time.monotonic() + LONGEST_S
    while process.status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < end_s
        top.read()
    top.read()
    assert top.raw.decode().rstrip().endswith(LEAVES)
    top.screen.reset()
    os.kill(top.child.pid, signal.SIGCONT)
    top.until("q to quit")

    top.child.send("\x03")
    assert top.end() == ExitCode.INTERRUPTED


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_broker_that_dies_and_a_signal(terminal: Callable[..., Terminal], ending: signal.Signals) -> None:
    """The dead broker is an event and at the top at once; a signal that ends it restores the terminal too."""
    top = terminal(looks=1000)
    top.until("6 registered")
    os.kill(top.child.pid, signal.SIGUSR1)
    top.until("broker 3 is not registered any more")
    top.until("Broker 3 is dead")

    os.kill(top.child.pid, ending)
    assert top.end() == ExitCode.TERMINATED


def test_ctrl_backslash_kills_it_and_restores_the_terminal(terminal: Callable[..., Terminal]) -> None:
    """SIGQUIT still ends a program that hangs, but leaves no raw terminal without a cursor behind."""
    top = terminal()
    top.until("00:00:15  6 registered")
    top.child.send("\x1c")
    assert top.end() == -signal.SIGQUIT


def test_an_error_while_drawing_restores_the_terminal() -> None:
    """An exception leaves the screen, and the handlers of signals, as they were."""
    outer, inner = pty.openpty()
    modes, handlers = termios.tcgetattr(inner), [signal.getsignal(n) for n in (signal.SIGTSTP, signal.SIGQUIT)]
    with os.fdopen(inner, "r+b", buffering=0) as raw:
        stream: Any = raw

        def fail_amid_drawing() -> None:
            with FullScreen(stream, stream):
                assert termios.tcgetattr(inner) != modes
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_amid_drawing()
        assert termios.tcgetattr(inner) == modes
        shown = ""
        while not shown.endswith(LEAVES):
            shown += os.read(outer, 1000).decode()
    assert handlers == [signal.getsignal(n) for n in (signal.SIGTSTP, signal.SIGQUIT)]
    os.close(outer)


def test_without_a_terminal(run_cli: Callable[..., Any]) -> None:
    """One line suggests the command that shows the same without a terminal."""
    outcome = run_cli("top", "-b", "localhost:1")

    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert "error: standard output is not a terminal\n" in outcome.err
    assert "'kafkabal inspect --bootstrap-server localhost:1'" in outcome.err
    assert "'kafkabal watch --bootstrap-server localhost:1'" in outcome.err
