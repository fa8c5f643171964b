"""How long runs may take: by their own options, and by the command that works on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafkabal.executor.execute_run import apply, resume
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan


def test_max_runtime(scene: Any) -> None:
    """A run that reaches its limit stops gracefully and can be resumed."""
    result = apply(scene.environment(), scene.plan, msgspec.structs.replace(scene.options, max_runtime_s=5.0))
    assert result is not None
    assert (result.outcome, result.stop_reason) == (RunOutcome.STOPPED, StopReason.MAX_RUNTIME)
    scene.assert_clean()
    resume(scene.environment(), options=scene.options)
    scene.assert_as_planned()


@pytest.mark.parametrize("own_s", [None, 6.0])
def test_time_of_a_command_holds_for_all_its_runs(scene: Any, own_s: float | None) -> None:
    """A resumed run and one started after it stop at their command's limit, not their own."""
    clock = scene.memory.kafka.clock

    def crash() -> None:
        raise scene.Crash

    clock.at(5.0, crash)
    with pytest.raises(scene.Crash):
        apply(scene.environment(), scene.plan, msgspec.structs.replace(scene.options, max_runtime_s=own_s))
    ends_at_s = clock.monotonic() + 120.0
    environment = replace(scene.next_process(), ends_at_s=ends_at_s)
    assert resume(environment).outcome is RunOutcome.COMPLETE
    back = PartitionChange(
        topic="b",
        partition=1,
        replicas=(1, 4),
        log_dirs=(ANY_DIR, ANY_DIR),
        previous=Placement(replicas=(3, 2), leader=3, log_dirs=("/d0", "/d0")),
    )
    slow = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=100_000), max_runtime_s=3600.0)
    begun = apply(environment, Plan(partitions=(back,), cluster_id="simulated"), slow)
    assert begun is not None
    assert (begun.outcome, begun.stop_reason) == (RunOutcome.STOPPED, StopReason.MAX_RUNTIME)
    assert clock.monotonic() == pytest.approx(ends_at_s, abs=10.0)
    scene.assert_clean()
