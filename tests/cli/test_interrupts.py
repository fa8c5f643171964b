"""A second Ctrl-C while an interrupted command is exiting."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import atexit, os, signal, sys, threading
from kafkabal.cli import entry_point, main
main.main = lambda words: 130
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
