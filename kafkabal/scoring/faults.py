"""Faults of plug-ins, told as what they are: of the score and the part of it, not of kafkabal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkabal.errors import KafkabalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def naming_faults(name: str, part: str) -> Iterator[None]:
    """Run code of a score; what it raises becomes one line that names score and part.

    Raises
    ------
    UsageError
        If it raises anything but an error of ours or a signal, or ends the process.
    """
    try:
        yield
    except KafkabalError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"score {name!r}: its {part} raised {described(error)}", hint="see docs/own-score.md"
        ) from error


def described(error: BaseException) -> str:
    """Kind and message of an error in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
