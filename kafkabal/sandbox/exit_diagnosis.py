"""Finds out why a node exited, from the end of its output."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_START_LINE: Final = "--- started by the sandbox ---"
_TAIL_BYTES: Final = 256 * 1024
"""The cause is in the last lines; stack traces of a crashing broker are tens of kB."""
_LONGEST_CAUSE: Final = 300
"""Characters: two or three lines of a terminal."""
_OUT_OF_MEMORY: Final = "Terminating due to java.lang.OutOfMemoryError"
# In a stack trace the innermost cause comes last; Java's own errors are followed by two lines without information.
_CAUSE: Final = re.compile(
    r"""
    \[[^]]*\]\ (?:ERROR|FATAL)\ (?P<logged>.+)
    | Caused\ by:\ (?P<inner>.+)
    | (?P<thrown>(?:Exception\ in\ thread\ \S+\ )?[a-z]\w*(?:\.\w+)*\.\w*(?:Exception|Error)\b.*)
    | (?P<java>(?:Unrecognized|Invalid|Terminating\ due\ to|Error:\ (?!A\ (?:fatal|JNI)|Could\ not\ create)).*)
    """,
    re.VERBOSE,
)
_UNKNOWN: Final = "exited without an error message"


def mark_start(log: Path) -> None:
    """Mark a new start in a node's log, to separate it from earlier output."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{_START_LINE}\n")


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last ``count`` lines of a log, at most those in its last 256 KiB; none if it does not exist."""
    return _tail(log).splitlines()[-count:] if count else []


def ran_out_of_memory(log: Path) -> bool:
    """Whether the JVM exited after the last start because its heap was full."""
    return _OUT_OF_MEMORY in _tail_since_start(log)


def cause_of_end(log: Path) -> str:
    """One line with the reason that a node's log gives for its exit after the last start."""
    return cause_in(_tail_since_start(log).splitlines())


def cause_in(lines: Iterable[str]) -> str:
    """One line with the reason why a Java program with this output exited: the last thing it calls an error."""
    found = [match for line in lines if (match := _CAUSE.match(line))]
    if not found:
        return _UNKNOWN
    cause = (found[-1][found[-1].lastgroup or 0] or "").strip()
    return cause if len(cause) <= _LONGEST_CAUSE else f"{cause[: _LONGEST_CAUSE - 1]}…"


def _tail_since_start(log: Path) -> str:
    return _tail(log).rpartition(_START_LINE)[2]


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
