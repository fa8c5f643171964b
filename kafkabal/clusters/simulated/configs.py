"""Configs of a simulated cluster: effective values, and how a controller changes them (KIP-339)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.config_items import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    ResourceKind,
)
from kafkabal.clusters.simulated.cluster_parts import BUILT_IN_TOPIC_CONFIGS, ClusterParts, SimulatedBroker
from kafkabal.model import FOLLOWER_REPLICAS, LEADER_REPLICAS

_ALL = "*"


def own_configs(parts: ClusterParts, resource: ConfigResource) -> dict[str, str]:
    """The configs set on a resource itself."""
    if resource.kind is ResourceKind.BROKER_DEFAULT:
        return parts.default_configs
    if resource.kind is ResourceKind.BROKER:
        return parts.brokers[int(resource.name)].own_configs
    return parts.topics[resource.name].configs


def value_in_force(parts: ClusterParts, resource: ConfigResource, key: str) -> ConfigValue | None:
    """The value of a key and its source; None if it has no value."""
    own = own_configs(parts, resource)
    if key in own:
        is_default = resource.kind is ResourceKind.BROKER_DEFAULT
        return ConfigValue(own[key], ConfigSource.CLUSTER_DEFAULT if is_default else ConfigSource.OWN)
    if resource.kind is ResourceKind.TOPIC:
        if key in parts.default_configs:
            return ConfigValue(parts.default_configs[key], ConfigSource.CLUSTER_DEFAULT)
        built_in = BUILT_IN_TOPIC_CONFIGS.get(key)
        return None if built_in is None else ConfigValue(built_in, ConfigSource.BUILT_IN)
    return _inherited(parts.default_configs, parts.brokers.get(int(resource.name or -1)), key)


def _inherited(defaults: Mapping[str, str], broker: SimulatedBroker | None, key: str) -> ConfigValue | None:
    if key in defaults:
        return ConfigValue(defaults[key], ConfigSource.CLUSTER_DEFAULT)
    if broker is not None and key in broker.static_configs:
        return ConfigValue(broker.static_configs[key], ConfigSource.STATIC)
    return None


def alter(values: dict[str, str], changes: Sequence[ConfigChange]) -> Fault | None:
    """Apply all changes of a resource, or none of them; then return why."""
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
