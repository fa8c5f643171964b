"""The record of a run: its partitions, and the configs as they were found."""

from __future__ import annotations

import pytest

from kafkabal.clusters import ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Phase, RunOutcome, RunState
from kafkabal.plan import ANY_DIR, Placement

_BROKER = ConfigResource(ResourceKind.BROKER, "3")


@pytest.mark.parametrize(
    ("value", "source", "own"),
    [
        (ConfigValue("7", ConfigSource.OWN), ConfigSource.OWN, "7"),
        (ConfigValue("7", ConfigSource.STATIC), ConfigSource.STATIC, None),
        (None, None, None),
    ],
)
def test_a_config_as_found(value: ConfigValue | None, source: ConfigSource | None, own: str | None) -> None:
    """Value and source are kept, since only a value of the resource's own is set again."""
    found = Original.found(_BROKER, "rate", value)
    assert (found.of, found.key, found.source, found.own_value) == (_BROKER, "rate", source, own)
    assert found.value == (value.value if value is not None else None)


def test_brokers_and_dirs_of_a_partition() -> None:
    """Who gets a copy, who loses one, and the log dirs that matter, before and after."""
    moved = RunPartition(
        topic="t",
        partition=4,
        previous=Placement(replicas=(1, 2, 3), leader=2, log_dirs=("/a", ANY_DIR, "/c")),
        replicas=(4, 3, 1),
        log_dirs=("/d", ANY_DIR, "/a"),
        copy_bytes=1,
    )
    assert (moved.to_add, moved.to_remove, moved.brokers) == ((4,), (2,), {1, 2, 3, 4})
    assert moved.target == Placement(replicas=(4, 3, 1), leader=4, log_dirs=("/d", ANY_DIR, "/a"))
    assert (moved.target_dirs, moved.previous_dirs) == ({4: "/d", 1: "/a"}, {1: "/a", 3: "/c"})


def test_entering_a_phase() -> None:
    """A run that works again has no outcome; a closed one keeps it; an unknown transition is a fault of the program."""
    state = RunState(phase=Phase.RESTORING, outcome=RunOutcome.PARTIAL)
    state.enter(Phase.CLOSED)
    assert (state.phase, state.outcome) == (Phase.CLOSED, RunOutcome.PARTIAL)
    state.enter(Phase.MOVING)
    assert (state.phase, state.outcome) == (Phase.MOVING, None)
    with pytest.raises(AssertionError, match="invalid transition: moving to recorded"):
        state.enter(Phase.RECORDED)
