"""``kafkabal`` with streams that fail from one write on, like those of a closed terminal or a full disk.

``python failing_output.py NUMBER ERRNO WORD...``; writes the number of attempted writes to ``WRITES_FILE``."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TextIO, cast

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main


class FailingStreams:
    """Standard output and error of a process, with a common count of writes."""

    def __init__(self, first_failing: int, code: int) -> None:
        self._first_failing = first_failing
        self._code = code
        self.writes = 0

    def stream(self) -> TextIO:
        """One of the two streams."""
        return cast("TextIO", _Stream(self))

    def count(self) -> None:
        """Let a write succeed, or fail like all that follow."""
        self.writes += 1
        if self.writes >= self._first_failing:
            raise OSError(self._code, os.strerror(self._code))


class _Stream(io.TextIOBase):
    def __init__(self, streams: FailingStreams) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        self._streams.count()
        return len(text)

    def writable(self) -> bool:
        return True


if __name__ == "__main__":
    streams = FailingStreams(int(sys.argv[1]), int(sys.argv[2]))
    code = main(sys.argv[3:], CommandContext(stdout=streams.stream(), stderr=streams.stream()))
    Path(os.environ["WRITES_FILE"]).write_text(str(streams.writes))
    sys.exit(code)
