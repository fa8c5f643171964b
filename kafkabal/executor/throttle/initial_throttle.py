"""The throttle that a run begins with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from kafkabal.clusters import Capability
from kafkabal.executor.observe.cluster_load import ClusterLoad, Moves, measure_load, moves_of_plan
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.throttle.auto_rate import first_rate
from kafkabal.plan import PartitionChange


def initial_throttle(
    bytes_per_s: int | Literal["auto"],
    moves: Moves,
    load: ClusterLoad | None,
    *,
    log_dir_bytes_per_s: int | None = None,
    override: bool = False,
) -> Throttle:
    """Choose the rate, and record the groups for which it must not be lowered later.

    Parameters
    ----------
    bytes_per_s
        Per broker in each direction; ``auto`` begins with what the brokers have to spare.
    moves
        Brokers to which each partition is copied.
    load
        The brokers' current load; None if it was not measured, so that ``auto`` begins low.
    log_dir_bytes_per_s
        Between log dirs of a broker; the same rate if None, adapted if that is.
    """
    is_auto = bytes_per_s == "auto"
    rate = _first_rate(load, moves) if bytes_per_s == "auto" else bytes_per_s
    return Throttle(
        bytes_per_s=rate,
        is_auto=is_auto,
        # groups that were behind before the run prove nothing about its impact on consumers
        behind=tuple(sorted(load.behind)) if load is not None and is_auto else (),
        log_dir_bytes_per_s=log_dir_bytes_per_s or rate,
        is_log_dir_auto=is_auto and log_dir_bytes_per_s is None,
        override=override,
    )


def _first_rate(load: ClusterLoad | None, moves: Moves) -> int:
    if load is None:
        return first_rate(0.0, 0.0)
    incoming = load.incoming_bytes_per_s(moves)
    return first_rate(max(incoming.values(), default=0.0), load.carried_bytes_per_s(load.brokers_of(moves)))


def measured_throttle(
    environment: RunEnvironment, changes: Collection[PartitionChange], bytes_per_s: int | Literal["auto"] | None
) -> Throttle:
    """The throttle for a plan's run; for ``auto``, measures the brokers' load first, which takes some seconds.

    Parameters
    ----------
    bytes_per_s
        None sets no throttle.
    """
    if bytes_per_s is None:
        return Throttle()
    moves, cluster, load = moves_of_plan(changes), environment.cluster, None
    is_copying = any(c.to_add or c.log_dir_bytes for c in changes)
    if bytes_per_s == "auto" and Capability.OFFSETS in cluster.capabilities and is_copying:
        load = measure_load(cluster, environment.clock, cluster.broker_ids(), environment.broker_timeout_s)
    return initial_throttle(bytes_per_s, moves, load)
