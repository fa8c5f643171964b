"""Checks whether the cluster can be reached, read and changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from kafkabal.clusters import Capability, Clock, Cluster, Deadline, InFlight, ReadRequest, run_all
from kafkabal.clusters.kafka import BROKERS_TRIED, BrokerReachability, KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.doctor.check_result import CheckResult, CheckStatus, failed
from kafkabal.doctor.permission_checks import check_permissions
from kafkabal.doctor.purpose import Purpose
from kafkabal.errors import KafkabalError, UnreachableError, UsageError
from kafkabal.units import format_duration

_NETWORK, _CLUSTER = "network", "cluster"
_SLOW_S: Final = 1.0
"""Connecting and one response take milliseconds; after a second something is wrong with DNS or routes."""
_CLOCK_TOLERANCE_S: Final = 5.0
"""Run times are compared across hosts; the lock's lease is 30 s."""
_FOR_WHAT: Final = {
    Capability.LOG_DIRS: "sizes of replicas",
    Capability.VOLUME_BYTES: "sizes of volumes; give them as 'capacity' in the profile",
    Capability.REASSIGN: "moving replicas",
    Capability.REPLICATION_FACTOR_GUARD: "Kafka's check of replication factors; kafkabal checks them itself",
    Capability.MOVE_LOG_DIRS: "moves between log dirs",
    Capability.CONFIGS: "throttles",
    Capability.LOCK: "the lock across hosts",
    Capability.RECORDS: "resuming from another host",
}


def check_kafka(
    settings: ConnectionSettings, purposes: Collection[Purpose], clock: Clock, deadline_s: float, runs: Path
) -> Iterator[CheckResult]:
    """Check a live cluster, from its bootstrap servers to permissions; nothing is changed.

    Parameters
    ----------
    deadline_s
        How long each broker may take to respond.
    runs
        Folder with the journals of this host.
    """
    settings = _with_timeout(settings, deadline_s)
    servers = list(_check_servers(settings, clock))
    yield from servers
    if all(check.status is CheckStatus.FAILED for check in servers):
        unknown = "brokers, versions, clock, lock and permissions: no bootstrap server responds"
        yield _skipped(_CLUSTER, "everything else", unknown)
        return
    with KafkaCluster(settings, clock) as cluster:
        yield from _guarded(_NETWORK, "brokers", lambda: _check_brokers(cluster, deadline_s))
        yield from check_cluster(cluster, deadline_s, runs)
        yield from _guarded(_CLUSTER, "clock", lambda: [_check_clock(cluster, clock)])
        yield from _guarded(_CLUSTER, "lock", lambda: [_check_lock(cluster)])
        yield from check_permissions(cluster, purposes)


def _with_timeout(settings: ConnectionSettings, deadline_s: float) -> ConnectionSettings:
    """The settings for checks, which change nothing: if the controller hangs, the next one may tell more than waiting.

    A request may be put to several brokers in turn, each of which gets its time.
    """
    request_s = min(settings.request_timeout_s, BROKERS_TRIED * deadline_s)
    return replace(settings, request_timeout_s=request_s, broker_timeout_s=deadline_s)


def check_back_end(open_it: Callable[[], Cluster], deadline_s: float, runs: Path) -> Iterator[CheckResult]:
    """Check a cluster that is not found through bootstrap servers: whether it opens, and what it offers.

    Raises
    ------
    UsageError
        If its address is malformed.
    """
    try:
        cluster = open_it()
    except UsageError:
        raise
    except KafkabalError as error:
        yield failed(_NETWORK, "open the cluster", error)
        return
    with cluster:
        yield from check_cluster(cluster, deadline_s, runs)


def check_cluster(cluster: Cluster, deadline_s: float, runs: Path) -> Iterator[CheckResult]:
    """Check what every back end offers: its capabilities, whether it can be read, and what earlier runs have left."""
    yield from _guarded(_CLUSTER, "capabilities", lambda: [_check_capabilities(cluster)])
    yield from _guarded(_CLUSTER, "read", lambda: _check_reading(cluster, deadline_s))
    yield from _guarded(_CLUSTER, "latest run", lambda: _check_latest_run(cluster, deadline_s, runs))


