"""Balances the leaders of one new topic among the brokers that hold it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kafkabal.model import I32, I64
from kafkabal.placement.running_scores import RunningScores

_LEAST_GAIN = 1e-9
"""Relative gain below which two costs are equal: rounding must not hand leaders back and forth."""

_Cost = tuple[float, float]


class _HandOver(NamedTuple):
    """A partition whose leadership one broker gives to another."""

    partition: int
    giver: int
    taker: int


def balance_leaders(brokers: I32, leader: I64, first_partition: int, board: RunningScores) -> None:
    """Change leaders until no chain of hand-overs reduces the scores any more; no replica moves.

    Partitions that get their leaders one by one leave the last ones no choice: 12 partitions on four empty brokers in
    three racks were led by 2, 3, 3 and 4. All partitions of a new topic have the same load, so that only the two ends
    of a chain change theirs::

        repeat
            for each broker, the one with the most expensive leader first:
                search the brokers reached by handing over leaders, as far as a partition has a replica there
                at the first one that another leader costs less than this one: hand over along the way; repeat
        until there is none

    An assignment from which no such chain leads is optimal for convex costs.

    Parameters
    ----------
    brokers
        int32, shape (n_partitions, replication_factor): rows of brokers.
    leader
        int64, shape (n_partitions,): position of each leader in its row; changed in place.
    first_partition
        Row of the topic's partition 0 in the draft that the board was created from.

    References
    ----------
    N. Harvey, R. Ladner, L. Lovasz, T. Tamir: Semi-matchings for bipartite graphs and load balancing, WADS 2003.
    """
    rows = brokers.tolist()
    led: dict[int, set[int]] = {broker: set() for row in rows for broker in row}
    for partition, position in enumerate(leader.tolist()):
        led[rows[partition][position]].add(partition)
    for _ in rows:
        chain = _reducing_chain(rows, led, first_partition, board)
        if not chain:
            return
        for partition, giver, taker in chain:
            led[giver].remove(partition)
            led[taker].add(partition)
            leader[partition] = rows[partition].index(taker)
            board.hand_over(first_partition + partition, giver, taker)


def _reducing_chain(
    rows: list[list[int]], led: dict[int, set[int]], first_partition: int, board: RunningScores
) -> list[_HandOver]:
    """Hand-overs that reduce the scores, the last one first; empty if there are none."""
    last, one_more = board.cost_of_last_leader(first_partition), board.cost_of_leading(first_partition)
    costs_last: dict[int, _Cost] = {b: (float(last[0][b]), float(last[1][b])) for b in led}
    costs_more: dict[int, _Cost] = {b: (float(one_more[0][b]), float(one_more[1][b])) for b in led}
    searched: set[int] = set()
    for start in sorted((b for b in led if led[b]), key=lambda b: costs_last[b], reverse=True):
        # what was reached from a more expensive start is too expensive for this one, and so is all behind it
        if start in searched:
            continue
        came: dict[int, _HandOver] = {}
        searched.add(start)
        waiting = deque([start])
        while waiting:
            giver = waiting.popleft()
            for partition in sorted(led[giver]):
                for taker in rows[partition]:
                    if taker in searched:
                        continue
                    searched.add(taker)
                    came[taker] = _HandOver(partition, giver, taker)
                    if _is_less(costs_more[taker], costs_last[start]):
                        return _back_to(start, taker, came)
                    waiting.append(taker)
    return []


def _is_less(one: _Cost, other: _Cost) -> bool:
    """Whether a cost is less: first by what overshoots the bands, then by the rise of the scores."""
    for a, b in zip(one, other, strict=True):
        margin = _LEAST_GAIN * max(abs(a), abs(b))
        if abs(a - b) > margin:
            return a < b
    return False


def _back_to(start: int, end: int, came: dict[int, _HandOver]) -> list[_HandOver]:
    chain = [came[end]]
    while chain[-1].giver != start:
        chain.append(came[chain[-1].giver])
    return chain
