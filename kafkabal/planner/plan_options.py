"""What a user may ask of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT, DEFAULT_PLAN_TOLERANCE
from kafkabal.errors import UsageError
from kafkabal.plan import Plan
from kafkabal.units import percent_as_option

if TYPE_CHECKING:  # the command line imports this file for its help, which must not wait for numpy
    from kafkabal.scoring import WeightedScore

BUDGETS = ("max_bytes", "max_cross_rack_bytes", "max_moves", "max_leader_changes", "max_duration_s")
"""Options that limit how much of a plan is made."""


class Mode(StrEnum):
    """Which part of the work a plan does."""

    FULL = "full"
    """Repair what breaks a rule, then bring every score inside its band."""
    REPAIR_ONLY = "repair-only"
    """Racks and replicas on dead, drained or excluded holders only."""
    LEADERS_ONLY = "leaders-only"
    """Leadership only; no byte moves."""
    LOG_DIRS_ONLY = "log-dirs-only"
    """Only between log dirs of the same broker."""
    ONLY_TO_NEW = "only-to-new"
    """Only onto brokers that hold nothing yet."""

    @property
    def moves_replicas(self) -> bool:
        """Whether a replica may come to another broker."""
        return self not in {Mode.LEADERS_ONLY, Mode.LOG_DIRS_ONLY}

    @property
    def balances_log_dirs(self) -> bool:
        """Whether the log dirs of a broker are balanced."""
        return self in {Mode.FULL, Mode.LOG_DIRS_ONLY, Mode.ONLY_TO_NEW}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLimit:
    """The most that a broker may hold; None sets no limit."""

    replicas: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What a plan should do. Equal clusters and equal options give equal plans.

    Raises
    ------
    UsageError
        If a value is outside its range, or two contradict each other.
    """

    tolerance: float = DEFAULT_PLAN_TOLERANCE
    """Half the width of every band, as a fraction of the mean; 0 <= tolerance < 1."""
    scores: tuple[WeightedScore, ...] = ()
    """Empty: the default scores."""
    mode: Mode = Mode.FULL
    below: float | None = None
    """Only move data off brokers whose disk usage is above this fraction; 0 < below <= 1."""
    drain: frozenset[int] = frozenset()
    """Ids of brokers to drain."""
    exclude_brokers: frozenset[int] = frozenset()
    """Ids of brokers that receive neither replicas nor leadership."""
    topics: tuple[str, ...] = ()
    """Shell patterns of topics that may move; empty: all."""
    exclude_topics: tuple[str, ...] = ()
    """Shell patterns of topics that do not move; their load still counts."""
    include_internal: bool = False
    """Whether internal topics may move too."""
    max_bytes: int | None = None
    """Most bytes that may be copied to brokers which held no copy before."""
    max_cross_rack_bytes: int | None = None
    """Most of these bytes that may come from a leader in another rack."""
    max_moves: int | None = None
    """Most replicas that may change their broker."""
    max_leader_changes: int | None = None
    max_duration_s: float | None = None
    """Longest time that the bytes of any broker may take at :attr:`throttle_bytes_per_s`."""
    throttle_bytes_per_s: int | None = None
    log_dir_limit: float = DEFAULT_LOG_DIR_LIMIT
    """Fraction of a volume that is never exceeded; 0 < limit <= 1."""
    broker_limits: Mapping[int, BrokerLimit] = field(default_factory=dict)
    """By broker id."""
    replication_factor: int | None = None
    """New replication factor of every topic that may move; None keeps each topic's own."""
    keep_moved: tuple[Plan, ...] = ()
    """Earlier plans: replicas that they brought to a broker stay there unless a rule makes them leave."""
    seed: int = 0
    """Recorded in the plan; equal seeds give equal plans."""

    def __post_init__(self) -> None:
        _check(
            0 <= self.tolerance < 1,
            f"the tolerance of a plan must be at least 0% and below 100% ({percent_as_option(self.tolerance)})",
        )
        for name, share in (("--below", self.below), ("log dir limit", self.log_dir_limit)):
            _check(
                share is None or 0 < share <= 1,
                f"{name} must be above 0% and at most 100% ({percent_as_option(share or 0.0)})",
            )
        for name in BUDGETS:
            value = getattr(self, name)
            _check(value is None or value >= 0, f"{name.replace('_', ' ')} must not be negative: {value}")
        for name in ("drain", "replication_factor"):
            _check(
                self.mode.moves_replicas or not getattr(self, name),
                f"--{self.mode} and --{name.replace('_', '-')} cannot be combined: no replica may move",
            )
        others = [w.score.name for w in self.scores if w.score.name != "disk"]
        _check(
            self.below is None or not others,
            f"--below supports only the score disk, not {', '.join(others)}",
            hint="leave out --score, or use --score disk",
        )
        _check(
            self.max_duration_s is None or bool(self.throttle_bytes_per_s),
            "--max-duration requires a throttle with a rate",
            hint="add a rate, as in --throttle 50MB/s",
        )
        _check(
            self.replication_factor is None or self.replication_factor > 0,
            f"replication factor must be above 0, not {self.replication_factor}",
        )

    def as_json(self) -> dict[str, Any]:
        """Options that differ from their defaults, in the JSON types of the plan file."""
        plain = PlanOptions()
        given = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) != getattr(plain, name)}
        return {"tolerance": self.tolerance, **{name: _json(value) for name, value in sorted(given.items())}}


def _check(holds: bool, message: str, hint: str | None = None) -> None:
    if not holds:
        raise UsageError(message, hint=hint)


def _named(value: str | Plan | WeightedScore) -> str:
    if isinstance(value, str):
        return value
    return value.plan_id if isinstance(value, Plan) else f"{value.score.name}={value.weight:g}"


def _json(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_named(v) for v in value]
    if isinstance(value, dict):
        return {str(k): {"replicas": v.replicas, "bytes": v.bytes} for k, v in sorted(value.items())}
    return value
