"""Why a partition is planned, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.planner.integer_bands import Bands
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.additional_loads import additional_scores_of
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares
from kafkabal.units import percent_as_option
from kafkabal.wording import counted_noun


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadsBefore:
    """Bands and loads of the brokers before the plan."""

    bands: Bands
    used: I64
    count: I64
    leads: I64

    @staticmethod
    def of(solution: Solution) -> LoadsBefore:
        """Record a state in which nothing has moved yet."""
        leader = solution.problem.leader
        leads = np.bincount(leader[leader >= 0], minlength=solution.problem.n_brokers).astype(np.int64)
        return LoadsBefore(bands=solution.bands, used=solution.used.copy(), count=solution.count.copy(), leads=leads)


class MoveReasons:
    """Reasons of partitions, from what was outside its band before the plan."""

    def __init__(self, solution: Solution, before: LoadsBefore, leader: I32) -> None:
        problem = solution.problem
        self.solution, self.before, self.leader = solution, before, leader
        self.ids: list[int] = problem.state.brokers.id.tolist()
        # of what brokers are due after the plan, as in their bands: the bytes of a drained or dead broker come on top
        due = solution.due
        mean_bytes = due.mean_bytes(solution.used, problem.weighed) or 1.0
        self.share: F64 = fair_shares(before.used, due.byte_weight, mean_bytes)
        self._additional = ", ".join(w.score.name for w in additional_scores_of(problem))

    def __call__(self, partitions: I64) -> list[str]:
        """A reason for each of some partition rows."""
        solution, problem = self.solution, self.solution.problem
        moved = solution.moved()[partitions]
        why = np.where(moved, solution.why[partitions], MoveCause.NOTHING)
        position = why.argmax(1)
        code = why[np.arange(len(partitions)), position]
        moves, for_topic = code != MoveCause.NOTHING, code == MoveCause.TOPIC
        # irrelevant entries are -1, so that only a few need words
        is_empty = (problem.arriving_bytes[partitions] == 0) & problem.size_known[partitions]
        deciding = (
            code,
            moves & is_empty,
            np.where(moves, problem.previous[partitions, position], problem.leader[partitions]),
            np.where(for_topic, -1, np.where(moves, solution.placement[partitions, position], self.leader[partitions])),
            np.where(for_topic, problem.topic[partitions], -1),
            solution.dropped()[partitions].sum(1),
        )
        cases = list(zip(*(column.tolist() for column in deciding), strict=True))
        texts = {case: self._text(*case) for case in set(cases)}
        return [texts[case] for case in cases]

    def _text(self, code: int, is_empty: bool, previous: int, target: int, topic: int, dropped: int) -> str:
        if code == MoveCause.NOTHING and dropped:
            return f"replication factor: {counted_noun(dropped, 'replica')} fewer"
        if code == MoveCause.NOTHING:
            return self._led(previous, target)
        if code == MoveCause.TOPIC:
            name = self.solution.problem.state.topics.name[topic]
            most = self.before.bands.topic_most(topic, previous)
            return (
                f"topic-spread: broker {self.ids[previous]} holds more than "
                f"{counted_noun(int(most), 'replica')} of {name}"
            )
        return self._moved(code, is_empty, previous, target)

    def _moved(self, code: int, is_empty: bool, previous: int, target: int) -> str:
        if code == MoveCause.NEW:
            return f"replication factor: broker {self.ids[target]} gets an additional replica"
        if code == MoveCause.RACK:
            return f"racks: broker {self.ids[previous]} shares its rack with another replica"
        if code == MoveCause.LEAVES:
            return f"broker {self.ids[previous]} {self._leaving(previous)}"
        if code == MoveCause.FULL_LOG_DIR:
            most = percent_as_option(self.solution.problem.options.log_dir_limit)
            return f"log-dir: broker {self.ids[previous]} has a log dir more than {most} full"
        return self._balance(is_empty, previous, target)

    def _leaving(self, previous: int) -> str:
        problem = self.solution.problem
        if not problem.state.brokers.is_live[previous]:
            return "is dead"
        return "is drained" if problem.leaves[previous] else "has an offline log dir"

    def _balance(self, is_empty: bool, previous: int, target: int) -> str:
        b = self.before.bands
        if not is_empty and self.before.used[previous] > b.high_bytes[previous]:
            return f"disk: broker {self.ids[previous]} at {self.share[previous]:.2f}x its fair share"
        if self.before.count[previous] > b.high_count[previous]:
            held, most = self.before.count[previous], b.high_count[previous]
            return f"replicas: broker {self.ids[previous]} holds {held}, more than {most}"
        if not is_empty and self.before.used[target] < b.low_bytes[target]:
            return f"disk: broker {self.ids[target]} at {self.share[target]:.2f}x its fair share"
        if self.before.count[target] < b.low_count[target]:
            held, least = self.before.count[target], b.low_count[target]
            return f"replicas: broker {self.ids[target]} holds {held}, fewer than {least}"
        if is_empty:
            return self._reason_of_count(previous, target)
        if self._additional:
            return f"{self._additional}, or frees space on broker {self.ids[previous]} for replicas from another broker"
        return f"frees space on broker {self.ids[previous]} for replicas from another broker"

    def _reason_of_count(self, previous: int, target: int) -> str:
        """The reason for an empty replica, which takes no disk space and only counts."""
        held, ids = self.before.count, self.ids
        if held[previous] > held[target]:
            return f"replicas: broker {ids[previous]} holds {held[previous]}, broker {ids[target]} {held[target]}"
        return f"replicas: broker {ids[target]} takes an empty replica from broker {ids[previous]} and gives one up"

    def _led(self, previous: int, target: int) -> str:
        if previous == target:
            return "log-dir: balances the log dirs of a broker"
        b = self.before.bands
        if not self.solution.problem.counted[previous]:
            return f"leaders: broker {self.ids[previous]} is drained of leaders"
        if self.before.leads[previous] > b.high_leaders[previous]:
            led, most = self.before.leads[previous], b.high_leaders[previous]
            return f"leaders: broker {self.ids[previous]} leads {led}, more than {most}"
        if self.before.leads[target] < b.low_leaders[target]:
            led, least = self.before.leads[target], b.low_leaders[target]
            return f"leaders: broker {self.ids[target]} leads {led}, fewer than {least}"
        if self.before.leads[previous] > self.before.leads[target]:
            had = f"broker {self.ids[previous]} leads {self.before.leads[previous]}"
            return f"leaders: {had}, broker {self.ids[target]} {self.before.leads[target]}"
        if self._additional:
            return f"{self._additional}: broker {self.ids[target]} leads instead of {self.ids[previous]}"
        exchange = f"broker {self.ids[target]} leads instead of {self.ids[previous]}"
        return f"leaders: {exchange}, part of an exchange between several brokers"
