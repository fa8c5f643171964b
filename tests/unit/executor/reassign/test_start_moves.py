"""Which moves may start."""

from __future__ import annotations

from typing import Any

import msgspec

from kafkabal.executor.execute_run import apply
from kafkabal.plan.plan import Plan


def test_min_insync_is_kept(scene: Any) -> None:
    """A move that would leave too few replicas in sync is not started."""
    parts = scene.memory.kafka.parts
    parts.topics["a"].configs["min.insync.replicas"] = "3"
    scene.configs["topic a"]["min.insync.replicas"] = "3"
    change = msgspec.structs.replace(scene.plan.partitions[0], replicas=(1, 2), log_dirs=("any", "any"))
    scene.plan = Plan(partitions=(change,), cluster_id="simulated")
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert "min.insync.replicas" in result.problems["a-0"]
    scene.assert_as_at_start()
