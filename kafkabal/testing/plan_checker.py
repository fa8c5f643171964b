"""Checks the rules of a plan on rows alone: shares no code, columns or arithmetic with the planner."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafkabal.model import BrokerRow, ClusterState, PartitionRow, broker_rows, topic_rows
from kafkabal.plan import ANY_DIR, Action, PartitionChange, Plan
from kafkabal.testing.brute_force_fair_utilisation import brute_force_fair

_EPSILON = 1e-9
"""How much sums of shares in another order may differ: some thousand roundings of 1e-16, with a margin."""
_Placement: TypeAlias = Mapping[tuple[str, int], tuple[tuple[int, ...], int]]
"""Replicas and leader of each partition."""


@dataclass(slots=True)
class PlanVerdict:
    """What is wrong with a plan, and the resulting loads."""

    faults: list[str] = field(default_factory=list)
    """Violated rules."""
    outside: dict[str, list[str]] = field(default_factory=dict)
    """Brokers (``topic@broker`` for the spread of topics) outside their band, by score."""
    moved_bytes: int = 0


def check_plan(
    state: ClusterState, plan: Plan, *, tolerance: float, drain: Iterable[int] = (), repaired: bool = True
) -> PlanVerdict:
    """Check a plan against the rules that hold for every plan.

    Parameters
    ----------
    repaired
        Require that every partition ends in as many racks as possible, and off dead and drained brokers.
    """
    return _Check(state, plan, frozenset(drain)).verdict(tolerance, repaired=repaired)


class _Check:
    def __init__(self, state: ClusterState, plan: Plan, drain: frozenset[int]) -> None:
        self.brokers: dict[int, BrokerRow] = {row.broker: row for row in broker_rows(state)}
        self.parts: dict[tuple[str, int], PartitionRow] = {
            (t.topic, p.partition): p for t in topic_rows(state) for p in t.partitions
        }
        self.plan, self.drain = plan, drain
        self.dead = {b for b, row in self.brokers.items() if row.state == "dead"}
        self.live = [b for b in self.brokers if b not in self.dead and b not in drain]
        self.result = PlanVerdict()

    def verdict(self, tolerance: float, *, repaired: bool) -> PlanVerdict:
        after = {key: (tuple(p.replicas), self._leader(p)) for key, p in self.parts.items()}
        for change in self.plan.partitions:
            key = (change.topic, change.partition)
            if key not in self.parts:
                self.result.faults.append(f"{change.name} does not exist")
                continue
            self._check_change(change, self.parts[key])
            after[key] = (change.replicas, change.replicas[0])
        for key, (replicas, _) in after.items():
            self._check_racks(key, replicas, repaired=repaired)
        self._check_bands(after, tolerance)
        if self.result.moved_bytes != self.plan.moved_bytes:
            self.result.faults.append("moved_bytes is not what the plan moves")
        return self.result

    def _leader(self, p: PartitionRow) -> int:
        return p.leader if p.leader in p.replicas else p.replicas[0]

    def _size(self, p: PartitionRow) -> int:
        sizes = p.sizes or []
        by_broker = dict(zip(p.replicas, sizes, strict=False))
        of_leader = by_broker.get(p.leader)
        return of_leader if of_leader is not None else max((s for s in sizes if s is not None), default=0)

    def _check_change(self, change: PartitionChange, p: PartitionRow) -> None:
        fault = self.result.faults.append
        old, new = list(p.replicas), list(change.replicas)
        if len(new) != len(old) or len(set(new)) != len(new):
            fault(f"{change.name}: replicas {new} instead of {old}")
        arrivals = [b for b in new if b not in old]
        if any(b not in self.live for b in arrivals):
            fault(f"{change.name}: arrives at a dead, drained or unknown broker")
        cost = self._size(p) * len(arrivals)
        self.result.moved_bytes += cost
        if change.bytes != cost:
            fault(f"{change.name}: bytes {change.bytes} instead of {cost}")
        isr = old if p.isr is None else p.isr
        if new[0] != self._leader(p) and new[0] in old and new[0] not in isr:
            fault(f"{change.name}: led by a copy out of sync")
        if new == old and change.action not in {Action.ELECT, Action.LOG_DIR}:
            fault(f"{change.name}: listed without a change")
        for b, path in zip(new, change.log_dirs, strict=True):
            self._check_dir(change, b, path, arrives=b in arrivals)

    def _check_dir(self, change: PartitionChange, broker: int, path: str, *, arrives: bool) -> None:
        dirs = {d.path: d for d in self.brokers[broker].log_dirs}
        if path == ANY_DIR:
            if arrives and len(dirs) > 1:
                self.result.faults.append(f"{change.name}: no log dir named on broker {broker}")
        elif path not in dirs or dirs[path].state != "online":
            self.result.faults.append(f"{change.name}: log dir {path} of broker {broker} takes nothing")

    def _racks(self, replicas: Iterable[int]) -> int:
        rack = self._rack_of()
        return len({rack[b] for b in replicas if b not in self.dead})

    def _check_racks(self, key: tuple[str, int], replicas: tuple[int, ...], *, repaired: bool) -> None:
        name = f"{key[0]}-{key[1]}"
        before = self._racks(b for b in self.parts[key].replicas if b not in self.drain)
        now = self._racks(replicas)
        if now < before:
            self.result.faults.append(f"{name}: in {now} racks instead of {before}")
        if repaired and now < min(len(replicas), self._racks(self.live)):
            self.result.faults.append(f"{name}: could be in more than {now} racks")
        if repaired and any(b in self.dead or b in self.drain for b in replicas):
            self.result.faults.append(f"{name}: left on a dead or drained broker")

    def _check_bands(self, after: _Placement, tolerance: float) -> None:
        used: Counter[int] = Counter()
        count: Counter[int] = Counter()
        leads: Counter[int] = Counter()
        spread: dict[str, Counter[int]] = defaultdict(Counter)
        for key, (replicas, leader) in after.items():
            p = self.parts[key]
            held = dict(zip(p.replicas, p.sizes or [], strict=False))
            for b in replicas:
                size = held.get(b)
                used[b] += self._size(p) if size is None else size
                count[b] += 1
                spread[key[0]][b] += 1
            leads[leader] += 1
        self._check_bytes(used, after, tolerance)
        self._check_counts(count, leads, after, tolerance)
        self.result.outside["topic-spread"] = [
            f"{topic}@{b}"
            for topic, on in spread.items()
            for b in self.live
            if on[b] > math.ceil(self._fair_of_topic(topic, on.total())[b] - _EPSILON) + 1
        ]

    def _check_bytes(self, used: Mapping[int, int], after: _Placement, tolerance: float) -> None:
        capacity = {
            b: sum(d.total_bytes or 0 for d in self.brokers[b].log_dirs if d.state != "offline") for b in self.live
        }
        if not all(capacity.values()):
            capacity = dict.fromkeys(self.live, 1)
        fair = self._fair(capacity, after, self._bytes_of)
        self.result.outside["disk"] = [
            str(b)
            for b in self.live
            if not fair[b] * (1 - tolerance) - _EPSILON * fair[b] - _EPSILON
            <= used[b] / capacity[b]
            <= fair[b] * (1 + tolerance) + _EPSILON * fair[b] + _EPSILON
        ]

    def _check_counts(
        self, count: Mapping[int, int], leads: Mapping[int, int], after: _Placement, tolerance: float
    ) -> None:
        ones = dict.fromkeys(self.live, 1.0)
        whole = self._fair(ones, after, lambda _, replicas: float(len(replicas)))
        even = dict.fromkeys(self.live, sum(leads[b] for b in self.live) / len(self.live))
        for name, number, due in (("replicas", count, whole), ("leaders", leads, even)):
            self.result.outside[name] = [
                str(b)
                for b in self.live
                if not math.floor(due[b] * (1 - tolerance) + _EPSILON)
                <= number[b]
                <= math.ceil(due[b] * (1 + tolerance) - _EPSILON)
            ]

    def _bytes_of(self, p: PartitionRow, replicas: tuple[int, ...]) -> float:
        held = dict(zip(p.replicas, p.sizes or [], strict=False))
        sizes = [held.get(b) for b in replicas if b in self.live]
        return float(sum(self._size(p) if size is None else size for size in sizes))

    def _fair(
        self,
        capacity: Mapping[int, float],
        after: _Placement,
        load: Callable[[PartitionRow, tuple[int, ...]], float],
    ) -> Mapping[int, float]:
        """The most even utilisation that racks, replication factors and closed brokers allow."""
        pieces = []
        closed = dict.fromkeys((b for b in self.live if not self._takes(b)), 0.0)
        for key, (replicas, _) in after.items():
            p, placed = self.parts[key], min(len(replicas), len(self.live))
            each = load(p, replicas) / max(placed, 1)
            pieces.append((each, placed))
            for b in closed:
                closed[b] += each if b in p.replicas else 0.0
        return brute_force_fair(capacity, self._rack_of(), pieces, most=closed)

    def _fair_of_topic(self, topic: str, replicas: int) -> Mapping[int, float]:
        factor = max(len(p.replicas) for (name, _), p in self.parts.items() if name == topic)
        ones = dict.fromkeys(self.live, 1.0)
        pieces = [(replicas / min(factor, len(self.live)), factor)]
        closed = dict.fromkeys((b for b in self.live if not self._takes(b)), 0.0)
        anywhere = brute_force_fair(ones, self._rack_of(), pieces)
        where_open = brute_force_fair(ones, self._rack_of(), pieces, most=closed)
        return {b: max(anywhere[b], where_open[b]) for b in self.live}

    def _takes(self, broker: int) -> bool:
        return any(d.state == "online" for d in self.brokers[broker].log_dirs)

    def _rack_of(self) -> dict[int, str]:
        return {b: row.rack if row.rack is not None else f"alone {b}" for b, row in self.brokers.items()}
