"""What is announced of a run that is opened again."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.executor.execute_run import apply, cancel, repair_run, resume, roll_back
from kafkabal.executor.run_events import PartitionDone, Started, Warned
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.state.run_states import Goal, RunOutcome
from tests.unit.executor.conftest import MB


def test_a_resumed_run_announces_what_is_left(scene: Any) -> None:
    """Not the bytes and the time of the whole plan."""
    environment = scene.crash_where(lambda _: len(scene.recorder.of(PartitionDone)) >= 3)
    (begun,) = scene.recorder.of(Started)
    arrived = sum(e.copy_bytes for e in scene.recorder.of(PartitionDone))
    result = resume(environment)
    resumed = scene.recorder.of(Started)[-1]
    assert 0 < resumed.partitions <= begun.partitions - 3
    assert result.copied_bytes == resumed.copy_bytes + resumed.log_dir_bytes
    assert resumed.copy_bytes + resumed.log_dir_bytes <= begun.copy_bytes + begun.log_dir_bytes - arrived
    assert resumed.predicted_s < begun.predicted_s
    scene.assert_as_planned()


def test_a_rollback_announces_its_own_copies(scene: Any) -> None:
    """Those back to brokers that the run has moved replicas off, and their time, not those of the plan."""
    assert apply(scene.environment(), scene.plan, scene.options).outcome is RunOutcome.COMPLETE
    result = roll_back(scene.next_process())
    begun, back = scene.recorder.of(Started)
    assert (begun.goal, back.goal) == (Goal.APPLY, Goal.ROLL_BACK)
    # to 1: a-0, a-1 and a-3 (empty); to 2: a-1; to 3: a-2
    assert (back.copy_bytes, back.log_dir_bytes) == ((60 + 2 * 40 + 20) * MB, 30 * MB)
    assert result.copied_bytes == back.copy_bytes + back.log_dir_bytes
    scene.assert_as_at_start()


@pytest.mark.parametrize("again", [resume, cancel, repair_run])
def test_a_run_with_nothing_left_to_move(scene: Any, again: Any) -> None:
    """If only throttles are left, no partition is announced, and no throttle that would slow its copies."""
    scene.options = RunOptions(throttle=Throttle(bytes_per_s=900 * MB))
    environment = scene.crash_before("elect_preferred_leaders")
    assert scene.configs_now() != scene.configs
    warned = len(scene.recorder.of(Warned))
    assert warned
    again(environment)
    last = scene.recorder.of(Started)[-1]
    assert (last.partitions, last.copy_bytes, last.log_dir_bytes, last.predicted_s) == (0, 0, 0, 0.0)
    assert len(scene.recorder.of(Warned)) == warned
    assert scene.configs_now() == scene.configs