def _check_servers(settings: ConnectionSettings, clock: Clock) -> Iterator[CheckResult]:
    """Check each bootstrap server: a command does not notice that some do not respond while one does."""
    tasks = {server: partial(_ask_server, server, settings, clock) for server in settings.bootstrap_servers}
    ids: set[str] = set()
    # at the same time, so that those that do not respond cost the time of one
    for server, outcome in run_all(tasks, Deadline(settings.request_timeout_s, clock)).items():
        what = f"bootstrap server {server}"
        if isinstance(outcome, KafkabalError):
            yield failed(_NETWORK, what, outcome)
            continue
        cluster_id, elapsed_s = outcome
        ids.add(cluster_id)
        yield _responded(what, elapsed_s, f"cluster {cluster_id}")
    if len(ids) > 1:
        yield CheckResult(
            area=_NETWORK,
            what="bootstrap servers",
            status=CheckStatus.FAILED,
            detail="they belong to different clusters",
            hint="name the servers of one cluster with --bootstrap-server",
        )


def _ask_server(server: str, settings: ConnectionSettings, clock: Clock) -> tuple[str, float]:
    """The id of its cluster, and the seconds until it responded."""
    begin_s = clock.monotonic()
    with KafkaCluster(replace(settings, bootstrap_servers=(server,)), clock) as cluster:
        return cluster.cluster_id(), clock.monotonic() - begin_s


def _check_brokers(cluster: KafkaCluster, deadline_s: float) -> Iterator[CheckResult]:
    reached = cluster.reach(deadline_s)
    for broker, reach in sorted(reached.items()):
        what = f"broker {broker} at {reach.address}"
        if reach.error is not None:
            yield _unreached(what, reach.error)
        elif reach.response_s is not None:
            yield _responded(what, reach.response_s, f"Kafka {reach.release}")
    yield _check_versions(reached.values())


def _unreached(what: str, error: KafkabalError) -> CheckResult:
    if not isinstance(error, UnreachableError):
        return failed(_NETWORK, what, error)
    hint = "this host must reach the address that the broker advertises (advertised.listeners): check DNS and firewalls"
    return CheckResult(
        area=_NETWORK, what=what, status=CheckStatus.FAILED, detail=error.message, hint=error.hint or hint
    )


def _responded(what: str, elapsed_s: float, detail: str) -> CheckResult:
    slow = elapsed_s > _SLOW_S
    return CheckResult(
        area=_NETWORK,
        what=what,
        status=CheckStatus.WARNING if slow else CheckStatus.OK,
        detail=f"responded in {format_duration(elapsed_s)}, {detail}",
        hint="look for slow name resolution, or a route over a distant network" if slow else "",
    )


def _check_versions(reached: Collection[BrokerReachability]) -> CheckResult:
    what = "versions"
    responded = [reach for reach in reached if reach.error is None]
    if not responded:
        return _skipped(_CLUSTER, what, "no broker responds")
    kinds = Counter(tuple(sorted(reach.versions.items())) for reach in responded)
    releases = ", ".join(sorted({reach.release for reach in responded}))
    if len(kinds) > 1:
        return CheckResult(
            area=_CLUSTER,
            what=what,
            status=CheckStatus.WARNING,
            detail=f"brokers run different versions: Kafka {releases}",
            hint="finish the rolling upgrade before moving replicas",
        )
    is_complete = len(responded) == len(reached)
    who = "all brokers" if is_complete else f"{len(responded)} of {len(reached)} brokers responded; they"
    return CheckResult(area=_CLUSTER, what=what, status=CheckStatus.OK, detail=f"{who} run Kafka {releases}")


def _check_capabilities(cluster: Cluster) -> CheckResult:
    missing = [f"{name}: {what}" for name, what in _FOR_WHAT.items() if name not in cluster.capabilities]
    if not missing:
        return CheckResult(
            area=_CLUSTER, what="capabilities", status=CheckStatus.OK, detail="everything that kafkabal uses"
        )
    return CheckResult(
        area=_CLUSTER, what="capabilities", status=CheckStatus.NOTE, detail=f"without {'; '.join(missing)}"
    )


