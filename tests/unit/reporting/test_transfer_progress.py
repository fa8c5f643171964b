"""Progress in bytes: a bar on a terminal, lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import re

import pytest

from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.transfer_progress import open_progress

MIB = 2**20


def run(surface: OutputCapabilities, *, hidden: bool = False, fail: bool = False) -> str:
    """Move 100 MiB in 100 seconds, reported every ten."""
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


def test_a_pipe_gets_a_line_at_intervals() -> None:
    """A line each half minute with the rate and the time left, and one at the end."""
    assert run(OutputCapabilities()).splitlines() == [
        "moving: 30.0 MiB of 100 MiB, 1.00 MiB/s, 1 min 10 s left, step 30",
        "moving: 60.0 MiB of 100 MiB, 1.00 MiB/s, 40 s left, step 60",
        "moving: 90.0 MiB of 100 MiB, 1.00 MiB/s, 10 s left, step 90",
        "moving: 100 MiB of 100 MiB, 1.00 MiB/s",
    ]


def test_a_transfer_that_stalls_says_since_when() -> None:
    """Its time left is unknown; with the mean rate it would grow. Once bytes arrive again, their rate counts."""
    stream, now = io.StringIO(), 0.0
    progress = open_progress("moving", 100 * MIB, surface=OutputCapabilities(), stream=stream, monotonic=lambda: now)
    with progress:
        for at_s in range(0, 180, 10):
            now = float(at_s)
            progress.update(min(at_s, max(30, at_s - 90)) * MIB)
    assert stream.getvalue().splitlines() == [
        "moving: 30.0 MiB of 100 MiB, 1.00 MiB/s, 1 min 10 s left",
        "moving: 30.0 MiB of 100 MiB, stalled for 30 s",
        "moving: 30.0 MiB of 100 MiB, stalled for 1 min",
        "moving: 30.0 MiB of 100 MiB, stalled for 1 min 30 s",
        "moving: 60.0 MiB of 100 MiB, 1.00 MiB/s, 40 s left",
        "moving: 80.0 MiB of 100 MiB, 482 KiB/s",
    ]


@pytest.mark.parametrize("surface", [OutputCapabilities(), OutputCapabilities(animated=True, width=80)])
def test_a_stream_that_is_gone_ends_no_transfer(surface: OutputCapabilities) -> None:
    """A closed terminal or pipe costs the progress display, not the transfer."""

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    progress = open_progress("moving", 100, surface=surface, stream=Gone(), monotonic=lambda: 0.0)
    with progress:
        progress.update(50)


def test_an_interrupted_transfer_shows_how_far_it_came() -> None:
    """The last line tells that it stopped, and where."""
    assert run(OutputCapabilities(), fail=True).splitlines()[-1] == "moving: 50.0 MiB of 100 MiB, 1.00 MiB/s, stopped"


def test_a_terminal_gets_a_bar() -> None:
    """The bar is drawn over and ends full."""
    text = run(OutputCapabilities(width=100, animated=True))

    assert "\x1b[" in text
    assert "moving" in text
    assert "100.0/100.0 MiB" in text


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("what", ["moving", "rolling back"])
def test_a_bar_is_one_line_at_any_width(what: str, width: int) -> None:
    """No part is broken or cut: what does not fit is left out, the bar first, the bytes never."""
    stream, now = io.StringIO(), [0.0]
    surface = OutputCapabilities(width=width, animated=True)
    note = "10 of 11 partitions, 1 in flight"
    progress = open_progress(what, 1088 * MIB // 10, surface=surface, stream=stream, monotonic=lambda: now[0])
    with progress:
        for done in (0, 30, 60, 90):
            progress.update(done * MIB, note=note)
            now[0] += 10
    last_frame = stream.getvalue().split("\x1b[2K")[-1]
    (line,) = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", last_frame).rstrip().splitlines()
    assert len(line.rstrip()) <= width
    assert line.startswith(f"{what} ")
    assert "90.0/108.8 MiB" in line
    parts = line.split("MiB", 1)[1].split(maxsplit=3)
    assert parts == ["3.00", "MiB/s", "00:07", note][: len(parts)]
    assert len(parts) == 4 or width < 80


def resumed(surface: OutputCapabilities, total_bytes: int | None) -> str:
    """Go on at 60 MiB, and find ten more done on the way; two seconds at 5 MiB/s."""
    stream, now = io.StringIO(), [0.0]
    progress = open_progress("sending", total_bytes, surface=surface, stream=stream, monotonic=lambda: now[0])
    with progress:
        for done, skipped in ((60, 60), (65, 60), (80, 70)):
            progress.update(done * MIB, skipped_bytes=skipped * MIB, note="here")
            now[0] += 1
        now[0] -= 1
    return stream.getvalue()


def test_earlier_progress_does_not_count_for_the_rate() -> None:
    """The whole is shown, the rate is that of what was done now."""
    assert resumed(OutputCapabilities(), 100 * MIB).splitlines() == [
        "sending: 80.0 MiB of 100 MiB, 5.00 MiB/s",
    ]
    assert "80.0/100.0 MiB 5.00 MiB/s 00:04 here" in resumed(OutputCapabilities(width=80, animated=True), 100 * MIB)


def test_an_unknown_end_is_not_shown() -> None:
    """Bytes and rate, without a bar, a total or a time left."""
    assert resumed(OutputCapabilities(), None).splitlines() == ["sending: 80.0 MiB, 5.00 MiB/s"]
    assert "sending 80.0 MiB 5.00 MiB/s here" in resumed(OutputCapabilities(width=80, animated=True), None)


def test_quiet_shows_nothing() -> None:
    """Hidden progress writes nothing, even to a terminal."""
    assert run(OutputCapabilities(width=80, animated=True), hidden=True) == ""


def test_instant_transfers_have_no_rate() -> None:
    """A transfer that is done at its first report does not seem to run at gigabytes a second."""
    stream, now = io.StringIO(), [0.0]
    with open_progress(
        "moving", 7 * MIB, surface=OutputCapabilities(), stream=stream, monotonic=lambda: now[0]
    ) as progress:
        progress.update(7 * MIB)
        now[0] = 0.002
    assert stream.getvalue() == "moving: 7.00 MiB of 7.00 MiB\n"


def test_a_transfer_of_no_bytes_is_not_shown() -> None:
    """Where leaders alone change, 0 B of 0 B tells nothing."""
    stream = io.StringIO()
    with open_progress("moving", 0, surface=OutputCapabilities(), stream=stream, monotonic=lambda: 0.0) as progress:
        progress.update(0)
    assert stream.getvalue() == ""
