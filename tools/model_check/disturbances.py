"""What can go wrong at each moment, and its effects."""

from __future__ import annotations

from collections.abc import Iterator, Set
from enum import StrEnum
from typing import NamedTuple

from kafkabal.clusters.simulated import controller
from kafkabal.clusters.simulated.fault_injection import WRITES
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, TopicPartition
from tools.model_check.world import World


class Kind(StrEnum):
    """What happens just before a call of the tool, to the call, or while the tool sleeps."""

    NOTHING = "nothing"
    """The call succeeds; while the tool sleeps, every copy completes."""
    ARRIVES = "copy arrives"
    """Only this copy, before the call; free of cost, since copies do complete."""
    STALLS = "no copy arrives"
    DIES = "broker dies"
    HANGS = "broker hangs"
    RETURNS = "broker returns"
    FOREIGN_MOVE = "moved by another tool"
    FOREIGN_CANCEL = "cancelled by another tool"
    RATE = "operator sets a rate"
    RATE_DELETED = "operator deletes a rate"
    ENTRY = "operator lists a replica"
    TIMEOUT = "call times out, undone"
    LOST = "call is done, answer lost"
    REFUSED = "call is refused"
    CRASH = "tool dies before the call"
    CRASH_AFTER = "tool dies after the call"
    DISK_FULL = "disk of the journal is full"
    OUTPUT_GONE = "output is gone"
    STOP = "SIGINT"
    TAKEN_OVER = "tool stands still while another host resumes the run"
    TAKEN_OVER_HERE = "tool stands still while another process of its host resumes the run"
    ROLLED_BACK = "tool stands still while another host rolls the run back"
    LATE = "call is sent only after another host has resumed the run"
    LATE_BACK = "call is sent only after another host has rolled the run back"


class Disturbance(NamedTuple):
    """A disturbance and its target."""

    kind: Kind
    broker: int = 0
    partition: TopicPartition | None = None

    def __str__(self) -> str:
        return " ".join(str(word) for word in (self.kind, self.broker or "", self.partition or "") if word != "")


NOTHING = Disturbance(Kind.NOTHING)
_OF_CONFIGS = frozenset({Kind.RATE, Kind.RATE_DELETED, Kind.ENTRY})
_OF_PARTITIONS = frozenset({Kind.FOREIGN_MOVE, Kind.FOREIGN_CANCEL})
_OF_BROKERS = frozenset({Kind.DIES, Kind.HANGS, Kind.RETURNS})
OF_THE_TOOL = frozenset({Kind.STOP, Kind.OUTPUT_GONE, Kind.DISK_FULL})
"""Disturbances without effect until the tool checks for a stop, reports, or writes to its journal."""
_ABOUT_CONFIGS = frozenset({"configs", "alter_configs", "read"})
_ABOUT_RECORDS = frozenset({"records.get_all", "records.put", "lock", "lock_holders", "cluster_id"})
_NOT_ABOUT_PARTITIONS = _ABOUT_RECORDS | {"configs", "alter_configs", "broker_ids"}
STALLS_TOOL = frozenset({Kind.TAKEN_OVER, Kind.TAKEN_OVER_HERE, Kind.ROLLED_BACK, Kind.LATE, Kind.LATE_BACK})
"""Disturbances during which the tool stands still for longer than its session."""
LAST = frozenset({Kind.LATE, Kind.LATE_BACK})
"""Nothing else may go wrong after these: a process that dies first cannot report what it changed."""
_FREE = frozenset({Kind.NOTHING, Kind.ARRIVES})
_ORDINARY_FAILURES = frozenset({Kind.STALLS, Kind.LOST, Kind.CRASH, Kind.CRASH_AFTER, Kind.OUTPUT_GONE})
ORDINARY = _FREE | _OF_BROKERS | _OF_PARTITIONS | _ORDINARY_FAILURES
"""What any cluster and any process meet sooner or later; few enough kinds for two of them on every path."""
SLEEP = "sleep"
_READS = frozenset({"broker_ids", "reassignments", "partition_status", "replica_logs"})
_QUIET = frozenset({"cluster_id", "lock.release"})


def cost(disturbance: Disturbance) -> int:
    """Its cost, which is deducted from the budget."""
    return 0 if disturbance.kind in _FREE else 1


def possible(
    world: World, method: str, *, may_be_taken_over: bool, is_between_read_and_write: bool
) -> Iterator[Disturbance]:
    """Everything that can happen at a call, or during a sleep, within the budget; first of all, nothing.

    In an ordinary world, only what is in :data:`ORDINARY`.

    Parameters
    ----------
    may_be_taken_over
        The tool holds the lock of a run that the cluster remembers.
    is_between_read_and_write
        The tool has read configs that it may be about to write. Kafka has no compare-and-set: what an operator sets at
        that moment is overwritten, a documented limit.
    """
    for it in _of_all_kinds(
        world, method, may_be_taken_over=may_be_taken_over, is_between_read_and_write=is_between_read_and_write
    ):
        if it.kind in ORDINARY or not world.is_ordinary:
            yield it


