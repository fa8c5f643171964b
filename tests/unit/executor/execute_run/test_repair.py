"""Repair of a run whose process died, while its moves continue."""

from __future__ import annotations

from typing import Any

from kafkabal.executor.execute_run import repair_run


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
