"""Output of a monitoring plugin: one line on stdout, exit code 0, 1, 2 or 3.

``STATUS - text | label=value[unit];warn;crit;min;max``, by the Monitoring Plugins development guidelines: UNKNOWN is
for bad arguments and internal failures; a cluster that does not respond is CRITICAL.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from enum import IntEnum
from math import isfinite
from typing import TYPE_CHECKING

from kafkabal.errors import UnreachableError
from kafkabal.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.inspection import Inspection

_SERVICE = "KAFKABAL"
_COMMAND = "inspect"
_FLAG = "--nagios"
_VARIABLE = "KAFKABAL_NAGIOS"
_ENDING_S = 0.5
"""The time that is reserved for the line and the end of the process, which took 0.4 s beside a load of 6."""
_SOON_S = 0.001
"""A timer of 0 never ends."""
_NO = frozenset({"", "0", "f", "false", "n", "no", "off"})


class NagiosStatus(IntEnum):
    """Exit codes of a monitoring plugin."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


def is_requested(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether the command line requests this format, or the environment does for the command that has it.

    This is checked for commands that failed, perhaps because their options could not be parsed. So any value other than
    a no counts as a yes: the user who set it expects the exit codes of a plugin.
    """
    return _FLAG in words or (words[:1] == [_COMMAND] and environ.get(_VARIABLE, "").strip().lower() not in _NO)


def nagios_status_of(inspection: Inspection, thresholds: tuple[float, float]) -> NagiosStatus:
    """The status of a cluster by its warning and critical thresholds."""
    from kafkabal.inspection import has_findings, is_broken

    warning, critical = thresholds
    if is_broken(inspection) or has_findings(inspection, critical):
        return NagiosStatus.CRITICAL
    return NagiosStatus.WARNING if has_findings(inspection, warning) else NagiosStatus.OK


def verdict_of(inspection: Inspection) -> str:
    """The verdict, and which log dirs are nearly full: not an imbalance, but a line with OK must not hide it."""
    from kafkabal.inspection import full_log_dirs, judge

    full = full_log_dirs(inspection.state)
    beside = f" {full[:1].upper()}{full[1:]}." if full else ""
    return f"{judge(inspection).sentence}{beside}"


def performance_data(inspection: Inspection, warning: float, critical: float, *, prefix: str = "") -> str:
    """The skew of every score in the format of a monitoring plugin: ``'disk skew'=0.41;0.10;0.25;0``.

    Only scores judged by thresholds show them. Counts are judged in whole replicas: their skew may be large and yet the
    minimum possible: ``'leaders skew'=0.5;;;0``. So may that of a nearly empty disk. ``prefix`` precedes each label if
    there are several clusters.
    """
    judged = _judged_by(inspection, warning) & _judged_by(inspection, critical)
    limits = f"{_number(warning)};{_number(critical)}"
    return " ".join(
        f"'{_label(prefix + scored.score.name)} skew'={_number(scored.evaluation.skew)};"
        f"{limits if scored.score.name in judged else ';'};0"
        for scored in inspection.scored
    )


def status_line(status: NagiosStatus, text: str, figures: str = "") -> str:
    """The status line; a ``|`` in the text would start the figures, so it is replaced."""
    line = f"{_SERVICE} {status.name} - {printable(text.replace('|', '/'))}"
    return f"{line} | {figures}" if figures else line


class _TimeUp(BaseException):
    """The time is up; no code that tries another broker after an error handles this."""


@contextmanager
def time_limit(limit_s: float | None, used_s: float = 0.0) -> Iterator[None]:
    """Abort the block after that many seconds; None sets no limit. Works on the main thread only.

    Parameters
    ----------
    used_s
        How many of them have passed already.

    Raises
    ------
    UnreachableError
        When the time is up.
    """
    if limit_s is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    try:
        try:
            # the signal may come with the next instruction
            signal.setitimer(signal.ITIMER_REAL, max(limit_s - used_s - min(_ENDING_S, limit_s / 10), _SOON_S))
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeUp:
        hint = "raise --timeout, or see 'kafkabal inspect -v'"
        raise UnreachableError(f"no result within {limit_s:g} s", hint=hint) from None
    finally:
        signal.signal(signal.SIGALRM, before)


def report_failure(error: BaseException, context: CommandContext) -> int:
    """Print the line for an error and return its status."""
    status = NagiosStatus.CRITICAL if isinstance(error, UnreachableError) else NagiosStatus.UNKNOWN
    try:
        print(status_line(status, str(error) or type(error).__name__), file=context.stdout, flush=True)
    except (OSError, ValueError):  # a full disk or a closed stream, which may be the very error
        context.drop_stdout()
        context.complain(f"error: {error}")
        return NagiosStatus.UNKNOWN
    return status


def _label(text: str) -> str:
    """Text that is legal between the quotes of a label: a quote is doubled, and there can be no equals sign."""
    return printable(text.replace("'", "''").replace("=", "_"))


def _judged_by(inspection: Inspection, threshold: float) -> frozenset[str]:
    """Scores that are outside their band wherever their skew exceeds the threshold."""
    from kafkabal.scoring import SHARE_EPSILON, RelativeBand

    outside = {scored.score.name for scored, _ in inspection.outside(threshold)}
    return frozenset(
        scored.score.name
        for scored in inspection.scored
        if isinstance(scored.score.band, RelativeBand)
        and (scored.score.name in outside or scored.evaluation.skew <= threshold + SHARE_EPSILON)
    )


def _number(value: float) -> str:
    """Digits and a point, as parsers of performance data require: no exponent, and U for unknown.

    Nine decimals: coarser ones could show a skew on the other side of its threshold.
    """
    return f"{value:.9f}".rstrip("0").rstrip(".") if isfinite(value) else "U"
