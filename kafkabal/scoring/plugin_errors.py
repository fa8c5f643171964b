"""Faults of plug-ins, reported as such: they name the plug-in and the part of it, not kafkabal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from textwrap import shorten

from kafkabal.errors import KafkabalError, UsageError


def naming_faults(name: str, part: str) -> AbstractContextManager[None]:
    """Run code of a score; what it raises becomes one line that names score and part, see :func:`telling_faults`."""
    return telling_faults(f"score {name!r}: its {part}", hint="see 'kafkabal help own-score'")


@contextmanager
def telling_faults(
    what: str, *, hint: str, kind: type[UsageError] = UsageError, longest: int | None = None
) -> Iterator[None]:
    """Run code of a plug-in; what it raises becomes one line about ``what``, of ``longest`` characters at most.

    Raises
    ------
    UsageError
        Of that kind, if it raises anything but an error of ours or a signal, or ends the process.
    """
    try:
        yield
    except KafkabalError:
        raise
    except (Exception, SystemExit) as error:
        text = described(error)
        text = text if longest is None else shorten(text, longest, placeholder=" ...")
        raise kind(f"{what} raised {text}", hint=hint) from error


def described(error: BaseException) -> str:
    """Kind and message of an error in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
