"""``kafkabal inspect`` against Kafka's own ``LogDirsCommand --describe`` on the same six brokers, from end to end.

Runs of both alternate, so that a noisy machine affects both alike; the results are medians, and the median of the
paired ratios. Kafka's tool runs as its shell script starts it: without the class cache that the sandbox uses for
itself. Beside the elapsed time, the processor time of each tool is shown, which does not depend on what else the
machine does.

    python -m benchmarks.inspect_vs_logdirs --replicas 1000 --replicas 5000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from kafkabal.clusters import NewTopic, ReadRequest, connect
from kafkabal.config import ConnectionSettings
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit, up

BROKERS = 6
REPLICATION_FACTOR = 2
PARTITIONS_A_TOPIC = 10
LOG_DIRS_COMMAND = "org.apache.kafka.tools.LogDirsCommand"


class Cost(NamedTuple):
    """Cost of one run of a tool, in seconds."""

    wall_s: float
    cpu_s: float


def run(command: list[str]) -> Cost:
    """Run a tool once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall_s = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def create_replicas(sandbox: Sandbox, replicas: int) -> None:
    """Spread this many replicas evenly over the brokers, and wait until they are on disk."""
    topics = replicas // (REPLICATION_FACTOR * PARTITIONS_A_TOPIC)
    with connect(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))) as cluster:
        faults = cluster.create_topics(
            [NewTopic(name=f"t{topic:04}", assignment=spread(topic)) for topic in range(topics)]
        )
        assert not faults, next(iter(faults.values()))

        def on_disk() -> bool:
            return bool((cluster.read(ReadRequest()).state.replicas.size_bytes >= 0).all())

        assert WaitLimit(deadline_s=600.0, interval_s=2.0).until(on_disk)


def spread(topic: int) -> tuple[tuple[int, ...], ...]:
    """Replicas of each partition of a topic."""
    return tuple(
        tuple((topic + partition + replica) % BROKERS + 1 for replica in range(REPLICATION_FACTOR))
        for partition in range(PARTITIONS_A_TOPIC)
    )


def measure(sandbox: Sandbox, runs: int) -> tuple[list[Cost], list[Cost]]:
    """Run both tools alternately, after one warm-up run of each."""
    ours = [sys.executable, "-m", "kafkabal", "inspect", "-b", sandbox.bootstrap_servers]
    arguments = ("--bootstrap-server", sandbox.bootstrap_servers, "--describe")
    theirs = sandbox.main_command(LOG_DIRS_COMMAND, *arguments, with_class_cache=False)
    pairs = [(run(ours), run(theirs)) for _ in range(runs + 1)][1:]
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def main() -> int:
    """Measure and print; exit 1 if the other tool is faster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, action="append", help="on all brokers together, repeatable")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    is_faster = True
    print("replicas  inspect          LogDirsCommand   ratio of wall  (wall s / processor s, medians)")
    for replicas in options.replicas or [1000, 5000]:
        spec = SandboxSpec(brokers=BROKERS, racks=3, expected_replicas=max(1000, 2 * replicas // BROKERS))
        with tempfile.TemporaryDirectory() as home, up(spec, "inspect", home=Path(home)) as sandbox:
            create_replicas(sandbox, replicas)
            ours, theirs = measure(sandbox, options.runs)
        ratio = median(mine.wall_s / other.wall_s for mine, other in zip(ours, theirs, strict=True))
        is_faster = is_faster and ratio < 1
        print(f"{replicas:8}  {format_medians(ours):15}  {format_medians(theirs):15}  {ratio:13.2f}")
    return 0 if is_faster else 1


def format_medians(costs: list[Cost]) -> str:
    """Medians of wall and processor time."""
    return f"{median(c.wall_s for c in costs):5.2f} / {median(c.cpu_s for c in costs):5.2f}"


if __name__ == "__main__":
    sys.exit(main())
