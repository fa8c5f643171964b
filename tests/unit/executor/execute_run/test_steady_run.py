"""A long run accumulates nothing; ``test_steady_process.py`` watches a process on real brokers."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Event, RunProgress
from kafkabal.executor.run_options import RunOptions, Throttle, Timeouts
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model import TopicRow
from kafkabal.testing.cluster_builders import brokers, partition
from tools.model_check.world import CLUSTER_ID, PLAN, STARTS

_RUN_S = 900.0
_RATE = 1_000_000
_POLL_S = 0.5
_WARM_UP_TURNS = 200
"""More than the half minute over which the rate of the copies is taken."""


class _Watch:
    """Counts objects, file handles and threads early and late."""

    def __init__(self) -> None:
        self.turns = 0
        self.samples: list[tuple[int, int, int]] = []

    def on_event(self, event: Event) -> None:
        """Take a sample every 200 turns."""
        if not isinstance(event, RunProgress):
            return
        self.turns += 1
        if self.turns % _WARM_UP_TURNS == 0:
            gc.collect()
            self.samples.append((len(gc.get_objects()), len(list(Path("/dev/fd").iterdir())), threading.active_count()))


def test_fifteen_minutes(tmp_path: Path) -> None:
    """A run of 15 minutes has as many objects, file handles and threads at its end as early on."""
    clock = FakeClock()
    rows = [partition(name.partition, held, _RATE * int(_RUN_S)) for name, held in STARTS.items()]
    kafka = SimulatedKafka(brokers(3), [TopicRow(topic="a", partitions=rows)], clock, cluster_id=CLUSTER_ID)
    watch = _Watch()
    environment = RunEnvironment(cluster=InMemoryCluster(kafka), state_dir=tmp_path, clock=clock, listener=watch)
    options = RunOptions(throttle=Throttle(bytes_per_s=_RATE), timeouts=Timeouts(poll_s=_POLL_S, stall_s=2 * _RUN_S))
    result = apply(environment, PLAN, options)
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    assert watch.turns * _POLL_S >= _RUN_S
    early, late = watch.samples[0], watch.samples[-1]
    assert late[0] <= early[0] + 10
    assert late[1:] == early[1:]
