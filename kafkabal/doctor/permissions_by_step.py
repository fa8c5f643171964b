"""The permissions that each step of a command needs: the table in ``docs/permissions.md``, which a test compares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from kafkabal.clusters.kafka import LOCK_GROUP, RECORDS_TOPIC, Operation
from kafkabal.doctor.purpose import Purpose


class ResourceType(StrEnum):
    """What a permission applies to."""

    CLUSTER = "Cluster"
    TOPIC = "Topic"
    GROUP = "Group"


class PermissionNeed(NamedTuple):
    """A permission."""

    operation: Operation
    on: ResourceType
    name: str = ""
    """``*`` for all; empty for the cluster."""

    def __str__(self) -> str:
        return f"{self.operation} on {self.on} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class PermissionStep:
    """A step of commands, and the permissions it needs."""

    name: str
    purposes: frozenset[Purpose]
    needs: tuple[PermissionNeed, ...]
    is_optional: bool = False
    """Commands work without it, and warn about what they lack."""


_ALL = frozenset(Purpose)
_INSPECT = frozenset({Purpose.INSPECT, Purpose.REBALANCE})
_MOVE = frozenset({Purpose.REBALANCE, Purpose.WATCH})
_TELEMETRY = frozenset({Purpose.TELEMETRY})

_DESCRIBE_CLUSTER = PermissionNeed(Operation.DESCRIBE, ResourceType.CLUSTER)
_DESCRIBE_TOPICS = PermissionNeed(Operation.DESCRIBE, ResourceType.TOPIC, "*")
_READ = (_DESCRIBE_CLUSTER, _DESCRIBE_TOPICS)
_ALTER = (PermissionNeed(Operation.ALTER, ResourceType.CLUSTER),)

STEPS: Final = (
    PermissionStep("read the cluster", _ALL, _READ),
    PermissionStep("read offsets", _INSPECT, _READ),
    PermissionStep(
        "read configs of topics",
        _INSPECT | {Purpose.CREATE},
        (*_READ, PermissionNeed(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*")),
    ),
    PermissionStep(
        "read committed offsets", _INSPECT, (*_READ, PermissionNeed(Operation.DESCRIBE, ResourceType.GROUP, "*")), True
    ),
    PermissionStep(
        "create topics", frozenset({Purpose.CREATE}), (PermissionNeed(Operation.CREATE, ResourceType.CLUSTER),)
    ),
    PermissionStep("move replicas", _MOVE, _ALTER),
    PermissionStep("move replicas between log dirs", _MOVE, _ALTER),
    PermissionStep("elect leaders", _MOVE, _ALTER),
    PermissionStep("follow moves", _MOVE, _READ),
    PermissionStep(
        "read throttles",
        _MOVE,
        (
            PermissionNeed(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
            PermissionNeed(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*"),
        ),
    ),
    PermissionStep(
        "set throttles",
        _MOVE,
        (
            PermissionNeed(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
            PermissionNeed(Operation.ALTER_CONFIGS, ResourceType.TOPIC, "*"),
        ),
    ),
    PermissionStep(
        "read subscriptions", _TELEMETRY, (PermissionNeed(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),)
    ),
    PermissionStep(
        "change subscriptions", _TELEMETRY, (PermissionNeed(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),)
    ),
    PermissionStep(
        "take the lock of watch",
        frozenset({Purpose.WATCH}),
        (PermissionNeed(Operation.READ, ResourceType.GROUP, f"{LOCK_GROUP}-watch"),),
    ),
    PermissionStep("take the lock", _MOVE, (PermissionNeed(Operation.READ, ResourceType.GROUP, LOCK_GROUP),), True),
    PermissionStep(
        "write the run record",
        _MOVE,
        (
            PermissionNeed(Operation.CREATE, ResourceType.TOPIC, RECORDS_TOPIC),
            PermissionNeed(Operation.WRITE, ResourceType.TOPIC, RECORDS_TOPIC),
        ),
        True,
    ),
    PermissionStep(
        "read the run record", _MOVE, (PermissionNeed(Operation.READ, ResourceType.TOPIC, RECORDS_TOPIC),), True
    ),
)
