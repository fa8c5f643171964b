"""Why a node ended, read from the end of what it printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

START_LINE: Final = "--- started by the sandbox ---"
_TAIL_BYTES: Final = 256 * 1024
_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"
_LONGEST_CAUSE: Final = 300
_LEVEL: Final = re.compile(r"^\[[^]]*\] (?:ERROR|FATAL) ")
_CAUSE: Final = re.compile(r"^Caused by: ")
_EXCEPTION: Final = re.compile(r"^(?:Exception in thread \S+ )?[a-z]\w*(?:\.\w+)+(?:Exception|Error)\b")
_JAVA_ERROR: Final = re.compile(r"^(?:Error|Unrecognized|Invalid|Could not|Terminating due to)\b")


def mark_start(log: Path) -> None:
    """Note in a node's log that it is started again, so that what it printed earlier is told apart."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{START_LINE}\n")


def lines_of_last_start(log: Path) -> list[str]:
    """Return what a node has printed since its last start, at most the last 256 KiB of it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.rpartition(START_LINE)[2].strip().splitlines()


def ran_out_of_memory(log: Path) -> bool:
    """Whether the Java machine ended itself since it had no heap left."""
    return any(_OUT_OF_MEMORY in line and "Terminating" in line for line in lines_of_last_start(log))


def cause_of_end(log: Path) -> str:
    """Say in one line what a node's log gives as the reason that it ended.

    The innermost cause of the last exception says most, then the exception, then the last error or, failing all
    these, the last line.
    """
    return cause_in(lines_of_last_start(log))


def cause_in(lines: Sequence[str]) -> str:
    """Find the line among ``lines`` that says most about why a Java program ended."""
    for pattern in (_JAVA_ERROR, _CAUSE, _EXCEPTION, _LEVEL):
        for line in reversed(lines):
            if pattern.match(line):
                return _shortened(pattern.sub("", line) if pattern in (_CAUSE, _LEVEL) else line)
    return _shortened(lines[-1]) if lines else "it printed nothing"


def _shortened(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LONGEST_CAUSE else f"{line[: _LONGEST_CAUSE - 1]}…"
