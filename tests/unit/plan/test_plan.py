"""What a plan says of itself."""

from typing import Any

import msgspec
import pytest

from kafkabal.plan.plan import PartitionChange, Placement, Plan


def change(partition: int = 0, **changes: Any) -> PartitionChange:
    """A partition that goes from brokers 1, 2 to brokers 3, 2."""
    given = {
        "topic": "t",
        "partition": partition,
        "replicas": (3, 2),
        "log_dirs": ("any", "any"),
        "previous": Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0")),
        "bytes": 10,
        **changes,
    }
    return PartitionChange(**given)


def test_brokers_to_add_and_remove_follow_from_previous_and_target() -> None:
    """A broker that stays neither comes nor goes."""
    assert (change().to_add, change().to_remove, str(change().name)) == ((3,), (1,), "t-0")


def test_bytes_add_up() -> None:
    """Between brokers and between log dirs apart."""
    plan = Plan(partitions=(change(0), change(1, bytes=5, log_dir_bytes=7)))
    assert (plan.moved_bytes, plan.log_dir_bytes) == (15, 7)


PLAN = Plan(partitions=(change(0), change(1)), cluster_id="Mk", options={"a": 1, "b": {"x": 1, "y": 2}})


@pytest.mark.parametrize(
    "same",
    [
        {"partitions": PLAN.partitions[::-1]},
        {"options": {"b": {"y": 2, "x": 1}, "a": 1}},
        {"taken_at": "2030-01-01T00:00:00Z"},
        {"bound_bytes": 5},
        {"warnings": ("w",)},
        {"partitions": tuple(msgspec.structs.replace(c, reason="r") for c in PLAN.partitions)},
    ],
    ids=["order of partitions", "order of options", "time", "bound", "warnings", "reasons"],
)
def test_the_id_does_not_depend_on_what_does_not_matter(same: dict[str, Any]) -> None:
    """Times, words and order leave it as it is."""
    assert msgspec.structs.replace(PLAN, **same).plan_id == PLAN.plan_id


@pytest.mark.parametrize(
    "other",
    [
        {"cluster_id": "Xx"},
        {"options": {"a": 2, "b": {"x": 1, "y": 2}}},
        {"partitions": PLAN.partitions[:1]},
        {"partitions": (change(0), change(1, replicas=(2, 3)))},
        {"partitions": (change(0), change(1, log_dirs=("any", "/d1")))},
        {"partitions": (change(0), change(2))},
        {"partitions": (change(0), change(1, previous=None))},
    ],
    ids=["cluster", "options", "fewer partitions", "order of replicas", "log dirs", "another partition", "the past"],
)
def test_the_id_depends_on_what_matters(other: dict[str, Any]) -> None:
    """Another cluster, other options, another placement before or after: another plan."""
    assert msgspec.structs.replace(PLAN, **other).plan_id != PLAN.plan_id


def test_the_id_is_the_same_on_every_machine() -> None:
    """A figure that was written down once; it changes only with the format of plans."""
    assert PLAN.plan_id == "c3f650767a0a3174"
