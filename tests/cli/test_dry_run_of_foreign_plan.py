"""A dry run of a plan of another tool, which states neither previous replicas nor bytes."""

from __future__ import annotations

import pytest

from kafkabal.cli.commands.rebalance.dry_run import simulate_run
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor import RunOptions, Throttle
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic


@pytest.mark.parametrize("previous", [None, Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))])
def test_it_observes_as_often_as_that_of_our_own(previous: Placement | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of hours is observed in steps of half a percent, not each second: the cluster states its bytes."""
    state = cluster(brokers(3), [topic("t", [1, 2], [1, 2], size_bytes=10 * GB)])
    change = PartitionChange(
        topic="t",
        partition=0,
        replicas=(3, 2),
        log_dirs=(ANY_DIR, ANY_DIR),
        previous=previous,
        bytes=10 * GB if previous else 0,
    )
    observed = 0
    respond = InMemoryCluster.partition_status

    def counted(*arguments: object) -> object:
        nonlocal observed
        observed += 1
        return respond(*arguments)

    monkeypatch.setattr(InMemoryCluster, "partition_status", counted)
    found = simulate_run(Plan(partitions=(change,)), state, RunOptions(throttle=Throttle(bytes_per_s=1_000_000)))

    assert not found.problems
    assert found.elapsed_s > 10_000
    assert observed < 1000
