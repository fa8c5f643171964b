"""The predicted time, compared with the time that the in-memory cluster takes under the throttle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_events import Started
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic

SIZE = 50_000_000


@pytest.mark.parametrize(
    "sources",
    [
        pytest.param([(1, 2, 3)] * 24, id="all leaders on one broker"),
        pytest.param([(1, 2, 3), (2, 3, 1), (3, 1, 2)] * 8, id="leaders spread"),
        pytest.param([(1, 2, 3)] * 16 + [(2, 3, 1), (3, 1, 2)] * 4, id="most leaders on one broker"),
    ],
)
def test_prediction_holds_within_a_quarter(scene: Any, sources: list[tuple[int, ...]]) -> None:
    """If the throttle is the limit, the run takes the predicted time, within 25%."""
    memory = InMemoryCluster.of(cluster(brokers(6), [topic("t", *sources, size_bytes=SIZE)]))
    changes = tuple(
        PartitionChange(
            topic="t",
            partition=number,
            replicas=(4, 5, 6),
            log_dirs=(ANY_DIR,) * 3,
            previous=Placement(replicas=held, leader=held[0], log_dirs=("/d0",) * 3),
        )
        for number, held in enumerate(sources)
    )
    environment = replace(scene.environment(memory), clock=memory.kafka.clock)
    options = RunOptions(throttle=Throttle(bytes_per_s=20_000_000))
    result = apply(environment, Plan(partitions=changes, cluster_id="simulated"), options)
    assert result is not None
    (started,) = scene.recorder.of(Started)
    assert started.predicted_s == pytest.approx(result.elapsed_s, rel=0.25)
