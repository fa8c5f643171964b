"""Signals while a command is starting, and a second Ctrl-C while an interrupted command is exiting."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kafkabal
from kafkabal.errors import ExitCode

_SCRIPT = """
import atexit, os, signal, sys, threading
from kafkabal.cli import entry_point, main
main.main = lambda words, context: 130
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
{then}
sys.exit(entry_point.main())
"""
_WAITING = """
threading.Thread(target=threading.Event().wait, args=(60,)).start()
threading.Timer(0.5, interrupt).start()
"""
_TORN_DOWN = "atexit.register(interrupt)"


@pytest.mark.parametrize("then", [_WAITING, _TORN_DOWN], ids=["a thread still waits", "the interpreter ends"])
def test_second_interrupt_keeps_the_exit_code(then: str) -> None:
    """A second Ctrl-C ends the process silently with exit code 130, not by the signal or with a traceback."""
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(then=then)], capture_output=True, text=True, timeout=50
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


_STARTING = """
import os, signal, sys
{first}
class Finder:
    def find_spec(name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.{which})
sys.meta_path.insert(0, Finder)
sys.argv = ["kafkabal", "--version"]
from kafkabal.cli import entry_point
sys.exit(entry_point.main())
"""


@pytest.mark.parametrize(
    ("which", "code", "word"),
    [
        ("SIGINT", ExitCode.INTERRUPTED, "interrupted"),
        ("SIGTERM", ExitCode.TERMINATED, "terminated"),
        ("SIGHUP", ExitCode.TERMINATED, "terminated"),
    ],
)
def test_signals_during_the_imports(which: str, code: ExitCode, word: str) -> None:
    """The command ends with one line and the exit code of the signal, as it does later, without a traceback."""
    # SIGHUP is ignored where the tests run under nohup
    script = _STARTING.format(first="signal.signal(signal.SIGHUP, signal.SIG_DFL)", which=which)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", f"kafkabal: {word}\n")


@pytest.mark.parametrize("which", ["SIGINT", "SIGHUP"])
def test_signals_that_are_ignored_stay_so(which: str) -> None:
    """As in the background of a script, or after nohup: the command runs."""
    script = _STARTING.format(first=f"signal.signal(signal.{which}, signal.SIG_IGN)", which=which)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"kafkabal {kafkabal.__version__}\n", "")


def test_interrupts_of_a_command_are_its_own() -> None:
    """Once it runs, it can clean up: Ctrl-C is an exception again."""
    script = (
        "import signal, sys\n"
        "from kafkabal.cli import entry_point, main\n"
        "main.main = lambda words, context: signal.getsignal(signal.SIGINT) is not signal.default_int_handler\n"
        "sys.exit(entry_point.main())\n"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
