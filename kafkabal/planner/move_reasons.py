"""Why a partition is planned, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.planner.integer_bands import Bands
from kafkabal.planner.move_cause import Why
from kafkabal.planner.search.additional_loads import additional_scores_of
from kafkabal.planner.search.solution import Solution
from kafkabal.wording import counted_noun


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Before:
    """Bands and loads of the brokers before the plan."""

    bands: Bands
    used: I64
    count: I64
    leads: I64

    @staticmethod
    def of(solution: Solution) -> Before:
        """Remember a state in which nothing has moved yet."""
        leader = solution.problem.leader
        leads = np.bincount(leader[leader >= 0], minlength=solution.problem.n_brokers).astype(np.int64)
        return Before(bands=solution.bands, used=solution.used.copy(), count=solution.count.copy(), leads=leads)


class Reasons:
    """Reasons of partitions, from what was outside its band before the plan."""

    def __init__(self, solution: Solution, before: Before, leader: I32) -> None:
        problem = solution.problem
        self.solution, self.before, self.leader = solution, before, leader
        self.ids: list[int] = problem.cluster.brokers.id.tolist()
        self.share: F64 = solution.due.byte_shares(before.used, problem.weighed)
        self._further = ", ".join(w.score.name for w in additional_scores_of(problem))

    def __call__(self, partitions: I64) -> list[str]:
        """A reason for each of some partition rows."""
        solution, problem = self.solution, self.solution.problem
        moved = solution.moved()[partitions]
        why = np.where(moved, solution.why[partitions], Why.NOTHING)
        slot = why.argmax(1)
        code = why[np.arange(len(partitions)), slot]
        moves, for_topic = code != Why.NOTHING, code == Why.TOPIC
        # what does not matter is -1, so that few are to be put into words
        told_by = (
            code,
            np.where(moves, problem.home[partitions, slot], problem.leader[partitions]),
            np.where(for_topic, -1, np.where(moves, solution.place[partitions, slot], self.leader[partitions])),
            np.where(for_topic, problem.topic[partitions], -1),
        )
        cases = list(zip(*(column.tolist() for column in told_by), strict=True))
        told = {case: self._tell(*case) for case in set(cases)}
        return [told[case] for case in cases]

    def _tell(self, code: int, origin: int, target: int, topic: int) -> str:
        if code == Why.NOTHING:
            return self._led(origin, target)
        if code == Why.TOPIC:
            name = self.solution.problem.cluster.topics.name[topic]
            most = self.before.bands.topic_most(topic, origin)
            return (
                f"topic-spread: broker {self.ids[origin]} holds more than "
                f"{counted_noun(int(most), 'replica')} of {name}"
            )
        return self._moved(code, origin, target)

    def _moved(self, code: int, origin: int, target: int) -> str:
        if code == Why.NEW:
            return f"replication factor: broker {self.ids[target]} gets an additional replica"
        if code == Why.RACK:
            return f"racks: broker {self.ids[origin]} shares its rack with another replica"
        if code == Why.LEAVES:
            return f"broker {self.ids[origin]} {self._leaving(origin)}"
        return self._balance(origin, target)

    def _leaving(self, origin: int) -> str:
        problem = self.solution.problem
        if not problem.cluster.brokers.is_live[origin]:
            return "is dead"
        return "is drained" if problem.leaves[origin] else "has an offline log dir"

    def _balance(self, origin: int, target: int) -> str:
        b = self.before.bands
        if self.before.used[origin] > b.high_bytes[origin]:
            return f"disk: broker {self.ids[origin]} at {self.share[origin]:.2f}x of its fair share"
        if self.before.count[origin] > b.high_count[origin]:
            return (
                f"replicas: broker {self.ids[origin]} holds {self.before.count[origin]}, at most {b.high_count[origin]}"
            )
        if self.before.used[target] < b.low_bytes[target]:
            return f"disk: broker {self.ids[target]} at {self.share[target]:.2f}x of its fair share"
        if self.before.count[target] < b.low_count[target]:
            return (
                f"replicas: broker {self.ids[target]} holds {self.before.count[target]}, at least {b.low_count[target]}"
            )
        if self._further:
            return f"{self._further}, or frees space on broker {self.ids[origin]} for replicas from another broker"
        return f"frees space on broker {self.ids[origin]} for replicas from another broker"

    def _led(self, old: int, new: int) -> str:
        if old == new:
            return "log-dir: balances the log dirs of a broker"
        b = self.before.bands
        if not self.solution.problem.counted[old]:
            return f"leaders: broker {self.ids[old]} is drained of leaders"
        if self.before.leads[old] > b.high_leaders[old]:
            return f"leaders: broker {self.ids[old]} leads {self.before.leads[old]}, at most {b.high_leaders[old]}"
        if self.before.leads[new] < b.low_leaders[new]:
            return f"leaders: broker {self.ids[new]} leads {self.before.leads[new]}, at least {b.low_leaders[new]}"
        if self.before.leads[old] > self.before.leads[new]:
            had = f"broker {self.ids[old]} leads {self.before.leads[old]}"
            return f"leaders: {had}, broker {self.ids[new]} {self.before.leads[new]}"
        if self._further:
            return f"{self._further}: broker {self.ids[new]} leads instead of {self.ids[old]}"
        return f"leaders: broker {self.ids[new]} leads instead of {self.ids[old]}, which takes others from a third"
