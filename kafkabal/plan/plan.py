"""A plan: which partitions change, from what to what, at what price, and why.

A plan is neutral data: the planner makes it, a file carries it, the executor applies it, and none owns it.
Brokers are named by id and log dirs by path, since a plan outlives the state that it was made from.
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
    """What a listed partition asks for; more than one thing may hold, the weightiest names it."""

    MOVE = "move"
    """At least one replica comes to a broker, or leaves it."""
    LOG_DIR = "log-dir"
    """Only copies between log dirs of the same broker."""
    REORDER = "reorder"
    """The same replicas in another order, so another preferred leader."""
    ELECT = "elect"
    """Nothing but an election of the preferred leader."""


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Placement of a partition when the plan was made."""

    replicas: tuple[Int32, ...]
    leader: Int32
    """Broker id, -1 where there was none."""
    log_dirs: tuple[str, ...]
    """Path for each replica, ``any`` where it was not known."""

    def __post_init__(self) -> None:
        if len(self.log_dirs) != len(self.replicas):
            raise ValueError(f"{len(self.log_dirs)} log_dirs for {counted_noun(len(self.replicas), 'replica')}")


class PartitionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a plan; the first of ``replicas`` is to lead. A run keeps it as ``RunPartition``."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]
    """Path for each replica, ``any`` where it stays as it is or where the broker may choose."""
    action: Action = Action.MOVE
    previous: Placement | None = None
    """None in a plan that another tool wrote."""
    bytes: int = 0
    """What comes to brokers that held no copy before; a copy of unknown size counts 0."""
    log_dir_bytes: int = 0
    """What is copied between log dirs of one broker."""
    reason: str = ""

    @property
    def name(self) -> TopicPartition:
        """Which partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def to_add(self) -> tuple[int, ...]:
        """Brokers that get a copy, in the order of ``replicas``; all of them where the past is not known."""
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
    """``max`` and ``min`` share, ``skew``, and ``outside``: how many holders are outside their band."""
    after: Mapping[str, float]


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All changes, with what they were computed from. Partitions are sorted by topic and number."""

    partitions: tuple[PartitionChange, ...]
    cluster_id: str | None = None
    taken_at: str | None = None
    options: Mapping[str, Any] = {}
    """Options that shaped the plan, by name, in JSON types."""
    seed: int = 0
    bound_bytes: int | None = None
    """No plan that reaches the same bands under the same rules can move fewer bytes; None if no bound is known."""
    cross_rack_bytes: int | None = None
    """Bytes that come from a leader in another rack; None if not all brokers have a rack."""
    scores: Mapping[str, ScoreChange] = {}
    warnings: tuple[str, ...] = ()
    """What could not be reached, and why, one line each."""
    unrepaired: tuple[str, ...] = ()
    """Those of the warnings that name broken partitions which stay broken."""
    topic_ids: Mapping[str, str] = {}
    """Id of each planned topic, as far as it is known: one that is created again under its name is another topic."""

    @property
    def drained(self) -> frozenset[int]:
        """Brokers that the plan was asked to empty."""
        return frozenset(self.options.get("drain", ()))

    @cached_property
    def moved_bytes(self) -> int:
        """Bytes that come to brokers which held no copy before."""
        return sum(change.bytes for change in self.partitions)

    @cached_property
    def log_dir_bytes(self) -> int:
        """Bytes copied between log dirs of one broker."""
        return sum(change.log_dir_bytes for change in self.partitions)

    @cached_property
    def plan_id(self) -> str:
        """Hash of what matters (placement before and after, options), not of times, paths, versions or order."""
        content = [
            self.cluster_id,
            sorted(self.options.items()),
            [
                (c.topic, c.partition, c.replicas, c.log_dirs, c.action, c.previous)
                for c in sorted(self.partitions, key=attrgetter("topic", "partition"))
            ],
        ]
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]
