"""Clean-up after a run whose process died, while its moves continue."""

from __future__ import annotations

from typing import Any

from kafkabal.executor.execute_run import clean_up_run


def test_cleanup_while_moves_continue(scene: Any) -> None:
    """What is in flight keeps its throttle, and the clean-up says so; later it restores the rest."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    environment = scene.crash_at(31)
    first = clean_up_run(environment)
    assert any("still in flight" in p for p in first.pending)
    assert scene.configs_now() != scene.configs
    scene.memory.kafka.bandwidth_bytes_per_s = 1e9
    scene.memory.kafka.clock.sleep(3600.0)
    assert clean_up_run(scene.environment()).pending == []
    assert scene.configs_now() == scene.configs
