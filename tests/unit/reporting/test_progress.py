"""Progress in bytes: a bar on a terminal, lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io

from kafkabal.reporting.progress import open_progress
from kafkabal.reporting.surface import Surface

MIB = 2**20


def run(surface: Surface, *, hidden: bool = False, fail: bool = False) -> str:
    """Move 100 MiB in 100 seconds, told every ten."""
    stream, now = io.StringIO(), [0.0]
    progress = open_progress(
        "moving", 100 * MIB, surface=surface, stream=stream, monotonic=lambda: now[0], hidden=hidden
    )
    try:
        with progress:
            for done in range(0, 101, 10):
                now[0] = float(done)
                progress.update(done * MIB, note=f"step {done}")
                if fail and done == 50:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    return stream.getvalue()


def test_a_pipe_gets_a_line_now_and_then() -> None:
    """A line each half minute with the rate and the time left, and one at the end."""
    assert run(Surface()).splitlines() == [
        "moving: 30.0 MiB of 100 MiB, 1.00 MiB/s, 1 min 10 s left, step 30",
        "moving: 60.0 MiB of 100 MiB, 1.00 MiB/s, 40 s left, step 60",
        "moving: 90.0 MiB of 100 MiB, 1.00 MiB/s, 10 s left, step 90",
        "moving: 100 MiB of 100 MiB, 1.00 MiB/s",
    ]


def test_what_was_interrupted_says_how_far_it_came() -> None:
    """The last line tells that it stopped, and where."""
    assert run(Surface(), fail=True).splitlines()[-1] == "moving: 50.0 MiB of 100 MiB, 1.00 MiB/s, 50 s left, stopped"


def test_a_terminal_gets_a_bar() -> None:
    """The bar is drawn over and ends full."""
    text = run(Surface(width=100, animated=True))

    assert "\x1b[" in text
    assert "moving" in text
    assert "100.0/100.0 MiB" in text


def test_quiet_shows_nothing() -> None:
    """Not a byte."""
    assert run(Surface(width=80, animated=True), hidden=True) == ""
