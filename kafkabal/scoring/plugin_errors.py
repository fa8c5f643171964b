"""Reports errors in plug-ins as such: the message names the plug-in and the part that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from textwrap import shorten

from kafkabal.errors import KafkabalError, UsageError, described


def reporting_score_errors(name: str, part: str) -> AbstractContextManager[None]:
    """As :func:`reporting_plugin_errors`, for a part of a score."""
    return reporting_plugin_errors(f"score {name!r}: its {part}", hint="see 'kafkabal help own-score'")


@contextmanager
def reporting_plugin_errors(
    what: str, *, hint: str, kind: type[UsageError] = UsageError, longest: int | None = None
) -> Iterator[None]:
    """Run code of a plug-in; an exception becomes one line about ``what``, of ``longest`` characters at most.

    Raises
    ------
    UsageError
        Of the given kind, if the code exits the process, or raises anything but an error of ours or a signal.
    """
    try:
        yield
    except KafkabalError:
        raise
    except (Exception, SystemExit) as error:
        text = described(error)
        text = text if longest is None else shorten(text, longest, placeholder=" ...")
        raise kind(f"{what} raised {text}", hint=hint) from error
