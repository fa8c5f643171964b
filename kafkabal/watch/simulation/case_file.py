"""Reads a case from YAML.

::

    kafkabal_case: 1                    # version of this format
    seed: 7
    step: 2h                            # how often sizes change
    growth: {per_day: 2%, spread: 50%, noise: 30%, retention: 7d}
    faults: [{broker: 3, at: 12d, for: 6h, kind: dead}, {broker: 1, at: 30d, for: forever}]
    random_faults: {every: 5d, for: 8h, kind: dead}
    new_brokers: [{broker: 7, at: 30d, like: 1, rack: r0}]
    watch: {heal: all, dead_after: 30m, move_after: 2h, rebalance_above: 20%, tolerance: 9%, window: "01:00-05:00",
            max_bytes_per_day: 500GB, max_actions_per_day: 24, max_dead: 1, throttle: 50MB/s}

Every key but the version is optional. Numbers beyond their limits are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from kafkabal.config import (
    Range,
    Schema,
    TimeWindow,
    YamlNode,
    positive_size,
    positive_whole,
    read_fields,
    read_filled_yaml,
    value_parsers,
    within,
    word,
)
from kafkabal.units import DAY_S, format_duration, percent_as_option
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.simulation.simulation_case import (
    BrokerFault,
    FaultKind,
    GrowthTrend,
    JoiningBroker,
    RandomFaults,
    SimulationCase,
)

T = TypeVar("T")

CASE_VERSION: Final = 1
MOST_DAYS: Final = 3650
"""Ten years; a typing error must not simulate for days."""
_MOST_ENTRIES: Final = 1000
"""Most entries of one list in a case, more than are written by hand."""
_FOREVER: Final = "forever"


def read_case(path: Path) -> SimulationCase:
    """Read a case.

    Raises
    ------
    UsageError
        If the file cannot be read, is empty, malformed or of a later version, or a key or value is wrong; names the
        line.
    """
    node = read_filled_yaml(path)
    fields = read_fields(node, _CASE, "a case")
    version = fields.pop("version", None)
    if version is None:
        raise node.error("not a case: no kafkabal_case", hint=f"begin it with 'kafkabal_case: {CASE_VERSION}'")
    if version > CASE_VERSION:
        raise node.error(f"version {version} is later than {CASE_VERSION}", hint="update kafkabal")
    watch: dict[str, Any] = fields.pop("watch", {})
    throttle = watch.pop("throttle", "auto")
    policy = HealPolicy(**{"level": HealLevel.ALL, **watch})
    if policy.level is HealLevel.ALL and policy.inner_tolerance >= policy.outer_tolerance:
        raise node.error("watch: rebalance_above must exceed tolerance")
    return SimulationCase(policy=policy, throttle=None if throttle == "none" else throttle, **fields)


def _signed_fraction(node: YamlNode) -> float:
    """A fraction that may be negative, such as -1%."""
    text = value_parsers.text(node)
    if not text.startswith("-"):
        return value_parsers.percent(node)
    return -value_parsers.percent(YamlNode(text[1:], node.place))


_time = within("a time", value_parsers.grace, Range(0, MOST_DAYS * DAY_S), format_duration)
"""A time counted from the beginning; a bare 0 is the beginning itself."""
_some_time = within("a time", value_parsers.some_time, Range(1, MOST_DAYS * DAY_S), format_duration)


def _lasting(node: YamlNode) -> float:
    is_forever = value_parsers.text(node) == _FOREVER
    return math.inf if is_forever else float(_some_time(node))


def _record(kind: Callable[..., T], schema: Schema, required: tuple[str, ...], what: str) -> Callable[[YamlNode], T]:
    """A reader of a mapping into a dataclass."""

    def read(node: YamlNode) -> T:
        fields = read_fields(node, schema, what)
        missing = [key for key in required if schema[key][0] not in fields]
        if missing:
            raise node.error(f"{what} without {missing[0]}")
        return kind(**fields)

    return read


def _list_of(read: Callable[[YamlNode], T]) -> Callable[[YamlNode], tuple[T, ...]]:
    def read_all(node: YamlNode) -> tuple[T, ...]:
        if not isinstance(node.content, tuple):
            raise node.error("expected a list")
        if len(node.content) > _MOST_ENTRIES:
            raise node.error(f"{len(node.content):,} entries exceed the limit of {_MOST_ENTRIES:,}")
        return tuple(read(entry) for entry in node.content)

    return read_all


def _broker(node: YamlNode) -> int:
    ids = value_parsers.broker_ids(node)
    if len(ids) != 1:
        raise node.error("expected one broker id")
    return ids[0]


_kind = word(FaultKind, *FaultKind)

_GROWTH: Final[Schema] = {
    "per_day": ("per_day", within("per_day", _signed_fraction, Range(-1, 10), percent_as_option)),
    "spread": ("spread", within("spread", value_parsers.percent, Range(0, 10), percent_as_option)),
    "noise": ("noise", within("noise", value_parsers.percent, Range(0, 1), percent_as_option)),
    "retention": ("retention_s", _some_time),
}
_FAULT: Final[Schema] = {
    "broker": ("broker", _broker),
    "at": ("at_s", _time),
    "for": ("for_s", _lasting),
    "kind": ("kind", _kind),
}
_RANDOM: Final[Schema] = {"every": ("every_s", _some_time), "for": ("for_s", _some_time), "kind": ("kind", _kind)}
_NEW: Final[Schema] = {
    "broker": ("broker", _broker),
    "at": ("at_s", _time),
    "like": ("like", _broker),
    "rack": ("rack", value_parsers.text),
}
_WATCH: Final[Schema] = {
    "heal": ("level", word(HealLevel, *HealLevel)),
    "dead_after": ("dead_after_s", value_parsers.grace),
    "move_after": ("move_after_s", value_parsers.duration),
    "rebalance_above": ("outer_tolerance", value_parsers.percent),
    "tolerance": ("inner_tolerance", value_parsers.percent),
    "topics": ("topics", value_parsers.texts),
    "exclude_topics": ("exclude_topics", value_parsers.texts),
    "exclude_brokers": ("exclude_brokers", lambda node: frozenset(value_parsers.broker_ids(node))),
    "include_internal": ("include_internal", value_parsers.boolean),
    "window": ("window", lambda node: TimeWindow.parse(value_parsers.time_window(node))),
    "max_bytes_per_day": ("max_bytes_per_day", positive_size),
    "max_actions_per_day": ("max_actions_per_day", positive_whole),
    "max_dead": ("max_dead", positive_whole),
    "throttle": ("throttle", value_parsers.throttle_or_word),
}
_CASE: Final[Schema] = {
    "kafkabal_case": ("version", positive_whole),
    "seed": ("seed", value_parsers.whole_number),
    "step": ("step_s", within("step", value_parsers.some_time, Range(60, DAY_S), format_duration)),
    "growth": ("growth", _record(GrowthTrend, _GROWTH, (), "growth")),
    "faults": ("faults", _list_of(_record(BrokerFault, _FAULT, ("broker", "at", "for"), "a fault"))),
    "random_faults": ("random_faults", _record(RandomFaults, _RANDOM, ("every", "for"), "random faults")),
    "new_brokers": ("new_brokers", _list_of(_record(JoiningBroker, _NEW, ("broker", "at", "like"), "a new broker"))),
    "watch": ("watch", _record(dict, _WATCH, (), "watch")),
}
