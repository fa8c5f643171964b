"""Turns whatever a store's library raises into one kind of error, and says why a file cannot be read."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafkabal.connection_faults import connection_fault
from kafkabal.errors import described
from kafkabal.wording import system_fault

_MISSING: Final = "no such file or folder"
_NOT_FOUND: Final = 404
_NO_RANGES: Final = "the server sends no ranges of files, which files above 5 MB need"


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Turn any error of the store's library into OSError with a reason, so that only the failing file is skipped."""
    try:
        yield
    except Exception as error:
        if type(error) is OSError and error.strerror is not None:
            raise
        raise _os_error(error) from error


def why_unreadable(error: OSError) -> str:
    """Why a file cannot be read, for the list of skipped files."""
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself"
    reason = system_fault(error)
    first = reason.partition(" ")[0]
    # not the name of a class
    return f"cannot read: {first.lower() if first[1:].islower() else first}{reason[len(first) :]}"


def _os_error(error: BaseException) -> OSError:
    # fsspec calls a file of a web server missing whatever the server has said; the cause knows better
    if isinstance(error, FileNotFoundError):
        is_missing = error.__cause__ is None or isinstance(error.__cause__, FileNotFoundError)
        return OSError(errno.ENOENT, _MISSING) if is_missing else _os_error(error.__cause__)  # type: ignore[arg-type]
    error = _behind_requests(error)
    if (fault := connection_fault(error)) is not None:
        return OSError(errno.EIO, fault)
    response = getattr(error, "response", None)
    status = getattr(error, "status", getattr(response, "status_code", None))
    if isinstance(status, int):
        if status == _NOT_FOUND:
            return OSError(errno.ENOENT, _MISSING)
        text = getattr(error, "message", getattr(response, "reason", ""))
        return OSError(errno.EIO, " ".join(f"the server responded {status} {text}".split()))
    if isinstance(error, OSError) and error.strerror is not None:
        return OSError(error.errno or errno.EIO, error.strerror)
    if isinstance(error, ValueError) and "range requests" in str(error):  # fsspec's text is advice for programmers
        return OSError(errno.EIO, _NO_RANGES)
    return OSError(errno.EIO, "timed out" if isinstance(error, TimeoutError) else described(error))


def _behind_requests(error: BaseException) -> BaseException:
    """What an error of requests was caused by: its own text has the whole URL, with any token in that."""
    while type(error).__module__.startswith(("requests.", "urllib3.")):
        cause = error.__cause__ or error.__context__
        if cause is None:
            break
        error = cause
    return error
