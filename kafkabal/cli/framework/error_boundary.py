"""The last handler of all exceptions: a line for people, an exit code for programs."""

from __future__ import annotations

import errno
import os
import re
import traceback
from typing import TYPE_CHECKING

import typer

from kafkabal.cli.framework.environment_variables import environment_name
from kafkabal.cli.framework.nagios_output import NagiosStatus, is_requested, report_failure
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.cli.framework.unknown_name_hints import option_hint
from kafkabal.errors import (
    ExitCode,
    FindingsError,
    InterruptedRunError,
    KafkabalError,
    OperationError,
    OutputError,
    PartialFailureError,
    UsageError,
)
from kafkabal.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkabal.cli.framework.command_context import CommandContext

_FAILURES_SHOWN = 20
"""If thousands fail alike, the first screen says enough."""
_EXTRA = "Got unexpected extra argument(s) "
_NOT_A_CHOICE = re.compile(
    r"Invalid value for (?:'-\w' / )?'(?P<title>[^']+)': (?P<given>.*) is not one of (?P<choices>.*)"
)
"""Typer's words for a value that is not among the choices of an option."""
_OF_OUTPUT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""A full disk, a quota, a limit of file sizes, a terminal that is gone, a closed stream."""
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ESTALE})
"""A file of another user, a read-only file system, links in a circle, a server that is gone."""
_NO_THREAD = "can't start new thread"
"""Python's words if the memory or the number of threads of a process is limited."""


def exit_code_of(run: Callable[[], int], words: Sequence[str], context: CommandContext) -> int:
    """Run a command, and convert its result or its exception to an exit code.

    Parameters
    ----------
    words
        The command line; if it or the environment requests ``--nagios``, errors have the format and exit codes of a
        monitoring plugin.
    """
    try:
        code = run()
        context.stdout.flush()
    except BrokenPipeError:
        # the reader of our output has closed it, which is not an error
        context.drop_stdout()
        return NagiosStatus.UNKNOWN if is_requested(words, context.environ) else ExitCode.FAILED
    except typer.Exit as leave:
        return _flushed(context, leave.exit_code)
    except BaseException as error:  # noqa: BLE001 - no caller could handle it
        context.release_warnings(_failures(error))
        return _report(_as_ours(error), words, context)
    if code != ExitCode.DONE:
        context.release_warnings()
    return code


def _failures(error: BaseException) -> frozenset[str]:
    """The failures that an error lists, in the words of the run's warnings."""
    failures = error.failures if isinstance(error, PartialFailureError) else ()
    return frozenset(f"{name}: {reason}" for name, reason in failures)


def _as_ours(error: BaseException) -> BaseException:
    """Convert errors of typer, of writing to stdout, of refused files and of limits to ours; others stay unchanged."""
    if isinstance(error, typer.TyperException):
        return _usage_error(error)
    if isinstance(error, OSError) and error.errno in _OF_OUTPUT:
        return OutputError(f"cannot write the output: {os.strerror(error.errno)}")
    if isinstance(error, OSError) and error.errno in _REFUSED and error.filename is not None:
        return OperationError(
            f"cannot use {os.fsdecode(error.filename)}: {os.strerror(error.errno)}",
            hint="check the owner and the permissions of the file, and of the folders above it",
        )
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and str(error) == _NO_THREAD):
        what = "out of memory" if isinstance(error, MemoryError) else "cannot start a thread"
        return OperationError(what, hint="raise the limits of this process (ulimit, its container), then run it again")
    if isinstance(error, ValueError) and "closed file" in str(error):
        return OutputError("cannot write the output: closed")
    return error


def _usage_error(error: typer.TyperException) -> UsageError:
    message, hint = _reworded(error)
    ctx, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if ctx is None:
        return UsageError(message[:1].lower() + message[1:], hint=hint or "see 'kafkabal --help'")
    if parameter is not None and getattr(ctx.get_parameter_source(parameter.name), "name", "") == "DEFAULT_MAP":
        message = f"{environment_name(parameter)}: {message.removeprefix(f'{parameter.opts[-1]}: ')}"
    else:
        # a metavar, such as SHELL, stays as it is
        message = message if message[:2].isupper() else message[:1].lower() + message[1:]
    return UsageError(message, hint=hint or f"see '{ctx.command_path} --help'")


def _reworded(error: typer.TyperException) -> tuple[str, str]:
    """Typer's message in our words, and a hint if it suggests something."""
    if hasattr(error, "possibilities"):
        ctx, option, near = getattr(error, "ctx", None), getattr(error, "option_name", ""), error.possibilities or ()
        return error.message, option_hint(option, ctx, tuple(near)) or ""
    message = error.format_message().rstrip(".").replace("\n\t", " ").replace("\n", " ").replace("Value error, ", "")
    if choice := _NOT_A_CHOICE.fullmatch(message):
        choices = choice["choices"].replace("'", "")
        return f"{choice['title'].strip('[]')}: unknown value: {choice['given']}", f"choose from: {choices}"
    if message.startswith(_EXTRA):
        message = f"too many arguments: {message.removeprefix(_EXTRA).strip('()')!r}"
    return message, ""


def _report(error: BaseException, words: Sequence[str], context: CommandContext) -> int:
    if is_requested(words, context.environ) and not isinstance(error, KeyboardInterrupt):
        if not isinstance(error, KafkabalError):
            _report_bug(error, context)
        return report_failure(error, context)
    if isinstance(error, KafkabalError):
        return _report_ours(error, context)
    if isinstance(error, KeyboardInterrupt):
        terminated = isinstance(error, Terminated)
        context.complain("terminated" if terminated else "interrupted")
        return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
    if isinstance(error, SystemExit):
        return _code_of_exit(error, context)
    _report_bug(error, context)
    return ExitCode.FAILED


def _code_of_exit(error: SystemExit, context: CommandContext) -> int:
    """The exit code that the interpreter would use; a text means failure, and is shown."""
    if error.code is None or isinstance(error.code, int):
        return error.code or ExitCode.DONE
    context.complain(f"error: {error.code}")
    return ExitCode.FAILED


def _report_ours(error: KafkabalError, context: CommandContext) -> int:
    described = isinstance(error, FindingsError | InterruptedRunError)
    context.complain(error.message if described else f"error: {error.message}", error.hint)
    if isinstance(error, PartialFailureError):
        for name, reason in error.failures[:_FAILURES_SHOWN]:
            context.add(printable(f"  {name}: {reason}"))
        if len(error.failures) > _FAILURES_SHOWN:
            context.add(f"  and {len(error.failures) - _FAILURES_SHOWN} more")
    return error.exit_code


def _report_bug(error: BaseException, context: CommandContext) -> None:
    """Show the traceback, and say that this is a bug."""
    context.add("".join(traceback.format_exception(error)).rstrip("\n"))
    context.complain(
        f"error: {type(error).__name__}: this is a bug in kafkabal",
        hint="please report it with the traceback above",
    )


def _flushed(context: CommandContext, code: int) -> int:
    try:
        context.stdout.flush()
    except BrokenPipeError:
        context.drop_stdout()
    return code
