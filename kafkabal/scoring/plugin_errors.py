"""Reports errors in plug-ins as such: the message names the plug-in and the part that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from textwrap import shorten

import numpy as np

from kafkabal.errors import KafkabalError, UsageError, described
from kafkabal.model import Bools

_HINT = "see 'kafkabal help own-score'"


def reporting_score_errors(name: str, part: str) -> AbstractContextManager[None]:
    """As :func:`reporting_plugin_errors`, for a part of a score."""
    return reporting_plugin_errors(f"score {name!r}: its {part}", hint=_HINT)


def check_score_part(name: str, part: str, wanted: str, is_met: bool | np.bool_ | Bools) -> None:
    """Refuse what a score returned, unless all of it is as wanted.

    Raises
    ------
    UsageError
        Naming the score and the part.
    """
    if not np.all(is_met):
        raise UsageError(f"score {name!r}: its {part} is not {wanted}", hint=_HINT)


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
