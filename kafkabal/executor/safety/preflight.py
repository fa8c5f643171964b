"""Preflight checks before a run begins, each with its verdict.

An *overridable* check stops the run unless it is allowed by name; a *refused* one stops it in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kafkabal.clusters import Capability, Cluster, InFlight
from kafkabal.clusters.unknown_cluster_id import is_cluster_known
from kafkabal.errors import UnsafeError
from kafkabal.executor.observe.cluster_load import incoming_bytes_per_s, moves_of_plan
from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.overridable_check_names import Overridable
from kafkabal.executor.safety.plan_rules import PlannedRows
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.model import Bools, ClusterState, TopicPartition, can_choose_log_dir, offline_replicas
from kafkabal.plan import ANY_DIR, Action, Drift, PartitionChange, Plan, find_drift
from kafkabal.units import format_rate, format_stated_rate
from kafkabal.wording import WITH_LAGGING_REPLICAS, WITHOUT_LEADER, brokers_by_id, counted_noun, first_of

HOW_TO_GO_ON_AFTER_DRIFT = "make a new plan, or skip them with --skip-drifted"
_DRIFT = "drift"
_NO_THROTTLE = "no throttle: copies may take all the bandwidth that clients need"
_TRUSTED_RATE_BYTES_PER_S = 10**6
"""Kafka's quota counts whole fetch responses, of up to 1 MB per partition: with less than one such response a second,
the rate is a matter of chance."""


class CheckVerdict(StrEnum):
    """The verdict of a check."""

    OK = "ok"
    WARNING = "warning"
    OVERRIDABLE = "overridable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PreflightCheck:
    """One check and its result."""

    name: str
    """One of :class:`~kafkabal.executor.safety.overridable_check_names.Overridable` if the check can be overridden."""
    verdict: CheckVerdict
    message: str

    def stops(self, allowed: Collection[Overridable]) -> bool:
        """Whether the check keeps the run from beginning."""
        return self.verdict is CheckVerdict.REFUSED or (
            self.verdict is CheckVerdict.OVERRIDABLE and self.name not in allowed
        )


def preflight(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    unfinished: FoundRun | None,
    *,
    state: ClusterState | None = None,
    skip_drifted: bool = False,
    recently_dead: Collection[int] = (),
) -> tuple[PreflightCheck, ...]:
    """Check everything that could make a run go wrong.

    Parameters
    ----------
    unfinished
        The latest known run, if any.
    state
        The current cluster, with the rates of its partitions; read without rates if None.
    recently_dead
        Brokers that died recently and may come back.
    """
    cluster, state = environment.cluster, state or environment.read_state()
    drifts = find_drift(plan, state)
    rows = PlannedRows(plan, state, drifts)
    carried = unfinished.moves_to_carry(cluster, plan) if unfinished is not None else ()
    return (
        _cluster_id(plan, state),
        _capabilities(plan, options, cluster.capabilities),
        _unfinished(unfinished, carried),
        _drift(drifts, skip_drifted=skip_drifted),
        _in_flight(cluster, plan, {p.name for p in carried})
        if state.reassignments_known or environment.in_flight is InFlight.REQUIRED
        else _in_flight_unknown(environment.in_flight),
        _recently_dead(plan, state, recently_dead),
        _rule(Overridable.REPLICATION_FACTOR, "would get another replication factor", rows.other_factors()),
        _rule(Overridable.RACK_SPREAD, "would be spread over fewer racks", rows.fewer_racks()),
        _rule(
            Overridable.CLOSED_TARGET,
            "would get a replica on a dead, cordoned, offline or unknown broker or log dir",
            rows.closed_places(),
        ),
        _offline(plan, state),
        _under_replicated(plan, state),
        _log_dirs(plan),
        _disks(plan, state, options),
        _rates(plan, state, options, cluster.capabilities),
        _scope(cluster.capabilities),
    )


def enforce(checks: Iterable[PreflightCheck], allowed: Collection[Overridable] = ()) -> None:
    """Refuse to begin if a check says so.

    Parameters
    ----------
    allowed
        Overridable checks that do not stop the run.

    Raises
    ------
    UnsafeError
        Naming every check that stops the run.
    """
    bad = [c for c in checks if c.stops(allowed)]
    if bad:
        raise UnsafeError("not safe to start: " + "; ".join(c.message for c in bad), hint=_way_out(bad))


def _way_out(bad: Sequence[PreflightCheck]) -> str | None:
    if [c.name for c in bad] == [_DRIFT]:
        return HOW_TO_GO_ON_AFTER_DRIFT
    if not all(c.verdict is CheckVerdict.OVERRIDABLE for c in bad):
        return None
    override = "to override: " + " ".join(f"--allow {c.name}" for c in bad)
    if any(c.name == Overridable.OTHER_REASSIGNMENTS for c in bad):
        return f"wait for them, or take them over with 'kafkabal rebalance adopt'; {override}"
    return override


def _cluster_id(plan: Plan, state: ClusterState) -> PreflightCheck:
    if plan.cluster_id is None:
        return PreflightCheck("cluster", CheckVerdict.WARNING, "the plan has no cluster id")
    if plan.cluster_id != state.cluster_id:
        this = f"this is {state.cluster_id}"
        message = (
            f"the plan is for cluster {plan.cluster_id}, {this}"
            if is_cluster_known(plan.cluster_id)
            else f"the plan is for a snapshot that was imported without the id of its cluster, {this}: "
            f"if it is of this cluster, import it with '--cluster-id {state.cluster_id}' and make the plan again"
        )
        return PreflightCheck("cluster", CheckVerdict.REFUSED, message)
    return PreflightCheck("cluster", CheckVerdict.OK, f"this is cluster {state.cluster_id}")


def _capabilities(plan: Plan, options: RunOptions, has: frozenset[Capability]) -> PreflightCheck:
    needed = set()
    if any(c.action in (Action.MOVE, Action.REORDER) for c in plan.partitions):
        needed.add(Capability.REASSIGN)
    if any(d != ANY_DIR for c in plan.partitions for d in c.log_dirs):
        needed.add(Capability.MOVE_LOG_DIRS)
    if options.elect_leaders:
        needed.add(Capability.ELECT_LEADERS)
    if options.throttle.bytes_per_s is not None or options.throttle.log_dir_bytes_per_s is not None:
        needed.add(Capability.CONFIGS)
    missing = sorted(needed - has)
    if missing:
        return PreflightCheck(
            "capabilities",
            CheckVerdict.REFUSED,
            f"not supported by this cluster or not authorized: {', '.join(missing)}",
        )
    return PreflightCheck("capabilities", CheckVerdict.OK, "the cluster supports everything the plan needs")


def _unfinished(found: FoundRun | None, carried: Collection[RunPartition]) -> PreflightCheck:
    if found is None or not found.is_open:
        return PreflightCheck("earlier run", CheckVerdict.OK, "no unfinished run")
    if carried:
        moves = counted_noun(len(carried), "reassignment")
        names = first_of([str(p.name) for p in carried])
        message = (
            f"{moves} of run {found.record.run_id} cannot finish or be cancelled until dead brokers return: {names}; "
            "this run takes over"
        )
        return PreflightCheck("earlier run", CheckVerdict.WARNING, message)
    if waiting := found.rates_left:
        brokers = brokers_by_id(sorted({int(original.resource) for original in waiting}))
        message = f"throttles of run {found.record.run_id} remain on {brokers}; this run restores them"
        return PreflightCheck("earlier run", CheckVerdict.WARNING, message)
    message = (
        f"run {found.record.run_id} of {found.record.host} is unfinished (phase: {found.state.phase_in_words}): "
        "finish it with 'kafkabal rebalance resume', 'rollback' or 'cancel'"
    )
    return PreflightCheck("earlier run", CheckVerdict.REFUSED, message)


def _drift(drifts: Sequence[Drift], *, skip_drifted: bool) -> PreflightCheck:
    if not drifts:
        return PreflightCheck(_DRIFT, CheckVerdict.OK, "no partition has changed since planning")
    verdict = CheckVerdict.WARNING if skip_drifted else CheckVerdict.REFUSED
    return PreflightCheck(
        _DRIFT,
        verdict,
        f"{counted_noun(len(drifts), 'planned partition')} changed since planning: {first_of(drifts, separator='; ')}",
    )


def _in_flight(cluster: Cluster, plan: Plan, carried: Collection[TopicPartition]) -> PreflightCheck:
    planned = {c.name for c in plan.partitions}
    others = [str(name) for name in cluster.reassignments() if name not in planned and name not in carried]
    if others:
        message = f"{counted_noun(len(others), 'other reassignment')} in flight: {first_of(sorted(others))}"
        return PreflightCheck(Overridable.OTHER_REASSIGNMENTS, CheckVerdict.OVERRIDABLE, message)
    return PreflightCheck(Overridable.OTHER_REASSIGNMENTS, CheckVerdict.OK, "no other reassignment in flight")


def _in_flight_unknown(in_flight: InFlight) -> PreflightCheck:
    """Of a dry run; it has been warned of already if they were left out on purpose."""
    verdict = CheckVerdict.OK if in_flight is InFlight.OMITTED else CheckVerdict.WARNING
    message = "reassignments in flight are unknown: the controller did not respond"
    return PreflightCheck(Overridable.OTHER_REASSIGNMENTS, verdict, message)


def _rule(check: Overridable, what: str, broken: Iterator[str]) -> PreflightCheck:
    names = list(broken)
    if names:
        return PreflightCheck(
            check,
            CheckVerdict.OVERRIDABLE,
            f"{counted_noun(len(names), 'planned partition')} {what}: {first_of(names)}",
        )
    return PreflightCheck(check, CheckVerdict.OK, f"no planned partition {what}")


def _recently_dead(plan: Plan, state: ClusterState, brokers: Collection[int]) -> PreflightCheck:
    """A broker that is restarting will come back, and copies made meanwhile would be useless."""
    if brokers:
        r, planned = state.replicas, {c.name for c in plan.partitions}
        rows = np.unique(r.partition[np.isin(state.brokers.id[r.broker], list(brokers))])
        names = [name for name in map(state.topic_partition, rows.tolist()) if name in planned]
        if names:
            message = (
                f"{counted_noun(len(names), 'planned partition')} with a replica on "
                f"{brokers_by_id(sorted(brokers))}, dead for less than --dead-after"
            )
            return PreflightCheck(Overridable.RECENTLY_DEAD, CheckVerdict.OVERRIDABLE, message)
    return PreflightCheck(
        Overridable.RECENTLY_DEAD, CheckVerdict.OK, "no planned partition waits for a broker to come back"
    )


def _offline(plan: Plan, state: ClusterState) -> PreflightCheck:
    """A partition without a leader cannot be copied."""
    planned = {c.name for c in plan.partitions}
    names = _names(state, state.partitions.leader < 0)
    concerned = [name for name in names if name in planned]
    if concerned:
        message = f"{counted_noun(len(concerned), 'planned partition')} {WITHOUT_LEADER}: {first_of(concerned)}"
        return PreflightCheck(Overridable.OFFLINE_PARTITIONS, CheckVerdict.OVERRIDABLE, message)
    if names:
        message = f"{counted_noun(len(names), 'unplanned partition')} {WITHOUT_LEADER}: {first_of(names)}"
        return PreflightCheck(Overridable.OFFLINE_PARTITIONS, CheckVerdict.WARNING, message)
    return PreflightCheck(Overridable.OFFLINE_PARTITIONS, CheckVerdict.OK, "every partition has a leader")


def _under_replicated(plan: Plan, state: ClusterState) -> PreflightCheck:
    """Replicas out of sync on live brokers, except those that the plan replaces.

    A replica on a dead broker or in an offline log dir is what a repair is for, and stops nothing.
    """
    lagging = _lagging(state)
    planned = {c.name: c for c in plan.partitions}
    concerned, others = [], 0
    for row, brokers in lagging.items():
        change = planned.get(state.topic_partition(row))
        if change is None:
            others += 1
        elif not _replaces_only(change, brokers, state, row):
            concerned.append(str(state.topic_partition(row)))
    if concerned:
        message = f"{counted_noun(len(concerned), 'planned partition')} {WITH_LAGGING_REPLICAS}: {first_of(concerned)}"
        return PreflightCheck(Overridable.UNDER_REPLICATED, CheckVerdict.OVERRIDABLE, message)
    if others:
        message = f"{counted_noun(others, 'unplanned partition')} {WITH_LAGGING_REPLICAS}"
        return PreflightCheck(Overridable.UNDER_REPLICATED, CheckVerdict.WARNING, message)
    return PreflightCheck(
        Overridable.UNDER_REPLICATED, CheckVerdict.OK, "no planned partition has a live replica out of sync"
    )


def _lagging(state: ClusterState) -> dict[int, set[int]]:
    """By partition row, the live brokers whose replica is out of sync but not just being added."""
    r = state.replicas
    rows = np.flatnonzero(~r.in_sync & ~r.adding & ~offline_replicas(state))
    found: dict[int, set[int]] = {}
    for partition, broker in zip(r.partition[rows].tolist(), state.brokers.id[r.broker[rows]].tolist(), strict=True):
        found.setdefault(partition, set()).add(broker)
    return found


def _replaces_only(change: PartitionChange, lagging: set[int], state: ClusterState, row: int) -> bool:
    """Whether a change removes every lagging replica, and none that is in sync."""
    r = state.replicas
    rows = slice(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
    in_sync = set(state.brokers.id[r.broker[rows][r.in_sync[rows]]].tolist())
    kept = set(change.replicas)
    return not lagging & kept and in_sync <= kept


def _log_dirs(plan: Plan) -> PreflightCheck:
    """Kafka cannot choose a log dir for the longest names; their replicas go where the broker puts them."""
    asked = (c for c in plan.partitions if any(d != ANY_DIR for d in c.log_dirs))
    names = [str(c.name) for c in asked if not can_choose_log_dir(c.topic, c.partition)]
    if names:
        message = (
            f"{counted_noun(len(names), 'planned partition')} with a name too long for Kafka to choose a log dir: "
            f"{first_of(names)}"
        )
        return PreflightCheck("log dirs", CheckVerdict.WARNING, message)
    return PreflightCheck("log dirs", CheckVerdict.OK, "Kafka can choose every log dir that the plan names")


def _disks(plan: Plan, state: ClusterState, options: RunOptions) -> PreflightCheck:
    """Whether everything fits at once, before any source replica is deleted."""
    disks = DiskRoom(state, options.limits.disk_fraction)
    tight = set()
    for change in plan.partitions:
        copies = len(change.to_add)
        for broker in change.to_add if change.previous else ():
            path = change.log_dirs[change.replicas.index(broker)]
            log_dir = None if path == ANY_DIR else path
            size = change.bytes // copies
            if not disks.has_room(broker, log_dir, size):
                tight.add(broker)
            disks.reserve(broker, log_dir, size)
    if tight:
        message = f"little disk space on {brokers_by_id(sorted(tight))}: moves will wait for free space"
        return PreflightCheck("disks", CheckVerdict.WARNING, message)
    return PreflightCheck("disks", CheckVerdict.OK, "every disk has room for all of its new replicas at once")


def _rates(plan: Plan, state: ClusterState, options: RunOptions, has: frozenset[Capability]) -> PreflightCheck:
    """With a throttle below the producers' rate, no copy ever catches up."""
    rate = options.throttle.bytes_per_s
    if rate is None and Capability.CONFIGS not in has:
        return PreflightCheck(Overridable.THROTTLE, CheckVerdict.OK, "throttles not supported by this cluster")
    if rate is None:
        return PreflightCheck(Overridable.THROTTLE, CheckVerdict.WARNING, _NO_THROTTLE)
    incoming = incoming_bytes_per_s(state, moves_of_plan(plan.partitions))
    worst = max(incoming.values(), default=0.0)
    if worst >= rate:
        broker = max(incoming, key=lambda b: incoming[b])
        message = (
            f"throttle below the write rate of partitions that move from or to broker {broker}: {format_rate(worst)}"
        )
        return PreflightCheck(Overridable.THROTTLE, CheckVerdict.OVERRIDABLE, message)
    if rate < _TRUSTED_RATE_BYTES_PER_S:
        return PreflightCheck(
            Overridable.THROTTLE,
            CheckVerdict.WARNING,
            f"throttle below 1 MB/s, which Kafka enforces inaccurately: {format_stated_rate(rate)}",
        )
    message = f"{format_stated_rate(rate)} per broker in each direction"
    return PreflightCheck(Overridable.THROTTLE, CheckVerdict.OK, message)


def _scope(has: frozenset[Capability]) -> PreflightCheck:
    if not has & {Capability.CONFIGS, Capability.LOCK, Capability.RECORDS}:
        return PreflightCheck("other hosts", CheckVerdict.OK, "a snapshot is a file of this host")
    missing = [c.value for c in (Capability.LOCK, Capability.RECORDS) if c not in has]
    if missing:
        message = "runs from other hosts are not blocked, or cannot resume this one: not supported or not authorized: "
        return PreflightCheck("other hosts", CheckVerdict.WARNING, message + ", ".join(missing))
    return PreflightCheck("other hosts", CheckVerdict.OK, "runs from other hosts are blocked, and can resume this one")


def _names(state: ClusterState, rows: Bools) -> list[TopicPartition]:
    return [state.topic_partition(row) for row in np.flatnonzero(rows).tolist()]
