"""Repair of a run whose process died, while its moves continue."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.executor.execute_run import apply, repair_run, resume
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.run_events import PhaseEntered
from kafkabal.executor.state.run_states import Phase, RunOutcome


def test_repair_while_moves_are_in_flight(scene: Any) -> None:
    """Moves in flight keep their throttle, and repair says so; later it restores the rest."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    environment = scene.crash_at(31)
    first = repair_run(environment)
    assert any("still in flight" in p for p in first.pending)
    assert scene.configs_now() != scene.configs
    scene.memory.kafka.bandwidth_bytes_per_s = 1e9
    scene.memory.kafka.clock.sleep(3600.0)
    assert repair_run(scene.environment()).pending == []
    assert scene.configs_now() == scene.configs


def test_a_complete_run_stays_complete(scene: Any) -> None:
    """A broker dies before its throttle is restored; the repair restores it, and nothing is left to resume."""
    kafka = scene.memory.kafka

    def die_while_restoring(made: Any) -> None:
        if made.method == "alter_configs" and scene.recorder.of(PhaseEntered)[-1].phase is Phase.RESTORING:
            kafka.kill(3)

    scene.faulty.before.append(die_while_restoring)
    first = apply(scene.environment(), scene.plan, scene.options)
    assert first is not None
    assert (first.outcome, len(first.pending)) == (RunOutcome.COMPLETE, 1)
    kafka.start(3)
    repaired = repair_run(scene.next_process())
    assert (repaired.outcome, repaired.pending) == (RunOutcome.COMPLETE, [])
    assert scene.configs_now() == scene.configs
    with pytest.raises(RunClosedError, match="is complete: nothing to resume"):
        resume(scene.next_process())