def _of_all_kinds(
    world: World, method: str, *, may_be_taken_over: bool, is_between_read_and_write: bool
) -> Iterator[Disturbance]:
    yield NOTHING
    arriving = world.arriving()
    if method == SLEEP:
        if len(arriving) > 1:
            yield from (Disturbance(Kind.ARRIVES, partition=name) for name in arriving)
        if arriving and world.budget:
            yield Disturbance(Kind.STALLS)
        return
    if method in _READS:
        yield from (Disturbance(Kind.ARRIVES, partition=name) for name in arriving)
    if not world.budget or method in _QUIET:
        return
    yield from _to_brokers(world)
    yield from _by_others(world, may_set_configs=not is_between_read_and_write)
    yield from _to_the_call(method)
    yield from _to_the_tool(world, method, may_be_taken_over=may_be_taken_over)


def _to_brokers(world: World) -> Iterator[Disturbance]:
    alive = [b.id for b in world.kafka.parts.brokers.values() if b.responds]
    if len(alive) > 1:
        yield from (Disturbance(Kind.DIES, b) for b in alive)
        if world.flows:  # in a small world, hanging and dying differ only in the time they take
            yield from (Disturbance(Kind.HANGS, b) for b in alive)
    yield from (Disturbance(Kind.RETURNS, b) for b in world.kafka.parts.brokers if b not in alive)


def _by_others(world: World, *, may_set_configs: bool) -> Iterator[Disturbance]:
    for name in world.foreign:
        yield Disturbance(Kind.FOREIGN_MOVE, partition=name)
        if name in world.kafka.parts.moving:
            yield Disturbance(Kind.FOREIGN_CANCEL, partition=name)
    if may_set_configs:
        yield Disturbance(Kind.RATE)
        yield Disturbance(Kind.RATE_DELETED)
        yield Disturbance(Kind.ENTRY)


def _to_the_call(method: str) -> Iterator[Disturbance]:
    yield Disturbance(Kind.TIMEOUT)
    if method in WRITES:
        yield Disturbance(Kind.LOST)
        yield Disturbance(Kind.REFUSED)


def _to_the_tool(world: World, method: str, *, may_be_taken_over: bool) -> Iterator[Disturbance]:
    yield Disturbance(Kind.CRASH)
    if method in WRITES:
        yield Disturbance(Kind.CRASH_AFTER)
    elif may_be_taken_over:
        yield Disturbance(Kind.TAKEN_OVER)
        yield Disturbance(Kind.TAKEN_OVER_HERE)
        if world.has_late_requests:
            yield Disturbance(Kind.ROLLED_BACK)
    is_last = world.budget == 1 or world.flows  # the search counts on what a disturbance costs
    if method in WRITES and may_be_taken_over and world.has_late_requests and is_last:
        yield Disturbance(Kind.LATE)
        yield Disturbance(Kind.LATE_BACK)
    if not world.is_disk_full:
        yield Disturbance(Kind.DISK_FULL)
    if not world.is_output_gone:
        yield Disturbance(Kind.OUTPUT_GONE)
    yield Disturbance(Kind.STOP)


def commutes(it: Disturbance, method: str, touched: Set[Kind]) -> bool:
    """Whether a call leads to the same state before and after this disturbance.

    Parameters
    ----------
    touched
        The members of :data:`OF_THE_TOOL` that the tool used during the call and until its next one.
    """
    if it.kind in OF_THE_TOOL:
        return it.kind not in touched
    if it.kind in _OF_CONFIGS:
        return method not in _ABOUT_CONFIGS
    if it.kind in _OF_PARTITIONS:
        return method in _NOT_ABOUT_PARTITIONS
    return it.kind in _OF_BROKERS and method in _ABOUT_RECORDS


def happen(world: World, it: Disturbance) -> None:
    """Apply a disturbance to the cluster or the host; those of calls and of the tool are applied elsewhere."""
    if it.kind in (Kind.DIES, Kind.HANGS, Kind.RETURNS):
        kafka = world.kafka
        {Kind.DIES: kafka.kill, Kind.HANGS: kafka.pause, Kind.RETURNS: kafka.start}[it.kind](it.broker)
    elif it.partition is not None:
        _happen_to_partition(world, it.kind, it.partition)
    elif it.kind in (Kind.RATE, Kind.RATE_DELETED, Kind.ENTRY):
        _operate(world, it.kind)
    elif it.kind is Kind.DISK_FULL:
        world.is_disk_full = True
    elif it.kind is Kind.OUTPUT_GONE:
        world.is_output_gone = True


def _happen_to_partition(world: World, kind: Kind, name: TopicPartition) -> None:
    parts = world.kafka.parts
    if kind is Kind.ARRIVES:
        world.arrive(name)
    elif kind is Kind.FOREIGN_CANCEL:
        controller.cancel_reassignment(parts, name)
    elif controller.start_reassignment(parts, name, world.foreign[name], guarded=True) is None:
        world.touched.add(name)


def _operate(world: World, kind: Kind) -> None:
    """Let an operator change a config of broker 3 or of topic a, and remember what operators have set."""
    parts = world.kafka.parts
    now = parts.topics["a"].configs if kind is Kind.ENTRY else parts.brokers[3].own_configs
    wanted = world.operators["topic a" if kind is Kind.ENTRY else "broker 3"]
    for configs in (now, wanted):
        if kind is Kind.RATE_DELETED:
            configs.pop(FOLLOWER_RATE, None)
        elif kind is Kind.RATE:
            configs[FOLLOWER_RATE] = world.operators_rate
        elif configs.get(FOLLOWER_REPLICAS) != "*":
            listed = [*filter(None, configs.get(FOLLOWER_REPLICAS, "").split(",")), "9:9"]
            configs[FOLLOWER_REPLICAS] = ",".join(dict.fromkeys(listed))
