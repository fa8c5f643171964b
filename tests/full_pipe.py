"""A pipe whose reader has stopped reading, like a suspended pager."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO


@contextmanager
def full_pipe() -> Iterator[tuple[FileIO, FileIO]]:
    """Both ends of a full pipe; a test may close either of them earlier."""
    read, write = os.pipe()
    with FileIO(read, "rb") as reader, FileIO(write, "wb") as writer:
        os.set_blocking(write, False)
        # a write to a full pipe that does not block returns None
        while writer.write(b"x" * 4096) is not None:
            pass
        os.set_blocking(write, True)
        yield reader, writer
