"""What must hold in every state, and once nothing goes wrong any more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.state.cluster_record import is_state_key
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, TopicPartition
from kafkabal.plan import PartitionChange, Placement
from tools.model_check.journal_digest import journals, rates_in_journal
from tools.model_check.world import Configs, World

_RATES = (LEADER_RATE, FOLLOWER_RATE)
_LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


class ViolationError(BaseException):
    """An invariant is violated; a BaseException, so that the tool cannot handle it."""


def check_replicas(world: World) -> None:
    """No partition ever has, or is being moved to, fewer replicas than it had."""
    for p in world.partitions():
        least = world.replication_factors[p.name]
        kept = len(p.target) if p.removing else len(p.replicas)
        if kept < least:
            raise ViolationError(f"{p.name} had {least} replicas, is on {p.replicas} and to be on {p.target}")


def check_writer(world: World, client: InMemoryCluster) -> None:
    """A process that changes the cluster holds its lock: two runs never do."""
    lock = world.kafka.parts.locks.get("")
    if lock is None or lock.client is not client:
        raise ViolationError(f"{client.name} changes the cluster, the lock is held by {lock.owner if lock else None}")


def check_throttles(world: World, folder: Path) -> None:
    """Every throttle rate and list entry that no operator has set is named in the record of the run."""
    known = _known_rates(world, folder)
    ours = {f"{c.partition}:{b}" for c in world.plan.partitions for b in (*_before(c).replicas, *c.replicas)}
    for whose, values in world.configs().items():
        for key in _RATES:
            value = values.get(key)
            if value not in (None, world.operators[whose].get(key)) and value not in known:
                raise ViolationError(f"{key} of {whose} is {value}, which no record knows of: {sorted(known)}")
        for key in _LISTS:
            strange = _entries(values.get(key)) - ours - _entries(world.operators[whose].get(key))
            if strange:
                raise ViolationError(f"{key} of {whose} has {sorted(strange)}, which was never set")


def _known_rates(world: World, folder: Path) -> set[str]:
    """Rates named in the record on the cluster, or in a journal."""
    known: set[str] = set()
    for key, value in world.kafka.parts.records.items():
        if is_state_key(key):
            known |= msgspec.json.decode(value, type=RunState).rates
    for path in journals(folder):
        known |= rates_in_journal(path.read_bytes())
    return known


def check_restored(world: World) -> None:
    """Every config is as operators have set it, and no other is set."""
    now, wanted = _comparable(world.configs()), _comparable(world.operators)
    if now != wanted:
        differing = {
            f"{key} of {whose}": (now[whose].get(key), wanted[whose].get(key))
            for whose in now
            for key in now[whose].keys() | wanted[whose].keys()
            if now[whose].get(key) != wanted[whose].get(key)
        }
        raise ViolationError(f"configs are not as operators have set them (found, expected): {differing}")


def check_planned(world: World, record: RunRecord, *, is_led: bool) -> None:
    """Every partition of a run is as planned (order, log dirs and leader), unless another tool has moved it.

    Parameters
    ----------
    is_led
        Whether the first replica must lead; not if its broker died after the end of the run.
    """
    for planned in record.partitions:
        _check_placed(world, planned.name, planned.replicas, planned.target_dirs)
        if is_led:
            _check_led(world, planned.name, planned.replicas[0])


def check_as_before(world: World, record: RunRecord) -> None:
    """Every partition of a run is as it was before (order, log dirs and leader), unless another tool has moved it."""
    for planned in record.partitions:
        _check_placed(world, planned.name, planned.previous.replicas, planned.previous_dirs)
        if planned.previous.leader >= 0:
            _check_led(world, planned.name, planned.previous.leader)


def check_never_moved(world: World) -> None:
    """Every partition is where it was when the plan was made, unless another tool has moved it."""
    for change in world.plan.partitions:
        before = _before(change)
        _check_placed(world, change.name, before.replicas, dict(zip(before.replicas, before.log_dirs, strict=True)))


def _check_placed(world: World, name: TopicPartition, order: tuple[int, ...], dirs: Mapping[int, str]) -> None:
    p = world.kafka.parts.partition(name)
    assert p is not None
    is_elsewhere = tuple(p.replicas) != order or any(p.logs[b].log_dir != d for b, d in dirs.items())
    if is_elsewhere and name not in world.touched:
        raise ViolationError(f"{name} is on {p.replicas}, {p.logs}; it should be on {order}, {dirs}")


def _check_led(world: World, name: TopicPartition, leader: int) -> None:
    p = world.kafka.parts.partition(name)
    assert p is not None
    if p.leader != leader and name not in world.touched:
        raise ViolationError(f"{name} is led by {p.leader}; it should be led by {leader}")


def _before(change: PartitionChange) -> Placement:
    assert change.previous is not None
    return change.previous


def _comparable(configs: Configs) -> dict[str, dict[str, object]]:
    """The same configs, with lists as sets."""
    return {
        whose: {key: _entries(value) if key in _LISTS else value for key, value in values.items()}
        for whose, values in configs.items()
    }


def _entries(value: str | None) -> frozenset[str]:
    return frozenset(filter(None, (value or "").split(",")))


def check_at_rest(world: World) -> None:
    """Nothing is in flight except what another tool has started, and no process holds the lock."""
    moving = world.kafka.parts.moving.keys() - world.touched
    if moving:
        raise ViolationError(f"still in flight: {sorted(moving)}")
    if world.kafka.parts.locks:
        raise ViolationError("the lock is still held")
