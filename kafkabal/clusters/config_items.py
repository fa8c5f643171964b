"""Configs of topics, brokers and subscriptions: whose they are, where a value comes from, and how one is changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ResourceKind(StrEnum):
    """What has configs."""

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
    """Where the value in force comes from."""

    OWN = "own"
    """Set dynamically on this resource itself."""
    CLUSTER_DEFAULT = "cluster-default"
    """The dynamic cluster-wide default."""
    STATIC = "static"
    """The broker's properties file."""
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A value in force, and where it comes from; the value of a secret is None."""

    value: str | None
    source: ConfigSource


class ConfigOperation(StrEnum):
    """What a change does to a key (KIP-339)."""

    SET = "set"
    """Put the value in place of what is there."""
    APPEND = "append"
    """Add those entries to a list that are not in it."""
    SUBTRACT = "subtract"
    """Take entries off a list, each one once; a list that loses its last entry stays, empty."""


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Set a key of a resource, change its list, or delete its own value so that a default shows again."""

    resource: ConfigResource
    key: str
    value: str | None
    """None deletes; for a list, its entries with commas between them."""
    operation: ConfigOperation = ConfigOperation.SET
