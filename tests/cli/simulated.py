"""Command lines against a simulated cluster, with simulated time only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

Run = Callable[..., Any]
SLOWLY = ("rebalance", "--yes", "--throttle", "10MB/s")
"""On :func:`half_empty_cluster` it takes minutes."""


def half_empty_cluster() -> InMemoryCluster:
    """Four brokers, two of them empty."""
    rows = [partition(i, [1, 2], GB) for i in range(4)]
    return InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="img", partitions=rows)]))


class Crash(BaseException):
    """The process dies; nothing may catch this."""


@dataclass
class Simulation:
    """A simulated cluster, and a way to run commands on it."""

    memory: InMemoryCluster
    run_cli: Run

    def run(self, *words: str, **world: Any) -> Any:
        """Run one command as a separate process."""
        clock = self.memory.kafka.clock
        return self.run_cli(
            *words,
            "-b",
            "simulated:9092",
            monotonic=clock.monotonic,
            wall_clock=lambda: clock.utc_now().timestamp(),
            sleep=clock.sleep,
            **world,
        )

    @contextmanager
    def crashing_when(self, is_time: Callable[[], object]) -> Iterator[None]:
        """Let a process die at a given time while it waits; at the end of the block its lock's session has expired."""
        clock = self.memory.kafka.clock
        sleep = clock.sleep

        def die(seconds: float) -> None:
            sleep(seconds)
            if is_time():
                raise Crash

        clock.sleep = die  # type: ignore[method-assign]
        yield
        clock.sleep = sleep  # type: ignore[method-assign]
        sleep(60.0)

    def replicas(self) -> dict[str, tuple[int, ...]]:
        """Brokers of every partition."""
        return {str(p.name): tuple(p.replicas) for p in self.memory.kafka.catch_up().partitions()}


def simulate(memory: InMemoryCluster, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Make every command use this cluster, whatever address it is given."""
    import kafkabal.cli.commands.rebalance.open_run_session as open_run_session
    import kafkabal.clusters as clusters

    make_environment = open_run_session.make_environment
    monkeypatch.setattr(clusters, "connect", lambda *_: memory.connect("simulated"))
    monkeypatch.setattr(
        open_run_session,
        "make_environment",
        lambda *arguments: replace(make_environment(*arguments), clock=memory.kafka.clock),
    )
    return Simulation(memory, run_cli)
