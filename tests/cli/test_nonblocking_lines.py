"""Lines written in the background: a stream that blocks or fails delays nothing."""

from __future__ import annotations

import io
import threading

from kafkabal.cli.framework.nonblocking_lines import NonblockingLines


class Blocked(io.StringIO):
    """A terminal that is stopped until released."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def write(self, text: str) -> int:
        """Wait, then write."""
        self.let_go.wait(10)
        return super().write(text)


class Broken(io.StringIO):
    """A pipe without a reader."""

    def write(self, text: str) -> int:
        """Fail."""
        raise BrokenPipeError(text)


def test_a_blocked_stream_does_not_block_the_writer() -> None:
    """Lines are queued and written in order once the stream continues."""
    stream = Blocked()
    with NonblockingLines(stream) as lines:
        for number in range(100):
            lines.write(f"{number}\n")
        assert stream.getvalue() == ""
        stream.let_go.set()

    assert stream.getvalue().split() == [str(n) for n in range(100)]


def test_a_stream_that_stays_blocked_is_abandoned() -> None:
    """The command does not wait at its end for a stream that is still blocked, and reports it."""
    stream = Blocked()
    lines = NonblockingLines(stream)
    with lines:
        lines.write("a\n")

    assert lines.is_blocked
    stream.let_go.set()


def test_a_broken_stream_is_given_up() -> None:
    """A broken stream keeps its error, and further lines have no effect."""
    lines = NonblockingLines(Broken())
    with lines:
        lines.write("a\n")
    lines.write("b\n")

    assert isinstance(lines.failure, OSError)
