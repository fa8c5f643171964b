"""The record of a new run: what it will do, and the state of everything before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kafkabal.clusters import Capability
from kafkabal.errors import DriftError, MissingCapabilityError, NotAuthorizedError
from kafkabal.executor.reassign.cordon_brokers import read_cordons
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Warned
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.preflight import HOW_TO_GO_ON_AFTER_DRIFT
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.throttle.run_throttles import granted_on, read_originals
from kafkabal.model import ClusterState, TopicPartition, move_bytes
from kafkabal.plan import PartitionChange, Placement, Plan, find_drift, partition_rows, placements
from kafkabal.units import duration_as_option, format_stated_bytes, percent_as_option
from kafkabal.wording import brokers_by_id, counted_noun, first_of

_UNREPORTED: Final = frozenset({"tolerance", "seed", "scores", "keep_moved", "throttle_bytes_per_s"})
"""Plan options that most runs have; in the history they would hide what was special about a run."""


def new_run_record(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    previous: Mapping[TopicPartition, Placement],
    *,
    skip_drifted: bool,
    carried: tuple[RunPartition, ...] = (),
) -> RunRecord | None:
    """Compare a plan with the current cluster, and record everything that is needed to resume or undo the run.

    Parameters
    ----------
    previous
        Where partitions were before a reassignment of another tool that this run takes over; they have not drifted.
    skip_drifted
        Leave out partitions that have changed since the plan was made.
    carried
        Partitions of an earlier run whose reassignments this one takes over.

    Returns
    -------
    RunRecord or None
        None if every partition is already as planned.

    Raises
    ------
    DriftError
        If planned partitions have changed.
    MissingCapabilityError, NotAuthorizedError
        If a throttle is requested and the configs that it changes cannot be read.
    """
    # read again although the command has read it: a prompt may have been open for hours since then
    state = environment.read_state()
    partitions = _planned(_without_drifted(plan, state, previous, skip_drifted=skip_drifted), state, previous)
    if not partitions:
        return None
    # without ids a rollback would move a topic that was recreated under the same name
    partitions = (*_with_topic_ids(environment, partitions), *carried)
    cluster_id = environment.cluster.cluster_id()
    return RunRecord(
        run_id=environment.new_run_id(cluster_id),
        plan_id=plan.plan_id,
        cluster_id=cluster_id,
        started_at=environment.clock.utc_now().isoformat(timespec="milliseconds"),
        host=environment.host,
        options=options,
        partitions=partitions,
        originals=_originals(environment, options, partitions),
        cordons=read_cordons(environment.cluster, plan.drained),
        user=environment.user,
        why=_asked(plan),
    )


def _without_drifted(
    plan: Plan, state: ClusterState, previous: Mapping[TopicPartition, Placement], *, skip_drifted: bool
) -> tuple[PartitionChange, ...]:
    drifts = [drift for drift in find_drift(plan, state) if drift.partition not in previous]
    if drifts and not skip_drifted:
        of = counted_noun(len(plan.partitions), "planned partition")
        raise DriftError(
            f"{len(drifts)} of {of} changed since planning: {first_of(drifts, separator='; ')}",
            hint=HOW_TO_GO_ON_AFTER_DRIFT,
        )
    drifted = {d.partition for d in drifts}
    return tuple(c for c in plan.partitions if c.name not in drifted)


def _planned(
    changes: Collection[PartitionChange], state: ClusterState, previous: Mapping[TopicPartition, Placement]
) -> tuple[RunPartition, ...]:
    """The partitions that need a change."""
    names = [c.name for c in changes]
    found = placements(state, names)
    sizes = move_bytes(state)
    size_of = {name: max(int(sizes[row]), 0) for name, row in partition_rows(state, names)}
    planned = [
        RunPartition(
            topic=c.topic,
            partition=c.partition,
            previous=previous.get(c.name, found[c.name].placement),
            replicas=c.replicas,
            log_dirs=c.log_dirs,
            copy_bytes=size_of[c.name],
        )
        for c in changes
        if c.name in found
    ]
    return tuple(p for p in planned if _has_work(p))


def _with_topic_ids(environment: RunEnvironment, partitions: tuple[RunPartition, ...]) -> tuple[RunPartition, ...]:
    status = environment.cluster.partition_status({p.topic for p in partitions})
    ids = {name.topic: found.topic_id for name, found in status.items()}
    return tuple(replace(p, topic_id=ids.get(p.topic, "")) for p in partitions)


def _has_work(p: RunPartition) -> bool:
    is_elsewhere = any(p.previous_dirs.get(b) != path for b, path in p.target_dirs.items())
    return p.previous.replicas != p.replicas or p.previous.leader != p.replicas[0] or is_elsewhere


def _asked(plan: Plan) -> str:
    """What the plan was asked to do, as options that differ from their defaults; its file if no planner made it."""
    if plan.cluster_id is None:
        return "plan of another tool"
    asked = {name: value for name, value in plan.options.items() if name not in _UNREPORTED}
    if asked.get("adopted"):
        return "adopted from another tool"
    if "demote" in asked:
        return f"demote {brokers_by_id(asked['demote'])}" if asked["demote"] else "promote"
    return " ".join(_as_typed(name, value) for name, value in asked.items()) or "balance"


def _as_typed(name: str, value: Any) -> str:
    """An option of a plan as the command line takes it: the plan file has bytes, seconds and fractions as numbers."""
    flag = f"--{name.replace('_', '-')}"
    match name, value:
        case "mode", _:
            return f"--{value}"
        case _, True:
            return flag
        case "max_bytes" | "max_cross_rack_bytes", int():
            return f"{flag} {_compact_bytes(value)}"
        case "max_duration_s", int() | float():
            return f"--max-duration {duration_as_option(value)}"
        case "below", int() | float():
            return f"{flag} {percent_as_option(value)}"
        case "broker_limits", dict():
            return " ".join(f"--broker-limit {_limit_as_typed(broker, limit)}" for broker, limit in value.items())
        case _, list() | tuple():
            return f"{flag} {','.join(map(str, value))}"
    return f"{flag} {value}"


def _limit_as_typed(broker: str, limit: Mapping[str, int | None]) -> str:
    replicas, size = limit.get("replicas"), limit.get("bytes")
    text = f"{broker}:{'' if replicas is None else replicas}"
    return text if size is None else f"{text}:{_compact_bytes(size)}"


def _compact_bytes(count: int) -> str:
    return format_stated_bytes(count).replace(" ", "")


def _originals(
    environment: RunEnvironment, options: RunOptions, partitions: tuple[RunPartition, ...]
) -> tuple[Original, ...]:
    """Configs as found; empty if the run neither sets nor removes a throttle."""
    throttle = options.throttle
    sets_none = throttle.bytes_per_s is None and throttle.log_dir_bytes_per_s is None
    if sets_none and not options.removes_found_throttles:
        return ()
    if Capability.CONFIGS not in environment.cluster.capabilities:
        raise MissingCapabilityError(
            f"throttles not supported: {environment.cluster.name}", hint="run without a throttle: --throttle none"
        )
    originals, faults = read_originals(environment.cluster, partitions)
    for resource, fault in faults.items():
        if fault.name.endswith("AUTHORIZATION_FAILED"):
            raise NotAuthorizedError(
                f"not authorized to read the configs of {resource}: {fault}",
                hint=f"grant DescribeConfigs on {granted_on(resource)}, or run without a throttle: --throttle none",
            )
        environment.listener.on_event(Warned(message=f"cannot read the configs of {resource}: {fault}"))
    return originals
