"""Leadership: preferred leaders elected in steps and read back, and the leaders of the start given back.

A leader that was not the first of its replicas cannot be elected as such: it is put first, elected, and the order is
put back. That costs no copy, since an order alone is changed at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkabal.clusters.protocol import PartitionStatus, TopicPartition
    from kafkabal.executor.context import RunContext
    from kafkabal.executor.record import PlannedPartition

_ROUNDS = 5


def elect_preferred(context: RunContext, partitions: Sequence[PlannedPartition]) -> dict[TopicPartition, str]:
    """Let the first replica lead wherever a partition lies as planned.

    Returns
    -------
    dict
        Partitions that are led by another after several tries, with the reason.
    """
    placed = {p.name: p for p in partitions}
    why: dict[TopicPartition, str] = {}
    for attempt in range(_ROUNDS):
        status = _status(context, placed)
        wrong = [
            name
            for name, planned in placed.items()
            if name in status and status[name].replicas == planned.replicas and _is_led_by_another(status[name])
        ]
        if not wrong or context.should_stop():
            return dict.fromkeys(wrong, "the election was not reached")
        if attempt:
            context.clock.sleep(context.options.patience.poll_s * attempt)
        why = _elect_in_steps(context, wrong)
    return {name: why.get(name, "another leader was elected since") for name in wrong}


def give_back_leaders(context: RunContext, partitions: Sequence[PlannedPartition]) -> dict[TopicPartition, str]:
    """Let every partition that lies as at the start be led as at the start.

    Returns
    -------
    dict
        Partitions of which that failed, with the reason.
    """
    at_start = {p.name: p for p in partitions if p.start.leader >= 0}
    why: dict[TopicPartition, str] = {}
    for attempt in range(_ROUNDS):
        status = _status(context, at_start)
        lost = [p for name, p in at_start.items() if name in status and _has_lost_leader(p, status[name])]
        if not lost:
            break
        if attempt:
            context.clock.sleep(context.options.patience.poll_s * attempt)
        why = _lead_as_before(context, lost)
    _order_as_before(context, at_start)
    return {p.name: why.get(p.name, "another leader was elected since") for p in lost}


def _lead_as_before(context: RunContext, lost: Sequence[PlannedPartition]) -> dict[TopicPartition, str]:
    """Put the former leaders first, and elect them."""
    orders: dict[TopicPartition, tuple[int, ...]] = {
        p.name: (p.start.leader, *(b for b in p.start.replicas if b != p.start.leader)) for p in lost
    }
    _reorder(context, orders)
    return _elect_in_steps(context, list(orders))


def _order_as_before(context: RunContext, at_start: Mapping[TopicPartition, PlannedPartition]) -> None:
    status = _status(context, at_start)
    orders = {
        name: p.start.replicas
        for name, p in at_start.items()
        if name in status
        and status[name].replicas != p.start.replicas
        and set(status[name].replicas) == set(p.start.replicas)
    }
    _reorder(context, orders)


def _reorder(context: RunContext, orders: Mapping[TopicPartition, tuple[int, ...]]) -> None:
    context.endurance.until_done(lambda: context.effects.reassign(orders, changes_replication_factor=False))


def _elect_in_steps(context: RunContext, names: Sequence[TopicPartition]) -> dict[TopicPartition, str]:
    step = context.options.limits.elections_per_step
    failed: dict[TopicPartition, str] = {}
    for at in range(0, len(names), step):
        chunk = names[at : at + step]
        faults = context.endurance.until_done(lambda chunk=chunk: context.effects.elect(chunk))  # type: ignore[misc]
        failed |= {name: str(fault) for name, fault in faults.items()}
    return failed


def _status(
    context: RunContext, partitions: Mapping[TopicPartition, PlannedPartition]
) -> Mapping[TopicPartition, PartitionStatus]:
    topics = {name.topic for name in partitions}
    return context.endurance.until_done(lambda: context.cluster.partition_status(topics)) if topics else {}


def _is_led_by_another(status: PartitionStatus) -> bool:
    return status.leader != status.replicas[0]


def _has_lost_leader(planned: PlannedPartition, status: PartitionStatus) -> bool:
    return set(status.replicas) == set(planned.start.replicas) and status.leader != planned.start.leader
