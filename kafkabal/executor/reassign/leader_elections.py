"""Leader elections: elect preferred leaders in steps and read the result back, or restore the previous leaders.

A previous leader that was not the first of its replicas cannot be elected as the preferred one: it is put first,
elected, and the order is restored. That copies nothing, since a change of order alone takes effect at once.

Metadata may lag behind the controller, which has reported the end of a move: a partition that metadata still shows on
other brokers than its target is read again, not taken for one that needs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial

from kafkabal.clusters import PartitionStatus
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.model import TopicPartition

_ROUNDS = 5
"""Attempts: metadata lags an election by up to a few polls, and with one attempt less healthy runs would end as
partial."""
_NOT_ATTEMPTED = "election not attempted"
_LED_BY_ANOTHER = "moved by another tool, or another leader elected, since planning"


def elect_preferred(context: RunContext, partitions: Sequence[RunPartition]) -> dict[TopicPartition, str]:
    """Elect the preferred leader of every partition that is in place.

    Returns
    -------
    dict
        Partitions that still have another leader after several attempts, with the reason.
    """
    placed = {p.name: p for p in partitions}
    why: dict[TopicPartition, str] = {}
    for attempt in range(_ROUNDS):
        status = _status(context, placed)
        wrong = [
            name
            for name, planned in placed.items()
            if name in status and not _is_led_by(planned.replicas[0], planned.replicas, status[name])
        ]
        if not wrong or context.should_stop():
            return dict.fromkeys(wrong, _NOT_ATTEMPTED)
        if attempt:
            context.clock.sleep(context.options.timeouts.poll_s * attempt)
        why = _elect_in_steps(context, [n for n in wrong if status[n].replicas == placed[n].replicas])
    return {name: why.get(name, _LED_BY_ANOTHER) for name in wrong}


def restore_leaders(context: RunContext, partitions: Sequence[RunPartition]) -> dict[TopicPartition, str]:
    """Restore the leader of every partition that has its previous placement.

    Returns
    -------
    dict
        Partitions whose previous leader was not elected, with the reason.
    """
    placed_before = {p.name: p for p in partitions if p.previous.leader >= 0}
    reordered: set[TopicPartition] = set()
    why: dict[TopicPartition, str] = {}
    for attempt in range(_ROUNDS):
        status = _status(context, placed_before)
        lost = [p for p in placed_before.values() if _is_lost(p, status)]
        if not lost:
            break
        if context.should_stop():
            why = dict.fromkeys((p.name for p in lost), _NOT_ATTEMPTED) | why
            break
        if attempt:
            context.clock.sleep(context.options.timeouts.poll_s * attempt)
        here = _reorder(context, {p.name: _leader_first(p) for p in lost}, in_doubt={p.name for p in lost})
        reordered |= here
        why = _elect_in_steps(context, sorted(here))
    _reorder(context, {p.name: p.previous.replicas for p in placed_before.values()}, in_doubt=reordered)
    return {p.name: why.get(p.name, _LED_BY_ANOTHER) for p in lost}


def _leader_first(planned: RunPartition) -> tuple[int, ...]:
    previous = planned.previous
    return (previous.leader, *(b for b in previous.replicas if b != previous.leader))


def _reorder(
    context: RunContext,
    orders: Mapping[TopicPartition, tuple[int, ...]],
    *,
    in_doubt: Set[TopicPartition] = frozenset(),
) -> set[TopicPartition]:
    """Restore the order of replicas of partitions on these brokers, read again just before each attempt.

    Parameters
    ----------
    in_doubt
        Partitions that are reordered even if they appear to be in order, since metadata may lag.

    Returns
    -------
    set
        Partitions that are in order now.
    """

    def read_and_reorder() -> set[TopicPartition]:
        status = context.cluster.partition_status({name.topic for name in orders})
        here = {n: order for n, order in orders.items() if n in status and not _is_placed_elsewhere(order, status[n])}
        wrong = {n: order for n, order in here.items() if n in in_doubt or status[n].replicas != order}
        context.effects.reassign(wrong, changes_replication_factor=False)
        return set(here)

    return context.retries.until_success(read_and_reorder) if orders else set()


def _elect_in_steps(context: RunContext, names: Sequence[TopicPartition]) -> dict[TopicPartition, str]:
    step = context.options.limits.elections_per_s
    failed: dict[TopicPartition, str] = {}
    for at in range(0, len(names), step):
        if at:
            context.clock.sleep(1.0)
            if context.should_stop():
                # with 60,000 partitions the last is due ten minutes later: an operator who stops the run would kill
                # it before that
                return failed | dict.fromkeys(names[at:], _NOT_ATTEMPTED)
        chunk = names[at : at + step]
        faults = context.retries.until_success(partial(context.effects.elect, chunk))
        failed |= {name: str(fault) for name, fault in faults.items()}
    return failed


def _status(
    context: RunContext, partitions: Mapping[TopicPartition, RunPartition]
) -> Mapping[TopicPartition, PartitionStatus]:
    topics = {name.topic for name in partitions}
    return context.retries.until_success(lambda: context.cluster.partition_status(topics)) if topics else {}


def _is_lost(planned: RunPartition, status: Mapping[TopicPartition, PartitionStatus]) -> bool:
    """Whether a partition has not the leader from before the run; a deleted topic has no leader to restore."""
    now, previous = status.get(planned.name), planned.previous
    return now is not None and not _is_led_by(previous.leader, previous.replicas, now)


def _is_led_by(leader: int, replicas: Sequence[int], status: PartitionStatus) -> bool:
    return status.leader == leader and not _is_placed_elsewhere(replicas, status)


def _is_placed_elsewhere(replicas: Sequence[int], status: PartitionStatus) -> bool:
    return set(status.replicas) != set(replicas)
