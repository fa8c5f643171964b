"""The report of ``doctor``: every check, and what to do about each finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkabal.doctor import CheckResult, CheckStatus
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone
from kafkabal.wording import counted_noun

_TONES: Final[Mapping[CheckStatus, Tone]] = {
    CheckStatus.OK: Tone.GOOD,
    CheckStatus.NOTE: Tone.PLAIN,
    CheckStatus.WARNING: Tone.WARNING,
    CheckStatus.FAILED: Tone.BAD,
    CheckStatus.SKIPPED: Tone.FAINT,
}


def doctor_report(checks: Sequence[CheckResult]) -> Report:
    """One row per check, findings first, and a note for each finding."""
    checks = sorted(checks, key=lambda check: not check.status.is_finding)
    findings = [check for check in checks if check.status.is_finding]
    count = counted_noun(len(findings), "finding") if findings else "no findings"
    return Report(
        command="doctor",
        headline=f"{count} in {counted_noun(len(checks), 'check')}",
        tone=_TONES[CheckStatus.WARNING] if findings else Tone.GOOD,
        facts=(Fact(key="findings", value=len(findings)),),
        tables=(
            Table(
                key="checks",
                columns=(
                    Column(
                        key="status",
                        title="status",
                        values=[check.status.value for check in checks],
                        tones=[_TONES[check.status] for check in checks],
                    ),
                    Column(key="area", title="area", values=[check.area for check in checks], dispensable=2),
                    Column(key="check", title="check", values=[check.what for check in checks], label=True, wraps=True),
                    Column(
                        key="detail",
                        title="detail",
                        values=[check.detail for check in checks],
                        wraps=True,
                        dispensable=1,
                    ),
                    Column(key="hint", title="", values=[check.hint for check in checks]),
                ),
            ),
        ),
        notes=tuple(f"{check.what}: {check.hint}" for check in findings),
    )
