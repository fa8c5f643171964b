"""How long the slots of a topic are: long enough for few requests, short enough to keep brokers balanced.

::

    slow     if linger and not size closes batches: the whole linger times that come closest to a batch
    fast     what arrives in 20 ms, or what is queued for a partition, or sixteen batches if bytes stay as balanced
             at most a request; while brokers are unbalanced, some slots of every partition must fit into the horizon

A slot ends earlier if its broker gets ahead of its weight (see :mod:`kafkabal.routing.byte_stride`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Final

import numpy as np

from kafkabal.model import I32
from kafkabal.routing.byte_stride import SLOT_PART, SLOT_PART_AT_SPEED
from kafkabal.routing.routing_view import RoutingView

# batches per slot at most: by the time they take, and if records come too fast for time to matter. At speed, 4 for the
# second cost 1.3 times the processor time, 1 cost 1.7 times, and 64 ends within 0.001 of the same; 1, 4 and 8 for the
# first change nothing (four workloads of benchmarks/routing_constants.py, of 300,000 records, 2026-11)
_LONGEST_SLOT: Final = 2
_LONGEST_AT_SPEED: Final = 16
# librdkafka's batch.size; requests for one partition are not longer
_LONGEST_BATCH_BYTES: Final = 1_000_000
# slots of a producer that brokers slow down, if bytes need not be balanced. With RF 3 and a broker halted half of the
# time, 80 MB took 250 to 290 requests with the partition's part of the buffer in a slot, 0.79 of the default's
# throughput; 210 to 270 with one request, 0.77 to 0.94; 184 to 228 with two, 0.92 (medians of 5 to 9 runs, 2026-11)
_REQUESTS_OF_UNBALANCED_BYTES: Final = 2
# most that a batch adds to a record's value: slots of a whole batch of values take two requests, the second with ten
# records of 1 kB. 80,000 of these took 175 requests with 1000 in a slot, 125 with 950 to 980
_FORMAT_BYTES: Final = 12
# longest time of a slot at a high rate, twice librdkafka's sticky.partitioning.linger.ms: the last batch of every slot
# waits for its linger time. Of 50,000 and 100,000 records of 1 kB a second, p50 was 0.76 to 1.01 and p99 0.72 to 1.02
# times that of librdkafka's default; with 10 ms 0.83 to 1.18 and 0.70 to 1.53 times (eight rounds, 2026-12)
_LONGEST_SLOT_S: Final = 0.02
# by latency, as long as librdkafka's own: what a slot still sends to a broker that has become slow waits there
_LONGEST_SLOT_BY_LATENCY_S: Final = 0.01
# slots per partition within a horizon, if they are longer than a batch: with 4, the fullest of twelve brokers of 300
# partitions ends at 1.0023 of the mean, with 16 at 1.0008. With 16, two of the 144 imbalanced workloads of
# benchmarks/routing_constants.py end 0.1% more balanced and five as much less; 30,000 records of 10 kB into four empty
# partitions take 5,000 slots in place of 3,000, at 8 us each (2026-11)
_SLOTS_IN_HORIZON: Final = 4
# seconds for which one of many partitions gets what arrives, until that fills a request: 30 MB into 5,000 partitions of
# three brokers went to 391 of them with 0.01, to 30 with this (2026-11)
_STAY_IF_MANY_S: Final = 0.1
# slot length over the bytes of each broker, if linger and not size closes batches: only whole linger times then fill
# them. Of 36 slow workloads of benchmarks/routing_constants.py, 1/200 makes brokers 0.1% more balanced for 1.2 times
# the batches, 1/100 0.04% for 1.07 times; with 1/10 there are 2% fewer batches, and brokers are as balanced in the
# mean, 0.5% less at most (2026-11)
_SLOT_PART_IN_LINGERS: Final = 1 / 40
# slot length over what each broker held of the topic before this producer came. With it, eight producers that together
# write as much as their four brokers hold end at 1.002 and 1.003 of the mean, without at 1.0003 and 1.0006, with 1/200
# at 1.004 and 1.005. The 144 imbalanced workloads of benchmarks/routing_constants.py are the same in the mean (2026-11)
_HELD_SLOT_PART: Final = 1 / 400
# slots of all partitions over what was sent, if replicas make them longer: three replicas make those of up to 13
# partitions on 4 brokers three times as long. Without the limit, eight producers of 50 MB in all to 60 partitions on 6
# brokers ended at 1.42 of the mean in place of 1.25 (20 seeds, 2026-11)
_LONGEST_ROUND: Final = 1 / 10


@dataclass(frozen=True, slots=True)
class Turns:
    """What takes turns in getting slots, and how many brokers that is."""

    number: int
    """Partitions, or groups of interchangeable ones."""
    are_groups: bool
    leaders: int
    """Brokers that lead a partition."""
    copies: float
    """Replicas of a partition, in the mean."""

    @classmethod
    def of(cls, view: RoutingView, group: I32 | None) -> Turns:
        """Those of a view.

        Parameters
        ----------
        group
            int32, shape (n_partitions,): group of each partition, None without groups.
        """
        number = view.n_partitions if group is None else int(group.max()) + 1
        leaders = len(np.unique(view.leader[view.leader >= 0]))
        return cls(number, group is not None, leaders, copies_of(view))


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLengths:
    """The lengths under the conditions of one moment."""

    batch_bytes: int
    linger_s: float
    turns: Turns
    scores_bytes: bool
    """Whether a score depends on the bytes that brokers store."""
    balances_bytes: bool
    """Whether bytes are balanced, by a score or for lack of one that routing can change."""
    follows_traffic: bool
    """Whether a score such as the latency depends on the traffic."""
    bytes_per_s: float
    """Of this producer's records lately; 0 if unknown, as are the next two."""
    burst_bytes_per_s: float
    """The same, or that of a burst which has just begun."""
    mean_bytes_per_s: float
    record_bytes: int
    """Mean of the records; 0 before any."""
    waiting_records: int
    """In the producer's queue."""
    acknowledged_bytes: float
    """Lately, in the mean of the brokers; infinite if unknown."""
    held_before_bytes: float
    """What the topic held before this producer came."""
    horizon_bytes: float
    """Within these all brokers are to get their fair share."""
    most_at_once: float
    """Part of the traffic that a partition, or a group, gets in one go."""
    is_balanced: bool
    """Whether the weights are those of a balanced cluster."""
    is_fine_grained: bool
    """Whether slots are short compared to what brokers have."""

    @property
    def slot_bytes(self) -> int:
        """Length by the recent rate and by what is queued, or some batches if bytes stay as balanced with them."""
        if self.whole_lingers_bytes:
            return max(self.whole_lingers_bytes, self._queued_bytes)
        batches = _LONGEST_AT_SPEED if self.is_fine_grained else 1
        longest = max(batches * self.batch_bytes, self._queued_bytes, self._longest_slot_bytes)
        return max(self.batch_bytes, int(min(longest, self._room_bytes)))

    @property
    def part_of_sent(self) -> float:
        """Slot length over the bytes of each broker, at most."""
        if not self.balances_bytes:
            return inf
        if self.whole_lingers_bytes:
            return _SLOT_PART_IN_LINGERS
        return SLOT_PART_AT_SPEED if self.bytes_per_s else SLOT_PART

    @property
    def stored_per_led(self) -> float:
        """What a broker stores for each byte that it leads, as far as slots may be longer for it: followers are
        balanced only after a round of all partitions."""
        longest_round = _LONGEST_ROUND * self._leaders_per_turn if self.scores_bytes else 0.0
        return max(1.0, min(self.turns.copies, longest_round / self.part_of_sent))

    @property
    def linger_bytes(self) -> float:
        """What arrives while the client keeps a batch open."""
        return self.mean_bytes_per_s * self.linger_s

    @property
    def stay_bytes(self) -> int:
        """What a partition gets before another one of its leader, or of its group, takes over."""
        if self.turns.are_groups:
            return max(self.slot_bytes, min(int(self.burst_bytes_per_s * _STAY_IF_MANY_S), _LONGEST_BATCH_BYTES))
        if self.turns.copies > 1:
            # partitions of one leader fill different brokers: six of 200 kB ended 30% off what slots give
            return 0
        return int(min(self.slot_bytes, max(self.batch_bytes, self._turn_bytes)))

    @property
    def spare_bytes(self) -> float:
        """What slots may have besides, because the topic is not empty: what one of all brokers has makes little
        difference to what they hold.

        With followers, brokers are balanced only after a round of all partitions, so that must be as short.
        """
        per_round = self._leaders_per_turn if self.turns.copies > 1 else 1.0
        return _HELD_SLOT_PART * per_round * self.held_before_bytes

    @property
    def are_brokers_enough(self) -> bool:
        """Whether weights have taken effect once each broker had some slots, whichever of its partitions got them."""
        return self.turns.are_groups or (self.turns.copies == 1 and not self.is_balanced)

    @property
    def whole_lingers_bytes(self) -> int:
        """Bytes of the whole number of linger times that comes closest to a batch at the recent rate; 0 at a high rate.

        Plus one record: linger starts with the first record, and one that arrives just after a batch was closed would
        open another batch for itself.
        """
        in_linger = self.bytes_per_s * self.linger_s
        if 0 < in_linger <= _LONGEST_SLOT * self.batch_bytes:
            lingers = max(1, round(self.batch_bytes / in_linger))
            return ceil(lingers * in_linger) + self.record_bytes
        return 0

    @property
    def _longest_slot_s(self) -> float:
        return _LONGEST_SLOT_BY_LATENCY_S if self.follows_traffic else _LONGEST_SLOT_S

    @property
    def _longest_slot_bytes(self) -> float:
        """What arrives within the longest time of a slot, so that requests are as few as with librdkafka's own."""
        return self.most_at_once * self.turns.number * self.bytes_per_s * self._longest_slot_s

    @property
    def _queued_bytes(self) -> int:
        """What is queued for a partition: its requests are that long, unless slots are shorter.

        If bytes are to be balanced, slots of all partitions must still fit. Otherwise all that waits may be of one.
        """
        part = self.most_at_once if self.scores_bytes else 1.0
        return int(min(part * self.waiting_records * self.record_bytes, self._room_bytes))

    @property
    def _room_bytes(self) -> float:
        """Limit of a slot: two requests or its longest time; if bytes are to be balanced, one request, and while they
        are not, some slots of every partition must fit.

        With one request where 10 ms bring more, p50 of records of 100 kB was 2.5 times that of librdkafka's default at
        500 MB/s and 1.35 times at 250 MB/s, with 10 ms 1.3 and 1.15 times (four brokers on one machine of two cores,
        2026-11).
        """
        requests = 1 if self.scores_bytes else _REQUESTS_OF_UNBALANCED_BYTES
        longest = max(requests * self._request_bytes, self.bytes_per_s * self._longest_slot_s)
        longest = min(longest, self.acknowledged_bytes)
        return longest if self.is_balanced else min(longest, self._turn_bytes)

    @property
    def _turn_bytes(self) -> float:
        """What a partition, or a group, gets at once if all get some slots within the horizon; infinite if bytes are
        not scored."""
        return self.horizon_bytes / (_SLOTS_IN_HORIZON * self.turns.number) if self.scores_bytes else inf

    @property
    def _leaders_per_turn(self) -> float:
        return self.turns.leaders / self.turns.number

    @property
    def _request_bytes(self) -> float:
        """Values of about the mean length that the longest request carries.

        Long records may be one more: a batch that is not full waits for its linger time. With nine of 100 kB in a slot
        in place of ten, p50 was 1.2 to 2.2 times that of librdkafka's default.
        """
        record_bytes = self.record_bytes or self.batch_bytes
        return _LONGEST_BATCH_BYTES * record_bytes / (record_bytes + _FORMAT_BYTES)


def copies_of(view: RoutingView) -> float:
    """Replicas of a partition, in the mean."""
    return len(view.replica_broker) / view.n_partitions
