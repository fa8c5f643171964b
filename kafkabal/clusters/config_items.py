"""Configs of topics, brokers and subscriptions: their resource, the source of a value, and changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ResourceKind(StrEnum):
    """Kinds of resources that have configs."""

    TOPIC = "topic"
    BROKER = "broker"
    BROKER_DEFAULT = "broker-default"
    """The cluster-wide dynamic default; its name is empty."""
    CLIENT_METRICS = "client-metrics"
    """A subscription to metrics of clients (KIP-714)."""


class ConfigResource(NamedTuple):
    """A topic or subscription by name, a broker by id as text, or the cluster-wide default."""

    kind: ResourceKind
    name: str

    def __str__(self) -> str:
        return "cluster-wide default" if self.kind is ResourceKind.BROKER_DEFAULT else f"{self.kind} {self.name}"


class ConfigSource(StrEnum):
    """The source of the effective value."""

    OWN = "own"
    """Set dynamically on this resource itself."""
    CLUSTER_DEFAULT = "cluster-default"
    """The dynamic cluster-wide default."""
    STATIC = "static"
    """The broker's properties file."""
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """An effective value and its source; the value of a secret is None."""

    value: str | None
    source: ConfigSource


class ConfigOperation(StrEnum):
    """What a change does to a key (KIP-339)."""

    SET = "set"
    """Replace the current value."""
    APPEND = "append"
    """Add the entries that a list does not contain yet."""
    SUBTRACT = "subtract"
    """Remove entries from a list, each once; a list that loses its last entry stays, empty."""


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Set a key of a resource, change its list, or delete its own value so that the default applies again."""

    resource: ConfigResource
    key: str
    value: str | None
    """None deletes; the entries of a list are separated by commas."""
    operation: ConfigOperation = ConfigOperation.SET
