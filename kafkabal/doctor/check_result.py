"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkabal.errors import KafkabalError


class CheckStatus(StrEnum):
    """The status of a check."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing to do."""
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "not checked"

    @property
    def is_finding(self) -> bool:
        """Whether something should be done about it."""
        return self in (CheckStatus.WARNING, CheckStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check."""

    area: str
    """``host``, ``network``, ``cluster`` or ``permissions``."""
    what: str
    status: CheckStatus
    detail: str
    hint: str = ""
    """What to do, for a finding."""


def failed(area: str, what: str, error: KafkabalError, status: CheckStatus = CheckStatus.FAILED) -> CheckResult:
    """A check that ended in an error; if the error has no hint, the hint is to read its message."""
    hint = error.hint or "see the message, and 'kafkabal inspect -vv' for what the libraries log"
    return CheckResult(area=area, what=what, status=status, detail=error.message, hint=hint)
