"""Streams without a reader: a command continues, delayed by seconds at most."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.nonblocking_output import nonblocking_streams
from tests.full_pipe import full_pipe

SNAPSHOT = Path(__file__).parent / "snapshots" / "lopsided.jsonl"


def test_lines_of_both_streams_keep_their_order() -> None:
    """Output of both streams to one terminal appears in the order of writing."""
    terminal = io.StringIO()
    with nonblocking_streams(CommandContext(stdout=terminal, stderr=terminal, environ={})) as context:
        context.stdout.write("table\n")
        context.say("message")
        context.stdout.write("result\n")
    assert terminal.getvalue() == "table\nmessage\nresult\n"


def test_a_closed_pipe_is_reported_once() -> None:
    """An error of the underlying stream reaches the caller at the next flush, and only once."""

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with nonblocking_streams(CommandContext(stdout=Gone(), stderr=io.StringIO(), environ={})) as context:
        context.stdout.write("x")
        with pytest.raises(BrokenPipeError):
            context.stdout.flush()
        context.stdout.write("y")
        context.stdout.flush()


def test_an_unreported_error_is_raised_at_the_end_of_the_block() -> None:
    """Output lost without a flush is not reported as written."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    with (
        pytest.raises(OSError, match="No space"),
        nonblocking_streams(CommandContext(stdout=Full(), stderr=io.StringIO(), environ={})) as context,
    ):
        context.stdout.write("x")


def test_an_unreported_error_is_not_printed_by_the_garbage_collector() -> None:
    """From Python 3.13 on an exception in the finaliser of a stream is printed."""

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with (
        suppress(KeyError),
        nonblocking_streams(CommandContext(stdout=Gone(), stderr=io.StringIO(), environ={})) as context,
    ):
        context.stdout.write("x")
        raise KeyError

    context.stdout.close()


def test_a_blocked_stream_delays_a_command_once() -> None:
    """The total wait is bounded however much is written; the output arrives when the reader continues."""
    with full_pipe() as (read, write), os.fdopen(os.dup(write.fileno()), "w") as blocked:
        reached = threading.Event()
        lines: list[bytes] = []

        def read_on() -> None:
            reached.wait(30)
            while b"line 9" not in (piece := read.read(65536)):
                lines.append(piece)

        reader = threading.Thread(target=read_on)
        reader.start()
        with nonblocking_streams(CommandContext(stdout=blocked, stderr=blocked, environ={})) as context:
            for number in range(10):
                context.say(f"line {number}")
            reached.set()  # appears only if no line waited for the reader
        reader.join(30)
        assert not reader.is_alive()


def test_a_run_ends_although_its_output_is_blocked(tmp_path: Path) -> None:
    """With both streams on a full pipe a plan is applied, and the lock is free for the next command."""
    saved = tmp_path / "after.jsonl"
    words = ["rebalance", "--yes", "--snapshot", str(SNAPSHOT), "--topics", "labels", "--save", str(saved)]
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    with (
        full_pipe() as (_, write),
        subprocess.Popen(
            [sys.executable, "-m", "kafkabal", *words], stdout=write, stderr=write, env=environ
        ) as process,
    ):
        deadline_s = time.monotonic() + 60
        while not saved.exists() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        is_saved = saved.exists()
        process.kill()
    assert is_saved


_BLOCKED = """
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.nonblocking_output import nonblocking_streams
from kafkabal.cli.framework.termination_signals import raising_on_termination
from kafkabal.errors import InterruptedRunError
import sys
with raising_on_termination(), nonblocking_streams(CommandContext(stdout=sys.stderr, stderr=sys.stderr)) as context:
    context.say("not read")
    print("done", flush=True)
    if sys.argv[1:]:
        raise InterruptedRunError("stopped", terminated=True)
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_without_a_reader_is_ended_by_a_signal(sent: signal.Signals, code: int) -> None:
    """It waits at its end for its output to be read, but not after a signal, which it cannot report either."""
    with full_pipe() as (_, writer):
        process = subprocess.Popen([sys.executable, "-c", _BLOCKED], stdout=subprocess.PIPE, stderr=writer)
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        time.sleep(0.5)  # the end of the block, where it waits
        process.send_signal(sent)
        assert process.wait(60) == code
        process.stdout.close()


def test_a_run_that_was_interrupted_does_not_wait_for_a_reader() -> None:
    """The signal that ended the run ends the command too."""
    with full_pipe() as (_, writer):
        done = subprocess.run([sys.executable, "-c", _BLOCKED, "interrupted"], stderr=writer, timeout=60, check=False)
    assert done.returncode == 143
