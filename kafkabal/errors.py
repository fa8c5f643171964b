"""Every error that a user can meet, and the exit code it causes.

::

    KafkabalError                     1
    ├── UsageError                    2   bad usage of the command line
    │   ├── ConfigError               2   a bad setting in a profile or client.properties
    │   ├── OptionError               2   an option whose value does not fit the cluster
    │   ├── InputFileError            2   a snapshot, plan, journal or topics file that cannot be read
    │   └── InvalidClusterError       2   the description of a cluster contradicts itself
    ├── OperationError                1   the operation failed
    │   ├── UnreachableError          1   no response
    │   │   └── NoResponseError       1   a request was sent and got no response
    │   ├── RefusedByClusterError     1   the cluster refused the request
    │   │   ├── NotAuthorizedError    1   the principal lacks a permission
    │   │   └── TemporaryRefusalError 1   the cluster cannot do it until brokers are back
    │   ├── MissingCapabilityError    1   this kind of cluster cannot do that
    │   ├── OutputError               1   a result could not be written
    │   └── PartialFailureError       1   some items failed, the others are done
    ├── FindingsError                 3   the question was answered, and the answer is bad
    ├── UnsafeError                   4   refused for safety
    │   ├── DriftError                4   the cluster is no longer what the plan was made for
    │   ├── InfeasibleError           4   a hard rule that was asked for cannot be met
    │   └── LimitExceededError        4   a limit that was set would be exceeded
    ├── BusyError                    75   another kafkabal works on this cluster or file, or a run is paused
    │   └── UnnamedHolderError       75   the cluster does not say yet which one
    └── InterruptedRunError     130/143   stopped by a signal, in a state that resume continues

The exit codes are a contract (``docs/exit-codes.md`` is generated from this module). A message is one line that names
what and where; a hint says what to do about it. Any exception that is not a :class:`KafkabalError` is a bug and keeps
its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from shlex import quote
from typing import Any

from kafkabal.wording import suggestion


class ExitCode(IntEnum):
    """Exit codes of every command, except ``--nagios``, which uses the monitoring-plugin codes."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    FINDINGS = 3
    UNSAFE = 4
    BUSY = 75
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_CODE_MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.DONE: "done; nothing wrong; nothing to do",
    ExitCode.FAILED: (
        "the operation failed: unreachable, refused by the cluster or at the prompt, or only part of it done"
    ),
    ExitCode.USAGE: "bad usage, bad configuration, bad input file",
    ExitCode.FINDINGS: (
        "findings: skew above the threshold or something broken (`--check`, `doctor`, `profiles check`, "
        "`watch --once`), a disk that will soon be full (`--full-within`), a change is pending "
        "(`--dry-run --exit-code`), "
        "a run is active or differs from the cluster (`status`), a run was stopped by `--max-runtime` or "
        "`rebalance cancel`, something broken could not be repaired or failed during the run, "
        "or a dead broker may still come back (`rebalance`, `--dead-after`)"
    ),
    ExitCode.UNSAFE: (
        "refused for safety: drift since the plan, other reassignments in flight, no feasible plan, limits exceeded"
    ),
    ExitCode.BUSY: "busy: another kafkabal works on this cluster or file, or a run is paused; try again later",
    ExitCode.INTERRUPTED: "interrupted by SIGINT; `resume` continues",
    ExitCode.TERMINATED: "interrupted by SIGTERM or SIGHUP; `resume` continues",
}


class KafkabalError(Exception):
    """Base of all our errors: one line for the user, an optional hint, and an exit code."""

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint is not None:
            # Python shows the note below an uncaught error
            self.add_note(f"hint: {hint}")

    @property
    def in_one_line(self) -> str:
        """The message, with the hint in parentheses if there is one."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # by default a copy in another process is made by calling the class with the message alone, which those with
        # more parameters refuse: the process that waits for a worker would get a TypeError instead of the error
        return _copy_of, (type(self), self.args), self.__dict__


def one_line(error: Exception) -> str:
    """An error as text within a line, with its hint if it has one."""
    return error.in_one_line if isinstance(error, KafkabalError) else str(error)


def _copy_of(kind: type[KafkabalError], args: tuple[Any, ...]) -> KafkabalError:
    return kind.__new__(kind, *args)


class UsageError(KafkabalError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = ExitCode.USAGE


class OptionError(UsageError):
    """The value of one option does not fit the cluster."""

    def __init__(self, option: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{option}: {reason}", hint=hint)
        self.option = option
        """As typed: ``--topics``."""
        self.reason = reason


def described(error: BaseException) -> str:
    """Type and message of an error of a plug-in or a library, in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def import_hint(error: BaseException) -> str | None:
    """Hint for a plug-in, named by the user, whose module is not found; None for any other error."""
    is_missing = isinstance(error, ModuleNotFoundError)
    return "install its package, or set PYTHONPATH to the folder of the module" if is_missing else None


