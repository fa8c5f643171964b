"""``kafkabal top`` on a simulated cluster, as a separate process for a real terminal: ``top_on_simulation.py LOOKS``.

Each observation takes place five seconds after the previous one; after LOOKS of them the cluster hangs. SIGUSR1 kills
broker 3."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import kafkabal.clusters as clusters
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.model import TopicPartition
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

LOOKS = int(sys.argv[1])
WORLD = SyntheticWorld(brokers=6, racks=3, topics=12, skew=0.6, leader_skew=0.3)


class Stepping(InMemoryCluster):
    """A client whose observations advance the clock."""

    looks = 0

    def reassignments(self) -> Any:
        """Once per observation."""
        self.looks += 1
        if self.looks > LOOKS:
            threading.Event().wait()
        self.kafka.clock.sleep(5.0)
        return super().reassignments()


os.environ["TZ"] = "UTC"
time.tzset()
memory = InMemoryCluster.of(make_world(WORLD))
kafka = memory.kafka
kafka.bandwidth_bytes_per_s = 2e6
moved = [p for p in kafka.catch_up().partitions() if p.replicas[0] != 1][:3]
memory.alter_reassignments({TopicPartition(*p.name): (1, *[b for b in p.replicas if b != 1][1:]) for p in moved})
clusters.connect = lambda *_: Stepping(kafka, name="simulated")
clusters.SystemClock = lambda: kafka.clock  # type: ignore[misc, assignment]
signal.signal(signal.SIGUSR1, lambda *_: kafka.kill(3))
home = Path(os.environ["HOME"])
context = CommandContext(
    wall_clock=lambda: kafka.clock.utc_now().timestamp(),
    folders={kind: home / kind for kind in ("config", "cache", "state")},
)
sys.exit(main(["top", "-b", "simulated:9092", "--every", "200ms"], context))
