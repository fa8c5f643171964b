"""What the requests of a journal have set in configs and not removed since.

Brokers that are busy show a change late. A process that reopens a run then finds nothing to restore, although the one
that was killed has set it: only the journal tells that something will still be shown.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from kafkabal.clusters import ConfigOperation
from kafkabal.executor.state.journal_records import EffectKind, Intended
from kafkabal.json_decoders import converted

_Change: TypeAlias = str | dict[str, str] | None
"""As a journal has it: a value, entries by operation, or None to delete it."""


@dataclass(frozen=True, slots=True)
class SetConfig:
    """Entries of a list, or the value of another config, that requests have set."""

    values: frozenset[str] = frozenset()
    last_at: str = ""
    """When the last request that set any of them was about to be sent."""

    def age_s(self, now: datetime) -> float:
        """Seconds since then; clocks may be set, so a time to come, or one that cannot be read, counts as now."""
        try:
            at = datetime.fromisoformat(self.last_at)
        except ValueError:
            return 0.0
        return max((now - (at if at.tzinfo else at.replace(tzinfo=UTC))).total_seconds(), 0.0)


class SetConfigs(dict[tuple[str, str], SetConfig]):
    """By resource, as journals name it, and key.

    Requests that may have failed count too: what they have set may still be shown.
    """

    def take(self, request: Intended) -> None:
        """Follow one request."""
        if request.kind is not EffectKind.CONFIGS:
            return
        with suppress(msgspec.ValidationError):  # not written by kafkabal
            for resource, changes in converted(request.items, dict[str, dict[str, _Change]]).items():
                for key, change in changes.items():
                    self[resource, key] = _after(self.get((resource, key), SetConfig()), change, request.at)


def _after(before: SetConfig, change: _Change, at: str) -> SetConfig:
    if not isinstance(change, dict):
        return SetConfig(frozenset() if change is None else frozenset({change}), at)
    added = _entries(change, ConfigOperation.APPEND)
    values = (before.values | added) - _entries(change, ConfigOperation.SUBTRACT)
    return SetConfig(values, at if added else before.last_at)


def _entries(change: dict[str, str], operation: ConfigOperation) -> frozenset[str]:
    return frozenset(filter(None, change.get(operation.value, "").split(",")))