_LONGEST_TOPIC = 249
"""Characters of a name that Kafka allows."""


def unknown_topic(topic: str, known: Iterable[str] = ()) -> UsageError:
    """The error that every command raises for a topic that the cluster does not have.

    Parameters
    ----------
    known
        The topics that it has; similar names are suggested.
    """
    # Kafka allows no name that a shell would need quoted
    is_name = quote(topic) == topic and len(topic) <= _LONGEST_TOPIC
    create = f", or create it with 'kafkabal create {topic} -p 12 -r 3'" if is_name else ""
    hint = suggestion(topic, tuple(known)) or f"list topics with 'kafkabal inspect --by topic'{create}"
    return UsageError(f"unknown topic: {topic!r:.{_LONGEST_TOPIC + 2}}", hint=hint)


class ConfigError(UsageError):
    """A profile, an environment variable or a client.properties file holds a wrong value."""


class InputFileError(UsageError):
    """A file given as input cannot be used; the line is named where there is one."""

    def __init__(self, path: Path | str, message: str, *, line: int | None = None, hint: str | None = None) -> None:
        name = "standard input" if str(path) == "-" else str(path)
        where = f"{name}, line {line}" if line is not None else name
        super().__init__(f"{where}: {message}", hint=hint)
        self.path = path
        self.line = line


class InvalidClusterError(UsageError):
    """The description of a cluster contradicts itself; ``broker_row`` or ``topic_row`` counts from 0 in its input."""

    def __init__(self, message: str, *, broker_row: int | None = None, topic_row: int | None = None) -> None:
        super().__init__(message)
        self.broker_row = broker_row
        self.topic_row = topic_row


class OperationError(KafkabalError):
    """The operation was tried and failed."""


class UnreachableError(OperationError):
    """No answer from a bootstrap server, a broker or another service within its deadline."""


class NoResponseError(UnreachableError):
    """A request was sent and got no response: it may have taken effect."""


class RefusedByClusterError(OperationError):
    """The cluster answered a request with an error."""


class NotAuthorizedError(RefusedByClusterError):
    """The principal lacks a permission."""


class TemporaryRefusalError(RefusedByClusterError):
    """The cluster cannot do it now, as long as too few replicas are in sync or a leader or controller is missing."""


class MissingCapabilityError(OperationError):
    """This back end, or this version of the brokers, cannot do what the command needs."""


class OutputError(OperationError):
    """A result could not be written; what stood there before is untouched."""


class PartialFailureError(OperationError):
    """Some items failed; the others were done.

    Parameters
    ----------
    message
        One line that counts what failed and what was done.
    failures
        Name of each failed item and the reason, in order.
    """

    def __init__(self, message: str, failures: Sequence[tuple[str, str]] = (), *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.failures = tuple(failures)


class FindingsError(KafkabalError):
    """The command worked and found what it was asked to find."""

    exit_code = ExitCode.FINDINGS


class UnsafeError(KafkabalError):
    """Refused: continuing could harm the cluster or break a rule."""

    exit_code = ExitCode.UNSAFE


class DriftError(UnsafeError):
    """The cluster is no longer what the plan was made for."""


class InfeasibleError(UnsafeError):
    """A hard rule that was asked for cannot be met."""


class LimitExceededError(UnsafeError):
    """A limit that the user set would be exceeded."""


class BusyError(KafkabalError):
    """Another kafkabal works on this cluster or file, or a run is paused."""

    exit_code = ExitCode.BUSY


class UnnamedHolderError(BusyError):
    """The holder of the lock has just come, or died as it came: the cluster does not name it yet."""


class InterruptedRunError(KafkabalError):
    """Stopped by a signal; the message describes the state that was left.

    Parameters
    ----------
    terminated
        True for SIGTERM (exit 143), False for SIGINT (exit 130).
    """

    def __init__(self, message: str, *, terminated: bool = False, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
