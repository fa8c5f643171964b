"""A plan: which partitions change, from what to what, at what cost, and why.

A plan is plain data: the planner creates it, a file stores it, the executor applies it; none of them owns it. It names
brokers by id and log dirs by path, since it outlives the state it was made from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec

from kafkabal.input_files import Int32
from kafkabal.model import TopicPartition
from kafkabal.wording import counted_noun

PLAN_FORMAT = 2
ANY_DIR = "any"


class Action(StrEnum):
    """What a plan changes about a partition; if several apply, the most expensive one."""

    MOVE = "move"
    """At least one replica is added to or removed from a broker."""
    LOG_DIR = "log-dir"
    """Only copies between log dirs of the same broker."""
    REORDER = "reorder"
    """The same replicas in another order, so another preferred leader."""
    ELECT = "elect"
    """Only an election of the preferred leader."""


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """The placement of a partition when the plan was made."""

    replicas: tuple[Int32, ...]
    leader: Int32
    """Broker id, -1 if there was none."""
    log_dirs: tuple[str, ...]
    """Path for each replica, ``any`` if unknown."""

    def __post_init__(self) -> None:
        if len(self.log_dirs) != len(self.replicas):
            raise ValueError(f"{len(self.log_dirs)} log_dirs for {counted_noun(len(self.replicas), 'replica')}")


class PartitionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a plan; the first of ``replicas`` is to lead. A run stores it as ``RunPartition``."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]
    """Path for each replica; ``any`` if it is unchanged or the broker may choose."""
    action: Action = Action.MOVE
    previous: Placement | None = None
    """None in a plan written by another tool."""
    bytes: int = 0
    """Bytes copied to brokers without a previous copy; a copy of unknown size counts as 0."""
    log_dir_bytes: int = 0
    """Bytes copied between log dirs of one broker."""
    reason: str = ""

    @property
    def name(self) -> TopicPartition:
        """The name of the partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def to_add(self) -> tuple[int, ...]:
        """Brokers that receive a copy, in the order of ``replicas``; all of them if the previous placement is
        unknown."""
        held = self.previous.replicas if self.previous else ()
        return tuple(b for b in self.replicas if b not in held)

    @property
    def to_remove(self) -> tuple[int, ...]:
        """Brokers that lose their copy."""
        held = self.previous.replicas if self.previous else ()
        return tuple(b for b in held if b not in self.replicas)


class ScoreChange(msgspec.Struct, frozen=True, kw_only=True):
    """A score before and after, over the brokers that count."""

    before: Mapping[str, float]
    """``max`` and ``min`` share, ``skew``, and ``outside``: the number of holders outside their band."""
    after: Mapping[str, float]


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All changes, and what they were computed from. Partitions are sorted by topic and number."""

    partitions: tuple[PartitionChange, ...]
    cluster_id: str | None = None
    taken_at: str | None = None
    options: Mapping[str, Any] = {}
    """Options that affected the plan, by name, in JSON types."""
    seed: int = 0
    bound_bytes: int | None = None
    """A lower bound: no plan that reaches the same bands under the same rules moves fewer bytes; None if unknown."""
    cross_rack_bytes: int | None = None
    """Bytes copied from a leader in another rack; None if not all brokers have a rack."""
    scores: Mapping[str, ScoreChange] = {}
    warnings: tuple[str, ...] = ()
    """What could not be achieved, and why, one line each."""
    unrepaired: tuple[str, ...] = ()
    """The warnings about broken partitions that stay broken."""
    topic_ids: Mapping[str, str] = {}
    """Ids of the planned topics, if known: a topic that was deleted and created again has another id."""

    @property
    def drained(self) -> frozenset[int]:
        """Brokers that the plan was asked to empty."""
        return frozenset(self.options.get("drain", ()))

    @cached_property
    def moved_bytes(self) -> int:
        """Bytes copied to brokers without a previous copy."""
        return sum(change.bytes for change in self.partitions)

    @cached_property
    def log_dir_bytes(self) -> int:
        """Bytes copied between log dirs of one broker."""
        return sum(change.log_dir_bytes for change in self.partitions)

    @cached_property
    def plan_id(self) -> str:
        """Hash of what matters (placement before and after, options), but not of times, paths, versions or order."""
        content = [
            self.cluster_id,
            sorted(self.options.items()),
            [
                (c.topic, c.partition, c.replicas, c.log_dirs, c.action, c.previous)
                for c in sorted(self.partitions, key=attrgetter("topic", "partition"))
            ],
        ]
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]
