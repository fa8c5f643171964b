"""Runs on a cluster with a dead broker: they end cleanly, and do not prevent a later run from repairing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.clusters.cluster_protocol import ReadRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

OPTIONS = RunOptions(throttle=Throttle(bytes_per_s=50_000_000))


@pytest.fixture
def memory() -> InMemoryCluster:
    """Four brokers, each partition on two of them."""
    rows = [partition(n, (n % 4 + 1, (n + 1) % 4 + 1), 5 * GB) for n in range(16)]
    return InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="t", partitions=rows)]), FakeClock())


def _run(memory: InMemoryCluster, folder: Path, options: PlanOptions, stops_after_s: float | None = None) -> RunResult:
    stop, clock = StopSwitch(), memory.kafka.clock
    if stops_after_s is not None:
        clock.at(clock.monotonic() + stops_after_s, lambda: stop.request(StopReason.TERMINATE))
    environment = RunEnvironment(cluster=memory, state_dir=folder, clock=clock, stop=stop, host="h")
    result = apply(environment, make_plan(memory.read(ReadRequest()).state, options), OPTIONS)
    assert result is not None
    return result


def test_a_stopped_repair_leaves_nothing_in_flight(memory: InMemoryCluster, tmp_path: Path) -> None:
    """The list cannot be reordered around the dead broker: it is not waited for, and nothing counts as in flight."""
    memory.kafka.kill(2)

    result = _run(memory, tmp_path, PlanOptions(mode=Mode.REPAIR_ONLY), stops_after_s=40)

    assert (result.outcome, result.pending, result.problems) == (RunOutcome.STOPPED, [], {})
    assert result.elapsed_s < 60
    assert not memory.kafka.parts.moving


def test_a_throttle_on_a_dead_broker_is_restored_by_a_later_run(memory: InMemoryCluster, tmp_path: Path) -> None:
    """The repair of that broker may start, and once it is back the next run restores what the first one set."""
    clock = memory.kafka.clock
    clock.at(20.0, lambda: memory.kafka.kill(2))
    first = _run(memory, tmp_path, PlanOptions(mode=Mode.REPAIR_ONLY, drain=frozenset({1})), stops_after_s=40)
    assert [text.partition(":")[0] for text in first.pending] == ["replication rates of broker 2"]

    repair = _run(memory, tmp_path, PlanOptions(mode=Mode.REPAIR_ONLY))
    assert repair.outcome is RunOutcome.COMPLETE
    assert memory.kafka.parts.brokers[2].own_configs
    memory.kafka.start(2)
    _run(memory, tmp_path, PlanOptions(mode=Mode.ONLY_TO_NEW))

    assert not any(b.own_configs for b in memory.kafka.parts.brokers.values())
