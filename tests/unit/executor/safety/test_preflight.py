"""Preflight checks."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import UnsafeError
from kafkabal.executor.safety.overridable_check_names import Overridable
from kafkabal.executor.safety.preflight import CheckVerdict, enforce, preflight
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Plan


def _verdicts(scene: Any, **changes: Any) -> dict[str, CheckVerdict]:
    arguments = {"plan": scene.plan, "options": scene.options, "unfinished": None} | changes
    return {c.name: c.verdict for c in preflight(scene.environment(), **arguments)}


def test_checks_of_a_healthy_cluster(scene: Any) -> None:
    """Nothing blocks a plan for a healthy cluster."""
    plan = Plan(partitions=scene.plan.partitions, cluster_id="simulated", options={"replication_factor": 3})
    assert set(_verdicts(scene, plan=plan).values()) == {CheckVerdict.OK}


def test_checks_find_obstacles(scene: Any) -> None:
    """Each problem shows in the check of its name."""
    parts = scene.memory.kafka.parts
    parts.partition(TopicPartition("a", 0)).isr = [1]
    parts.partition(TopicPartition("a", 1)).growth_bytes_per_s = 50e6
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 2)})
    scene.memory.alter_reassignments({TopicPartition("a", 2): (2, 1, 5)})
    plan = Plan(partitions=scene.plan.partitions[:-1], cluster_id="other")
    found = _verdicts(scene, plan=plan)
    assert found["cluster"] is CheckVerdict.REFUSED
    assert found["drift"] is CheckVerdict.REFUSED
    assert found["other-reassignments"] is CheckVerdict.OVERRIDABLE
    assert found["under-replicated"] is CheckVerdict.OVERRIDABLE
    assert found["throttle"] is CheckVerdict.OVERRIDABLE
    assert found["offline-partitions"] is CheckVerdict.OK


def test_checks_respect_missing_capabilities(scene: Any) -> None:
    """Missing capabilities refuse what needs them, and warn about what is only safer with them."""
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=[Capability.CONFIGS, Capability.LOCK])
    found = _verdicts(scene)
    assert found["capabilities"] is CheckVerdict.REFUSED
    assert found["other hosts"] is CheckVerdict.WARNING


def test_a_check_is_overridden_by_its_own_name_only(scene: Any) -> None:
    """A check is overridden by its own name only, and some never."""
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 2)})
    plan = Plan(partitions=scene.plan.partitions[:-1], cluster_id="simulated")
    checks = preflight(scene.environment(), plan, scene.options, None)
    with pytest.raises(UnsafeError) as refused:
        enforce(checks)
    assert refused.value.hint is not None
    assert "'kafkabal rebalance adopt'" in refused.value.hint
    assert refused.value.hint.endswith("; to override: --allow other-reassignments")
    with pytest.raises(UnsafeError):
        enforce(checks, set(Overridable) - {Overridable.OTHER_REASSIGNMENTS})
    enforce(checks, {Overridable.OTHER_REASSIGNMENTS})
    other = preflight(scene.environment(), Plan(partitions=plan.partitions, cluster_id="x"), scene.options, None)
    with pytest.raises(UnsafeError, match="the plan is for cluster x"):
        enforce(other, set(Overridable))
