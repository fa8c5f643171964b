"""How a controller changes the configs of one resource (KIP-339)."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.clusters.cluster_protocol import ConfigChange, ConfigOperation, Fault
from kafkabal.model import FOLLOWER_REPLICAS, LEADER_REPLICAS

_ALL = "*"


def alter(values: dict[str, str], changes: Sequence[ConfigChange]) -> Fault | None:
    """Make all changes of a resource, or none of them and say why."""
    if len({change.key for change in changes}) < len(changes):
        return Fault("INVALID_REQUEST", "Error due to duplicate config keys")
    changed = {change.key: _changed(values.get(change.key), change) for change in changes}
    for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
        entries = _entries(changed.get(key))
        if _ALL in entries and len(entries) > 1:
            return Fault("INVALID_CONFIG", f"Invalid value [{', '.join(entries)}] for configuration {key}")
    for key, value in changed.items():
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return None


def _changed(value: str | None, change: ConfigChange) -> str | None:
    if change.value is None or change.operation is ConfigOperation.SET:
        return change.value
    entries = _entries(value)
    for entry in _entries(change.value):
        if change.operation is ConfigOperation.SUBTRACT:
            if entry in entries:
                entries.remove(entry)
        elif entry not in entries:
            entries.append(entry)
    return ",".join(entries)


def _entries(value: str | None) -> list[str]:
    return [e.strip() for e in (value or "").split(",") if e.strip()]
