"""The permissions that each step of a command needs: the table of ``docs/permissions.md``, which a test compares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from kafkabal.clusters.kafka import LOCK_GROUP, RECORDS_TOPIC, Operation
from kafkabal.doctor.purpose import Purpose


class ResourceType(StrEnum):
    """What a permission is for."""

    CLUSTER = "Cluster"
    TOPIC = "Topic"
    GROUP = "Group"


class Need(NamedTuple):
    """A permission."""

    operation: Operation
    on: ResourceType
    name: str = ""
    """``*`` for all; empty for the cluster."""

    def __str__(self) -> str:
        return f"{self.operation} on {self.on} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Step:
    """Something that commands do, and the permissions that it needs."""

    name: str
    purposes: frozenset[Purpose]
    needs: tuple[Need, ...]
    is_optional: bool = False
    """Commands do without it, and say what is missing then."""


_ALL = frozenset(Purpose)
_INSPECT = frozenset({Purpose.INSPECT, Purpose.REBALANCE})
_MOVE = frozenset({Purpose.REBALANCE, Purpose.WATCH})
_REBALANCE = frozenset({Purpose.REBALANCE})
_TELEMETRY = frozenset({Purpose.TELEMETRY})

_DESCRIBE_CLUSTER = Need(Operation.DESCRIBE, ResourceType.CLUSTER)
_DESCRIBE_TOPICS = Need(Operation.DESCRIBE, ResourceType.TOPIC, "*")
_READ = (_DESCRIBE_CLUSTER, _DESCRIBE_TOPICS)
_ALTER = (Need(Operation.ALTER, ResourceType.CLUSTER),)

STEPS: Final = (
    Step("read the cluster", _ALL, _READ),
    Step("read offsets", _INSPECT, _READ),
    Step(
        "read configs of topics",
        _INSPECT | {Purpose.CREATE},
        (*_READ, Need(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*")),
    ),
    Step("read committed offsets", _INSPECT, (*_READ, Need(Operation.DESCRIBE, ResourceType.GROUP, "*")), True),
    Step("create topics", frozenset({Purpose.CREATE}), (Need(Operation.CREATE, ResourceType.CLUSTER),)),
    Step("move replicas", _MOVE, _ALTER),
    Step("move replicas between log dirs", _MOVE, _ALTER),
    Step("elect leaders", _MOVE, _ALTER),
    Step("follow moves", _MOVE, _READ),
    Step(
        "read throttles",
        _MOVE,
        (
            Need(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
            Need(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*"),
        ),
    ),
    Step(
        "set throttles",
        _MOVE,
        (Need(Operation.ALTER_CONFIGS, ResourceType.CLUSTER), Need(Operation.ALTER_CONFIGS, ResourceType.TOPIC, "*")),
    ),
    Step("read subscriptions", _TELEMETRY, (Need(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),)),
    Step("change subscriptions", _TELEMETRY, (Need(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),)),
    Step(
        "take the lock of watch",
        frozenset({Purpose.WATCH}),
        (Need(Operation.READ, ResourceType.GROUP, f"{LOCK_GROUP}-watch"),),
    ),
    Step("take the lock", _MOVE, (Need(Operation.READ, ResourceType.GROUP, LOCK_GROUP),), True),
    Step(
        "write the run record",
        _MOVE,
        (
            Need(Operation.CREATE, ResourceType.TOPIC, RECORDS_TOPIC),
            Need(Operation.WRITE, ResourceType.TOPIC, RECORDS_TOPIC),
        ),
        True,
    ),
    Step("read the run record", _MOVE, (Need(Operation.READ, ResourceType.TOPIC, RECORDS_TOPIC),), True),
)
