"""The entry point: names for a shell are printed at once, everything else goes to the commands.

typer and what it needs take twice as long to import as the names take to find. This module itself imports little, since
signals are not handled before.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress

_CANDIDATES = ["completion", "candidates"]
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables from which OpenBLAS takes its number of threads, when numpy loads it."""
_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
"""``ExitCode.INTERRUPTED`` and ``ExitCode.TERMINATED``, whose module is not imported yet."""
_BY_DEFAULT = (signal.default_int_handler, signal.SIG_DFL)


def main() -> int:
    """Run the command line of the process; returns its exit code."""
    occupy_standard_descriptors()
    # ignored ones stay so
    replaced = {number: found for number in _CODES if (found := signal.getsignal(number)) in _BY_DEFAULT}
    for number in replaced:
        # an exception amid the imports would be a traceback, and code in C may turn it into another one; a process that
        # a signal ends has no exit code
        signal.signal(number, _end)
    if not any(name in os.environ for name in _BLAS_THREADS):
        # its threads, one for each core, would spin for 0.1 s each and then wait for products of matrices, of which
        # there are none; 'inspect' took 0.55 s of processor time instead of 0.45 s, on two cores
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from kafkabal.printable import ESCAPED

    words = sys.argv[1:]
    if isinstance(sys.stdout, io.TextIOWrapper):  # None if the process was started without one
        sys.stdout.reconfigure(errors=ESCAPED)
    from kafkabal.cli.framework.command_context import CommandContext

    if words[:2] == _CANDIDATES:
        from kafkabal.cli.framework.completion.quick_candidates import quick_candidates

        context = CommandContext()
        names = quick_candidates(words[2:], context)
        if names is not None:
            context.show_result(names)
            return 0
    from kafkabal.cli.framework.process_age import process_age_s
    from kafkabal.cli.framework.termination_signals import end_at_next_interrupt
    from kafkabal.cli.main import main as run
    from kafkabal.errors import ExitCode

    for number, handler in replaced.items():
        signal.signal(number, handler)
    code = run(words, CommandContext(begun_ago_s=process_age_s))
    if code == ExitCode.INTERRUPTED:
        end_at_next_interrupt()
    return code


def occupy_standard_descriptors() -> None:
    """Open the null device for each standard stream that the process was started without (``2>&-``).

    Otherwise the next file gets its number, such as the journal of a run, and what a library writes to its standard
    error would damage it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):  # a root folder without /dev
                os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _end(number: int, _: object) -> None:
    """End the process, which has begun nothing yet."""
    try:
        os.write(2, b"kafkabal: interrupted\n" if number == signal.SIGINT else b"kafkabal: terminated\n")
    finally:
        os._exit(_CODES[signal.Signals(number)])
