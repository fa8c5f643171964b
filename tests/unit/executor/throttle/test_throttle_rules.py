"""What a run sets, and what it restores: tables of values and sources."""

from __future__ import annotations

import pytest

from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.executor.state.run_record import Original
from kafkabal.executor.throttle.throttle_rules import active_entries, list_steps, rate_to_set, restore_rate
from kafkabal.model.kafka_configs import FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS

OWN, DEFAULT, STATIC = ConfigSource.OWN, ConfigSource.CLUSTER_DEFAULT, ConfigSource.STATIC
BROKER = ConfigResource(ResourceKind.BROKER, "1")
TOPIC = ConfigResource(ResourceKind.TOPIC, "t")


def _rate(value: str | None, source: ConfigSource | None) -> Original:
    found = ConfigValue(value, source) if source is not None else None
    return Original.found(BROKER, LEADER_RATE, found)


def _list(value: str | None) -> Original:
    return Original.found(TOPIC, LEADER_REPLICAS, ConfigValue(value, OWN) if value is not None else None)


@pytest.mark.parametrize(
    ("value", "source", "override", "expected"),
    [
        (None, None, False, "50"),
        ("9223372036854775807", ConfigSource.BUILT_IN, False, "50"),
        ("60", OWN, False, "50"),
        ("50", OWN, False, None),
        ("40", OWN, False, None),
        ("40", DEFAULT, False, None),
        ("40", STATIC, False, None),
        ("40", OWN, True, "50"),
        ("nonsense", OWN, False, "50"),
    ],
)
def test_rate_to_set(value: str | None, source: ConfigSource | None, override: bool, expected: str | None) -> None:
    """A lower effective rate is kept whatever its source, unless it is to be overridden."""
    assert rate_to_set(_rate(value, source), 50, override=override) == expected


@pytest.mark.parametrize(
    ("before", "now", "expected", "complains"),
    [
        ((None, None), None, None, False),
        ((None, None), ("50", OWN), (None,), False),
        (("60", OWN), ("50", OWN), ("60",), False),
        (("60", OWN), ("60", OWN), None, False),
        (("60", DEFAULT), ("50", OWN), (None,), False),
        (("60", DEFAULT), ("60", DEFAULT), None, False),
        (("60", STATIC), ("50", OWN), (None,), False),
        ((None, None), ("70", OWN), None, True),
        (("60", OWN), ("70", OWN), None, True),
        (("60", OWN), None, None, True),
        (("50", OWN), ("50", OWN), None, False),
    ],
)
def test_restored_rate(
    before: tuple[str | None, ConfigSource | None],
    now: tuple[str, ConfigSource] | None,
    expected: tuple[str | None] | None,
    complains: bool,
) -> None:
    """Ours gives way to the broker's own value or to the default; what another tool has set stays and is reported."""
    put = restore_rate(_rate(*before), ConfigValue(*now) if now else None, {"50"})
    assert put.is_needed == (expected is not None)
    assert (put.value,) == (expected or (None,))
    assert bool(put.complaint) == complains


@pytest.mark.parametrize(
    ("before", "now", "active", "added", "removed", "is_deleted"),
    [
        (None, None, {"0:1"}, ["0:1"], [], False),
        (None, "0:1", {"0:1", "1:2"}, ["1:2"], [], False),
        (None, "0:1,1:2", {"1:2"}, [], ["0:1"], False),
        (None, "0:1", {"1:2"}, ["1:2"], ["0:1"], False),
        (None, "1:2", set(), [], ["1:2"], True),
        (None, "", set(), [], [], True),
        (None, "1:2,8:8", set(), [], ["1:2"], False),
        (None, "1:2,1:2", set(), [], ["1:2", "1:2"], True),
        ("7:7", "7:7", {"0:1"}, ["0:1"], [], False),
        ("7:7, 0:1", "7:7,0:1,1:2", set(), [], ["1:2"], False),
        ("7:7,0:1", "7:7", {"0:1"}, [], [], False),
        ("", "0:1", set(), [], ["0:1"], False),
        ("7:7", "7:7,8:8,0:1", set(), [], ["0:1"], False),
        ("7:7", "0:1", set(), [], ["0:1"], True),
    ],
)
def test_list_steps(
    before: str | None, now: str | None, active: set[str], added: list[str], removed: list[str], is_deleted: bool
) -> None:
    """Moving replicas are added, only ours are removed, wherever they occur, and an empty list stays only if it was
    one."""
    current = ConfigValue(now, OWN) if now is not None else None
    steps = list_steps(_list(before), current, {"0:1", "1:2"}, active)
    assert (list(steps.added), list(steps.removed), steps.is_deleted) == (added, removed, is_deleted)
    assert steps.is_needed == bool(added or removed or is_deleted)


@pytest.mark.parametrize(("before", "now"), [("*", "*"), ("7:7", "*"), ("7:7", "7:7"), (None, None), ("", "")])
def test_list_that_stays(before: str | None, now: str | None) -> None:
    """A star stays a star, and a list that is right already is not touched."""
    current = ConfigValue(now, OWN) if now is not None else None
    active = {"0:1"} if now == "*" else set()
    assert not list_steps(_list(before), current, {"0:1"}, active).is_needed


def test_entries_of_a_partition_that_moves() -> None:
    """Current holders are listed as leaders, receiving brokers as followers, each by partition number."""
    assert active_entries(7, (4, 1, 2), (4,)) == {LEADER_REPLICAS: {"7:1", "7:2"}, FOLLOWER_REPLICAS: {"7:4"}}