def _check_reading(cluster: Cluster, deadline_s: float) -> Iterator[CheckResult]:
    reading = cluster.read(ReadRequest(deadline_s=deadline_s, in_flight=InFlight.IF_KNOWN))
    for problem in reading.problems:
        yield CheckResult(
            area=_CLUSTER,
            what=f"read broker {problem.broker}",
            status=CheckStatus.FAILED,
            detail=problem.message,
            hint="'kafkabal inspect' shows what is known without it",
        )
    if reading.in_flight_problem:
        yield CheckResult(
            area=_CLUSTER,
            what="controller",
            status=CheckStatus.FAILED,
            detail=reading.in_flight_problem,
            hint="check that the controllers run: without one, nothing can be moved, created, elected or configured",
        )
    state = reading.state
    # these import numpy: only once there is something to check
    from kafkabal.doctor.state_checks import check_state
    from kafkabal.doctor.throttle_checks import check_throttles

    yield from check_state(cluster, state)
    yield from _guarded(_CLUSTER, "throttles", lambda: check_throttles(cluster, state))
    size = f"brokers: {state.brokers.id.size:,}, topics: {len(state.topics.name):,}, partitions: "
    size += f"{state.partitions.topic.size:,}"
    if not reading.warnings:
        yield CheckResult(area=_CLUSTER, what="read", status=CheckStatus.OK, detail=size)


def _check_latest_run(cluster: Cluster, deadline_s: float, runs: Path) -> Iterator[CheckResult]:
    from kafkabal.doctor.run_checks import check_latest_run
    from kafkabal.executor import RunEnvironment

    return check_latest_run(RunEnvironment(cluster=cluster, state_dir=runs, broker_timeout_s=deadline_s))


def _check_clock(cluster: KafkaCluster, clock: Clock) -> CheckResult:
    before = clock.utc_now().timestamp()
    theirs_s = cluster.controller_time_s()
    if theirs_s is None:
        return _skipped(_CLUSTER, "clock", "the cluster does not report its time (Kafka 3.3 and later with KRaft do)")
    ahead_s = theirs_s - (before + clock.utc_now().timestamp()) / 2
    detail = f"the controller's is {format_duration(abs(ahead_s))} {'ahead' if ahead_s > 0 else 'behind'}"
    if abs(ahead_s) <= _CLOCK_TOLERANCE_S:
        return CheckResult(area=_CLUSTER, what="clock", status=CheckStatus.OK, detail=detail)
    hint = "set the clocks by NTP: --window, --dead-after and the order of runs on several hosts depend on them"
    return CheckResult(area=_CLUSTER, what="clock", status=CheckStatus.WARNING, detail=detail, hint=hint)


def _check_lock(cluster: KafkaCluster) -> CheckResult:
    from kafkabal.executor import is_provably_gone

    try:
        # not a finding if a killed process of this host holds it: the next command takes the lock over at once
        holders = [holder for holder in cluster.lock_holders() if not is_provably_gone(holder)]
    except KafkabalError as error:
        return failed(_CLUSTER, "lock", error, CheckStatus.SKIPPED)
    if holders:
        return CheckResult(
            area=_CLUSTER, what="lock", status=CheckStatus.NOTE, detail=f"held by {' and '.join(holders)}"
        )
    return CheckResult(area=_CLUSTER, what="lock", status=CheckStatus.OK, detail="free")


def _guarded(
    area: str, what: str, look: Callable[[], Collection[CheckResult] | Iterator[CheckResult]]
) -> Iterator[CheckResult]:
    """The results of a group of checks; an error becomes a finding, and the next group still runs."""
    try:
        yield from look()
    except KafkabalError as error:
        yield failed(area, what, error)


def _skipped(area: str, what: str, why: str) -> CheckResult:
    return CheckResult(area=area, what=what, status=CheckStatus.SKIPPED, detail=why)
