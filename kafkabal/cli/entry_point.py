"""The entry point: names for a shell are printed at once, everything else goes to the commands.

typer and what it needs take twice as long to import as the names take to find.
"""

from __future__ import annotations

import io
import sys

from kafkabal.printable import ESCAPED

_CANDIDATES = ["completion", "candidates"]


def main() -> int:
    """Run the command line of the process; returns its exit code."""
    words = sys.argv[1:]
    if isinstance(sys.stdout, io.TextIOWrapper):  # None if the process was started without one
        sys.stdout.reconfigure(errors=ESCAPED)
    if words[:2] == _CANDIDATES:
        from kafkabal.cli.framework.command_context import CommandContext
        from kafkabal.cli.framework.completion.quick_candidates import quick_candidates

        context = CommandContext()
        names = quick_candidates(words[2:], context)
        if names is not None:
            context.show_result(names)
            return 0
    from kafkabal.cli.framework.termination_signals import end_at_next_interrupt
    from kafkabal.cli.main import main as run
    from kafkabal.errors import ExitCode

    code = run(words)
    if code == ExitCode.INTERRUPTED:
        end_at_next_interrupt()
    return code
