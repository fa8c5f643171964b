"""A dry run on an in-memory copy of the cluster: the requests a run would send, in order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kafkabal.clusters import ConfigOperation
from kafkabal.model import move_bytes
from kafkabal.plan import bytes_of_copies, copy_s, partition_rows
from kafkabal.reporting.runs.dry_run_report import DryRun, DryRunRequest
from kafkabal.wording import replica_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkabal.clusters.simulated import Call
    from kafkabal.executor import RunOptions
    from kafkabal.model import ClusterState
    from kafkabal.plan import Plan

_NAMES = {
    "alter_reassignments": "AlterPartitionReassignments",
    "move_log_dirs": "AlterReplicaLogDirs",
    "elect_preferred_leaders": "ElectLeaders",
    "alter_configs": "IncrementalAlterConfigs",
}
_SIGNS = {ConfigOperation.SET: "=", ConfigOperation.APPEND: "+=", ConfigOperation.SUBTRACT: "-="}
_BYTES_PER_S = 100_000_000
"""What a simulated broker sends and receives without a throttle."""
_POLLS = 200
"""Approximate number of observations in a dry run: steps of half a percent; a large plan then takes seconds."""


def simulate_run(plan: Plan, state: ClusterState, options: RunOptions) -> DryRun:
    """Apply a plan to a copy of the cluster without throttles."""
    from kafkabal.clusters.simulated import FaultyCluster, InMemoryCluster
    from kafkabal.executor import RunEnvironment, apply

    memory = InMemoryCluster.of(state)
    recorded = FaultyCluster(memory)
    clock = memory.kafka.clock
    times: list[float] = []
    recorded.before.append(lambda call: times.append(clock.monotonic()))  # noqa: ARG005
    with tempfile.TemporaryDirectory() as folder:
        environment = RunEnvironment(cluster=recorded, state_dir=Path(folder), clock=clock)
        result = apply(environment, plan, _without_waiting(options, plan, state))
    requests = tuple(
        DryRunRequest(at_s, _NAMES[call.method], resource, value)
        for at_s, call in zip(times, recorded.calls, strict=True)
        if call.method in _NAMES
        for resource, value in _changes(call)
    )
    return DryRun(requests, clock.monotonic(), result.problems if result is not None else {})


def _without_waiting(options: RunOptions, plan: Plan, state: ClusterState) -> RunOptions:
    """With the timeouts of a live cluster, observe less often if copies take long, and ignore the time window."""
    from kafkabal.executor import Timeouts

    live = Timeouts()
    rate = options.throttle.bytes_per_s or _BYTES_PER_S
    poll_s = max(live.poll_s, copy_s(bytes_of_copies(_copies(plan, state)), rate) / _POLLS)
    timeouts = msgspec.structs.replace(live, poll_s=poll_s, room_s=max(live.room_s, poll_s))
    throttle = msgspec.structs.replace(options.throttle, is_auto=False)
    return msgspec.structs.replace(options, timeouts=timeouts, throttle=throttle, window=None, max_runtime_s=None)


def _copies(plan: Plan, state: ClusterState) -> Iterator[tuple[int, list[int], int]]:
    """Leader, receiving brokers and present size of each partition: a plan of another tool does not state them."""
    rows = dict(partition_rows(state, [change.name for change in plan.partitions]))
    sizes, leaders = move_bytes(state), state.partitions.leader
    for change in plan.partitions:
        row = rows.get(change.name)
        if row is not None and sizes[row] > 0:
            held = state.replicas_of(row)
            leader = int(state.brokers.id[leaders[row]]) if leaders[row] >= 0 else -1
            yield leader, [broker for broker in change.replicas if broker not in held], int(sizes[row])


def _changes(call: Call) -> Iterator[tuple[str, str | None]]:
    """What a request changes, and to what."""
    argument = call.arguments[0]
    if call.method == "alter_configs":
        for change in argument:
            value = "(deleted)" if change.value is None else change.value
            yield str(change.resource), f"{change.key}{_SIGNS[change.operation]}{value}"
    elif call.method == "elect_preferred_leaders":
        yield from ((str(partition), None) for partition in argument)
    else:
        for item, target in argument.items():
            goal = "cancel" if target is None else target if isinstance(target, str) else replica_list(target)
            yield str(item), goal
