"""What the executor itself costs per move: 10,000 planned moves on the in-memory cluster, with a fake clock.

The time inside the simulated cluster is subtracted; the journal is written to a real file system, and synced.

    python -m benchmarks.executor_overhead --moves 10000 --folder /var/tmp
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from kafkabal.clusters.simulated import FaultyCluster, InMemoryCluster
from kafkabal.executor import Event, RunEnvironment, RunOptions, RunProgress, Throttle, apply
from kafkabal.model import TopicRow
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing import brokers, cluster, partition

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

BROKERS = 30
PARTITIONS_A_TOPIC = 100
SIZE_BYTES = 200_000_000
LIMIT_MS = 2.0


class TimedCluster(FaultyCluster):
    """Measures the time spent inside the cluster, and records no calls."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.inside_s = self.inside_cpu_s = 0.0
        self.count = 0

    def call(self, method: str, action: Any, *arguments: Any) -> Any:  # noqa: ARG002
        """Time a call."""
        began, began_cpu = perf_counter(), process_time()
        try:
            return action()
        finally:
            self.inside_s += perf_counter() - began
            self.inside_cpu_s += process_time() - began_cpu
            self.count += 1


class TimedSync:
    """Counts how often the journal waits for the disk, and how long."""

    def __init__(self) -> None:
        self.count = 0
        self.waited_s = 0.0
        self._sync = os.fsync

    def sync(self, fd: FileDescriptorLike) -> None:
        """Wait for the disk."""
        began = perf_counter()
        self._sync(fd)
        self.count += 1
        self.waited_s += perf_counter() - began


class Memory:
    """Listener that notes the memory in use after a tenth of the moves, and after all of them."""

    def __init__(self) -> None:
        self.at: list[tuple[int, int]] = []

    def on_event(self, event: Event) -> None:
        """Note the memory in use."""
        if isinstance(event, RunProgress):
            self.at.append((event.done_partitions, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def make_case(moves: int) -> tuple[InMemoryCluster, Plan]:
    """A cluster of topics with a replica too many on some brokers, and a plan that moves one replica of each."""
    topics, changes = [], []
    for t in range(-(-moves // PARTITIONS_A_TOPIC)):
        rows = []
        for p in range(PARTITIONS_A_TOPIC):
            held = tuple(1 + (t + p + k) % BROKERS for k in range(3))
            target = (*held[:2], 1 + (t + p + 3 + p % 7) % BROKERS)
            rows.append(partition(p, held, SIZE_BYTES))
            previous = Placement(replicas=held, leader=held[0], log_dirs=("/d0",) * 3)
            changes.append(
                PartitionChange(topic=f"t{t}", partition=p, replicas=target, log_dirs=(ANY_DIR,) * 3, previous=previous)
            )
        topics.append(TopicRow(topic=f"t{t}", partitions=rows))
    state = cluster(brokers(BROKERS, dir_bytes=100 * 10**12), topics)
    return InMemoryCluster.of(state), Plan(partitions=tuple(changes[:moves]), cluster_id="simulated")


def main() -> None:
    """Run the case and print the cost per move."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=10_000)
    parser.add_argument("--folder", default=None, help="file system of the journal")
    options = parser.parse_args()
    memory, plan = make_case(options.moves)
    timed, usage, synced = TimedCluster(memory), Memory(), TimedSync()
    os.fsync = synced.sync
    if options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        environment = RunEnvironment(
            cluster=timed, state_dir=Path(folder), clock=memory.kafka.clock, listener=usage, run_suffix=lambda: "x"
        )
        began, began_cpu = perf_counter(), process_time()
        result = apply(environment, plan, RunOptions(throttle=Throttle(bytes_per_s=100_000_000)))
        wall_s, cpu_s = perf_counter() - began, process_time() - began_cpu
        journal_bytes = sum(path.stat().st_size for path in Path(folder).rglob("*.jsonl"))
    assert result is not None
    own_s, own_cpu_s = wall_s - timed.inside_s, cpu_s - timed.inside_cpu_s
    print(f"{result.outcome}: {result.done} of {result.total} moves, {result.elapsed_s:.0f} s on the fake clock")
    print(f"{timed.count} calls, {timed.inside_s:.1f} s inside the simulated cluster, {cpu_s:.1f} s CPU in all")
    print(f"own CPU {own_cpu_s:.2f} s: {own_cpu_s / options.moves * 1000:.2f} ms a move (limit {LIMIT_MS} ms)")
    print(f"own wall time {own_s:.2f} s: {own_s / options.moves * 1000:.2f} ms a move, waits for the disk included")
    print(f"journal {journal_bytes / 1e6:.1f} MB, synced {synced.count} times, {synced.waited_s:.1f} s")
    tenth = next(rss for done, rss in usage.at if done >= options.moves / 10)
    print(f"most memory: {tenth / 1024:.0f} MiB when a tenth was done, {usage.at[-1][1] / 1024:.0f} MiB at the end")


if __name__ == "__main__":
    main()
