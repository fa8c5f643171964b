"""Checks what is wrong with the brokers, log dirs and partitions of a cluster: a run would refuse it, or be delayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kafkabal.clusters import Cluster, count_under_min_isr, min_insync_replicas
from kafkabal.doctor.check_result import CheckResult, CheckStatus
from kafkabal.errors import KafkabalError
from kafkabal.model import Bools, ClusterState, LogDirState, lagging_partitions
from kafkabal.wording import UNDER_MIN_ISR, WITH_LAGGING_REPLICAS, WITHOUT_LEADER, counted_noun, first_of

_AREA: Final = "cluster"


def check_state(cluster: Cluster, state: ClusterState) -> Iterator[CheckResult]:
    """What is wrong with a state that was just read, each with what to do about it, and what will go wrong."""
    dead = state.brokers.id[~state.brokers.is_live].tolist()
    if dead:
        detail = f"not registered, but in the replica lists of partitions: {first_of(dead)}"
        yield _warning("dead brokers", detail, "start them, or see 'kafkabal help dead-broker'")
    yield from _check_log_dirs(state)
    yield from _check_partitions(cluster, state)
    yield from _check_redundancy(cluster, state)


def _check_log_dirs(state: ClusterState) -> Iterator[CheckResult]:
    offline = _dirs_in(state, LogDirState.OFFLINE)
    if offline:
        hint = "replace the disk and restart the broker, or copy the replicas: 'kafkabal rebalance --repair-only'"
        yield _warning("log dirs", f"{counted_noun(len(offline), 'log dir')} offline: {first_of(offline)}", hint)
    cordoned = _dirs_in(state, LogDirState.CORDONED)
    if cordoned:
        # intended after a drain; but a run that was stopped may have been unable to lift its cordon
        detail = f"{counted_noun(len(cordoned), 'log dir')} cordoned, where no replica is placed: {first_of(cordoned)}"
        yield CheckResult(area=_AREA, what="cordoned log dirs", status=CheckStatus.NOTE, detail=detail)


def _dirs_in(state: ClusterState, wanted: LogDirState) -> list[str]:
    """Log dirs in a state, in words for people."""
    dirs = state.log_dirs
    return [
        f"{dirs.path[d]} of broker {state.brokers.id[dirs.broker[d]]}"
        for d in np.flatnonzero(dirs.state == wanted).tolist()
    ]


def _check_partitions(cluster: Cluster, state: ClusterState) -> Iterator[CheckResult]:
    offline = state.partitions.leader < 0
    if offline.any():
        hint = "bring back the brokers or disks with their replicas; see 'kafkabal inspect --by partition'"
        yield _warning("offline partitions", _named(state, offline, WITHOUT_LEADER), hint)
    under = count_under_min_isr(cluster, state)
    if under:
        detail = f"{counted_noun(under, 'partition')} {UNDER_MIN_ISR}"
        yield _warning(
            "min ISR", detail, "bring back the brokers or disks that are missing, or wait until replicas are in sync"
        )
    # without a controller, replicas that are being added would pass for such
    lagging = lagging_partitions(state)
    if state.reassignments_known and lagging.any():
        hint = "wait until they are in sync: no run moves such partitions; if they stay, see the logs of their brokers"
        yield _warning("replicas out of sync", _named(state, lagging, WITH_LAGGING_REPLICAS), hint)


def _check_redundancy(cluster: Cluster, state: ClusterState) -> Iterator[CheckResult]:
    """Topics that are written only while every broker runs: worth knowing before one is restarted."""
    if len(state.brokers) < 2:
        return
    replicas = np.full(len(state.topics.name), np.iinfo(np.int64).max)
    np.minimum.at(replicas, state.partitions.topic, np.diff(state.partitions.first))
    factor = {name: int(n) for name, n in zip(state.topics.name, replicas.tolist(), strict=True)}
    try:
        least = min_insync_replicas(cluster, [name for name, n in factor.items() if n > 1])
    except KafkabalError:
        least = {}  # what is permitted is checked elsewhere
    fragile = [
        f"{name} ({_reason(n, least.get(name, 1))})" for name, n in sorted(factor.items()) if n <= least.get(name, 1)
    ]
    if fragile:
        detail = f"one dead broker stops writes with acks=all to {counted_noun(len(fragile), 'topic')}"
        yield CheckResult(
            area=_AREA, what="redundancy", status=CheckStatus.NOTE, detail=f"{detail}: {first_of(fragile)}"
        )


def _reason(replicas: int, least: int) -> str:
    return "1 replica" if replicas == 1 else f"{replicas} replicas, min.insync.replicas {least}"


def _named(state: ClusterState, partitions: Bools, what: str) -> str:
    names = [state.topic_partition(p) for p in np.flatnonzero(partitions).tolist()]
    return f"{counted_noun(len(names), 'partition')} {what}: {first_of(names)}"


def _warning(what: str, detail: str, hint: str) -> CheckResult:
    return CheckResult(area=_AREA, what=what, status=CheckStatus.WARNING, detail=detail, hint=hint)
