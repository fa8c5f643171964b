"""``score``: to every broker what it still lacks to its fair share, by the scores of the registry."""

from __future__ import annotations

from math import ceil, exp, inf
from typing import ClassVar

import numpy as np

from kafkabal.config import BATCH_BYTES, LINGER_MS, Range
from kafkabal.model import F64, I32, I64
from kafkabal.routing.byte_stride import SLOT_PART, ByteStride
from kafkabal.routing.fair_weights import FairWeights
from kafkabal.routing.policy_protocol import About, Context, Input, Pick, PolicyBase, RecordBatch, Slot
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.routing_view import RoutingView
from kafkabal.routing.weights_for_clients import ClientWeights

# batches that a slot takes at most, by the time that they take and where records come so fast that time is no matter.
# At speed 4 for the second cost 1.3 times the processor time, 1 1.7 times, and 64 ends within 0.001 of the same; 1, 4
# and 8 for the first change nothing (four workloads of benchmarks/routing_constants.py, of 300,000 records, 2026-11)
_LONGEST_SLOT, _LONGEST_AT_SPEED = 2, 16
# librdkafka's batch.size; a partition's requests are not longer
_LONGEST_BATCH_BYTES = 1_000_000
# what a batch holds of a record beside its value, at most: slots of a whole batch of values take two requests, of which
# the second carries ten records of 1 kB. 80,000 of these took 175 requests with 1000 in a slot, 125 with 950 to 980
_FORMAT_BYTES = 12
# a slot over what waits for the partition that gets least, which must not get much at once. With 1, 2, 16 and 1,000 a
# producer that routes by latency, beside a broker that stands still for 7/8 of the time, is as fast within the noise
# (medians of four runs as in benchmarks/slow_broker.py differ by 30 %, 2026-11)
_MOST_AT_ONCE = 4
# seconds over which the rate is counted at least
_LEAST_COUNTED_S = 0.05
# seconds after which a third of a rate that was higher still counts
_RATE_MEMORY_S = 0.5
# librdkafka's sticky.partitioning.linger.ms
_STICKY_S = 0.01
# slots of each partition within a horizon, where they are longer than a batch: with 4 the fullest of twelve brokers of
# 300 partitions ends at 1.0023 of the mean, with 16 at 1.0008. With 16 two of the 144 imbalanced workloads of
# benchmarks/routing_constants.py end 0.1 % more even and five as much less; 30,000 records of 10 kB into four empty
# partitions take 5,000 slots in place of 3,000, at 8 us each (2026-11)
_LEAST_ROOM = 4
# part of a horizon that is written before weights are looked at again, and where they have nothing to make up for. With
# 1/4 for the first, 13 of 144 imbalanced workloads of benchmarks/routing_constants.py end up to 2.6 % less even, none
# more; with 1 as with 1/2, but up to 0.2 % less in two. 1/4 and 4 for the second change 0.1 % at most (2026-11)
_PART_AT_ONCE, _PART_IN_CALM = 1 / 2, 1.0
# over so many horizons an imbalance of today is nothing. With 100, 25 of the 144 imbalanced workloads end up to 11 %
# less even, four up to 2 % more; 1,000 and 10^6 change none of the 20 published ones
_FAR = 1e4
# weights are left when they would change by less than this part of an even share: between two views, and by a view.
# 0.001 and 0.1 for the first, 10^-6 and 0.001 for the second change the 20 published workloads by 0.003 at most
_CALM, _CLOSE_ENOUGH = 1e-2, 1e-4
# a slot over the bytes of each broker where time closes batches: nothing but whole linger times fills them. Of 36 slow
# workloads of benchmarks/routing_constants.py, 1/200 makes brokers 0.1 % more even for 1.2 times the batches, 1/100
# 0.04 % for 1.07 times; with 1/10 there are 2 % fewer, and brokers as even in the mean, 0.5 % less at most (2026-11)
_SLOT_PART_IN_LINGERS = 1 / 40
# so near to what a balanced cluster gets, weights become just that until a view shows another imbalance: 0.0002 and
# 0.05 change none of the 20 published workloads; without it two of 4 million records take 1.1 times the time
_AT_EASE = 2e-3
# what may not show yet over what others sent in the time of a reading: log dirs are read one after the other, and
# brokers fall behind. Four producers that sent 10 MB each at once ended at 1.02 to 1.06 of the mean in 5 of 24 runs
# with 1, at 1.02 and 1.03 in 2 of 32 with 3, the others within 1.012 and 1.003 (2026-11)
_LATE = 3


class ScoreWeighted(PolicyBase):
    """Weights from the marginal loads of the view, given out in bytes.

    Parameters
    ----------
    floor
        Least weight of a partition over an even one, above 0 and at most 1: a broker that got one bad measurement is
        measured again.
    max_change
        How much a weight may grow from one view to the next, above 0 and at most 1000; 0.5 is by half, or down by a
        third.
    horizon
        Part of the bytes now on the brokers that may be written until all have their fair share, above 0 and
        at most 1000. The shorter, the fewer brokers take most of the writes meanwhile. At a twentieth no other policy
        was more even by 0.005 in any of the 20 workloads of ``python -m benchmarks.evenness``; at a tenth one was.
    least_horizon_bytes
        The horizon is at least so many bytes, 1 to 2^50: what is written before an imbalance can be seen to be gone.
    batch_size
        Bytes, 1 to 2^31 - 1, that go to one partition before the next is considered; up to sixteen times as many where
        they are little beside what a partition gets within the horizon, and what waits for it, or comes in 10 ms,
        where that is more.
    linger_ms
        For how long the client keeps a batch open, 0 to 900,000. Where records come so slowly that time closes batches
        and not their size, a partition is kept for whole such times: a batch that was opened just before the change
        would make its records wait for no others.
    """

    about: ClassVar = About(
        name="score",
        meaning="brokers weighted by what they lack to their fair share of the selected scores",
        source="kafkabal's scoring registry",
        inputs=frozenset({Input.LOG_DIRS}),
        asks_what_settled=True,
        ranges={
            "floor": Range(0, 1, above=True),
            "max-change": Range(0, 1000, above=True),
            "horizon": Range(0, 1000, above=True),
            "least-horizon-bytes": Range(1, 2**50),
            "batch-size": BATCH_BYTES,
            "linger-ms": LINGER_MS,
        },
    )

    def __init__(
        self,
        context: Context,
        *,
        floor: float = 0.1,
        max_change: float = 0.5,
        horizon: float = 0.05,
        least_horizon_bytes: int = 1,
        batch_size: int = 16384,
        linger_ms: float = 5.0,
    ) -> None:
        self.about.expect(
            floor=floor,
            max_change=max_change,
            horizon=horizon,
            least_horizon_bytes=least_horizon_bytes,
            batch_size=batch_size,
            linger_ms=linger_ms,
        )
        super().__init__(context)
        self._floor = floor
        self._max_change = max_change
        self._horizon = horizon
        self._least_horizon_bytes = float(least_horizon_bytes)
        self._batch_bytes = batch_size
        self._linger_s = linger_ms / 1000
        self._stride = ByteStride(batch_size, RandomStream(context.seed).next(), self._weigh_again)
        self._weights: F64 = np.empty(0)
        self._calm: F64 = self._weights
        # derived once, since every slot of a topic that is still nearly empty asks for them
        self._from_calm = inf
        self._most_at_once = 0.0
        self._evens_bytes = self._scores_bytes = False
        self._fair: FairWeights | None = None
        self._held_bytes = 0.0
        self._grown_bytes = 0.0
        self._bytes_per_s = self._mean_bytes_per_s = 0.0
        self._counted_s = -inf
        self._counted_bytes = 0.0
        self._in_lingers_bytes = 0
        self._in_requests_bytes = 0
        self._seen: F64 = np.empty(0)
        self._seen_bytes = 0.0
        self._of_others_bytes: F64 = np.empty(0)
        self._late_bytes: F64 = np.empty(0)
        self._weigh_at_bytes = 0.0
        self._horizon_bytes = 0.0

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        fair, before = FairWeights(view), self._fair
        now_s, sent = self.context.clock(), self._stride.sent_bytes
        self._scores_bytes = any(marginal.per_byte.any() for marginal in view.marginal_loads)
        self._evens_bytes = self._scores_bytes or not any(m.is_moved_by_routing for m in view.marginal_loads)
        if before is None or view.at_s > before.view.at_s:
            others_before_bytes = float(self._of_others_bytes.sum())
            self._seen = self._seen_by(view, sent)
            self._seen_bytes = float(self._seen.sum())
            if before is not None:
                self._grown_bytes = float(view.partition_bytes.sum() - before.view.partition_bytes.sum())
                others_sent_bytes = float(self._of_others_bytes.sum()) - others_before_bytes
                part = min(1.0, _LATE * view.took_s / (view.at_s - before.view.at_s))
                self._late_bytes = self._late_of_others(part * max(0.0, others_sent_bytes))
        if now_s - self._counted_s >= _LEAST_COUNTED_S:
            self._count_rate()
        self._fair, self._held_bytes = fair, _held_bytes(view)
        self._weigh(fair, _CLOSE_ENOUGH)
        self._in_requests_bytes = self._in_requests(view)
        self._set_slots(view)
        nothing = np.zeros(view.n_partitions)
        self._calm = fair.weights(nothing, _FAR * self._horizon_bytes, *self._widest(fair), _CLOSE_ENOUGH)
        self._from_calm = _distance(self._weights, self._calm)

    def client_weights(self) -> ClientWeights:
        """See :class:`~kafkabal.routing.weights_for_clients.WeightsPolicy`."""
        assert self._fair is not None
        view = self._fair.view
        # one batch: how fast other clients are is not known, and requests of the Java client have one a partition.
        # A sixteenth less, so that whole records of it fit into a batch with what the format adds
        slot_bytes = max(1, self._batch_bytes - self._batch_bytes // 16)
        return ClientWeights(self._weights, view.leader, slot_bytes, SLOT_PART if self._evens_bytes else inf)

    @property
    def pick(self) -> Pick:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`; the stride's own: a record costs one call."""
        return self._stride.pick

    @property
    def slot(self) -> Slot:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`."""
        return self._stride.slot

    def enter_slot(self, size_bytes: int) -> int:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`.

        A rate counted between two views would show a burst too late: it has passed before the next one.
        """
        if self._fair is not None and self.context.clock() - self._counted_s >= _LEAST_COUNTED_S:
            self._count_rate()
            self._set_slots(self._fair.view)
        return self._stride.enter_slot(size_bytes)

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        self._stride.fill(records.size_bytes, out)

    def _set_slots(self, view: RoutingView) -> None:
        part = _SLOT_PART_IN_LINGERS if self._in_lingers_bytes else SLOT_PART
        in_linger_bytes = self._mean_bytes_per_s * self._linger_s
        self._stride.set_slot_bytes(self._slot_bytes(view), part if self._evens_bytes else inf, in_linger_bytes)

    def _slot_bytes(self, view: RoutingView) -> int:
        """By the rate of late, by what waits, or else a few batches if bytes stay as even with so long slots."""
        if self._in_lingers_bytes:
            return max(self._in_lingers_bytes, self._in_requests_bytes)
        batches = _LONGEST_AT_SPEED if self._stride.is_even else 1
        longest = max(batches * self._batch_bytes, self._in_requests_bytes, self._in_time_bytes())
        return max(self._batch_bytes, int(min(longest, self._room_bytes(view))))

    def _room_bytes(self, view: RoutingView) -> float:
        """The longest slot: one request, and if bytes are to be even, short enough for some of every partition."""
        if self._scores_bytes:
            return min(self._request_bytes(), self._horizon_bytes / (_LEAST_ROOM * view.n_partitions))
        return self._request_bytes()

    def _request_bytes(self) -> int:
        """Values of about the mean length that the longest request carries: whole ones, which counts where few do."""
        record_bytes = self._stride.mean_record_bytes or self._batch_bytes
        return max(1, _LONGEST_BATCH_BYTES // (record_bytes + _FORMAT_BYTES)) * record_bytes

    def _count_rate(self) -> None:
        """How fast records have come since this was asked for the last time.

        A rate that falls is believed slowly: a full buffer holds a producer up for moments, however fast it is.
        """
        now_s, sent_bytes = self.context.clock(), float(self._stride.total_bytes)
        elapsed_s = now_s - self._counted_s
        newest = (sent_bytes - self._counted_bytes) / elapsed_s
        kept = exp(-elapsed_s / _RATE_MEMORY_S)
        before = self._mean_bytes_per_s or newest
        self._mean_bytes_per_s = kept * before + (1 - kept) * newest
        self._bytes_per_s = max(newest, kept * self._bytes_per_s + (1 - kept) * newest)
        self._counted_s, self._counted_bytes = now_s, sent_bytes
        self._in_lingers_bytes = self._in_lingers()

    def _in_lingers(self) -> int:
        """The number of linger times that comes closest to a batch at the rate of late, in bytes; 0 at a high rate.

        And a record more: time is counted from the first one, and the one that comes just after a batch was closed
        would open another for itself.
        """
        in_linger = self._bytes_per_s * self._linger_s
        if 0 < in_linger <= _LONGEST_SLOT * self._batch_bytes:
            lingers = max(1, round(self._batch_bytes / in_linger))
            return ceil(lingers * in_linger) + self._stride.mean_record_bytes
        return 0

    def _in_time_bytes(self) -> float:
        """What comes while librdkafka's own partitioner would stay, in as few requests as its own."""
        return self._most_at_once * len(self._weights) * self._bytes_per_s * _STICKY_S

    def _in_requests(self, view: RoutingView) -> int:
        """What waits for a partition: its requests are as long as that, unless slots are shorter.

        Where bytes are to be evened out, there must still be room for slots of all partitions.
        """
        waiting_bytes = view.waiting_records * self._stride.mean_record_bytes
        return int(min(self._most_at_once * waiting_bytes, self._room_bytes(view)))

    def _seen_by(self, view: RoutingView, sent: I64) -> F64:
        """What of this producer's own bytes the view shows: no less than was settled before, no more than was sent.

        Brokers report log dirs one after the other while records arrive. Within those bounds it is what leaves the
        bytes of others as they were: taken for theirs, own bytes would be made up for elsewhere.
        """
        n = view.n_partitions
        own = _of_length(sent, n)
        # a view may have been asked for by the policy before this one
        settled = own if view.settled_bytes is None else np.minimum(view.settled_bytes, own)
        seen: F64 = np.clip(view.partition_bytes - _of_length(self._of_others_bytes, n), settled, own)
        self._of_others_bytes = view.partition_bytes - seen
        return seen

    def _late_of_others(self, meanwhile_bytes: float) -> F64:
        """What others have probably sent and the view does not show yet, of all that may not show yet.

        As much as makes their bytes even, if so much can be late: else every producer would make up for an imbalance
        that is none.
        """
        others, n = self._of_others_bytes, len(self._of_others_bytes)
        if not meanwhile_bytes or len(self._calm) != n:
            return np.zeros(n)
        used = self._calm > 0
        level = float((others[used] / self._calm[used]).max())
        return np.minimum(meanwhile_bytes * self._calm, np.maximum(level * self._calm - others, 0.0))

    def _weigh_again(self) -> None:
        """Recompute weights as soon as own records make the view too old, before another comes."""
        if self._fair is None or self._stride.total_bytes < self._weigh_at_bytes:
            return
        if self._stride.is_even and self._from_calm < _AT_EASE:
            self._horizon_bytes = self._bytes_ahead()
            self._follow(self._calm, self._from_calm, _CLOSE_ENOUGH, self._fair.view)
        else:
            self._weigh(self._fair, _CALM)
        self._set_slots(self._fair.view)

    def _weigh(self, fair: FairWeights, close_enough: float) -> None:
        n, sent = fair.view.n_partitions, self._stride.sent_bytes
        self._horizon_bytes = self._bytes_ahead()
        # the stride makes up at once for what partitions are ahead of their weights: new weights are for the rest
        ahead = _of_length(self._stride.ahead_bytes, n)
        written = _of_length(sent, n) - ahead - _of_length(self._seen, n) + _of_length(self._late_bytes, n)
        if fair.view.unseen_bytes is not None:
            written += fair.view.unseen_bytes
        weights = fair.weights(written, self._horizon_bytes, *self._bounds(fair), close_enough)
        self._follow(weights, _distance(weights, self._weights), close_enough, fair.view)

    def _follow(self, weights: F64, distance: float, close_enough: float, view: RoutingView) -> None:
        """Write by new weights until they are to be looked at again, or by those in use where no farther than that."""
        is_new = distance >= close_enough
        if is_new:
            self._weights, self._from_calm = weights, _distance(weights, self._calm)
            self._most_at_once = _most_at_once(weights)
        span_bytes = self._horizon_bytes * (_PART_IN_CALM if self._from_calm < _CALM else _PART_AT_ONCE)
        self._weigh_at_bytes = self._stride.total_bytes + span_bytes
        if is_new:
            self._stride.set_weights(weights, span_bytes, view.leader)
        else:
            self._stride.set_span(span_bytes)

    def _bounds(self, fair: FairWeights) -> tuple[F64, F64, F64]:
        """Weights to start from, and the least and the most that each may become.

        The bounds always leave the way back to the weights that an even cluster would get: what was tilted against an
        imbalance must not tilt on when that is gone.
        """
        even, floor, top = self._widest(fair)
        if len(self._weights) != len(even):
            return even, floor, top
        start = np.maximum(self._weights, floor) * fair.available
        start /= start.sum()
        calm = np.minimum(np.maximum(self._calm, floor), top)
        low = np.maximum(floor, np.minimum(calm, start / (1 + self._max_change)))
        return start, low, np.maximum(calm, start * (1 + self._max_change))

    def _widest(self, fair: FairWeights) -> tuple[F64, F64, F64]:
        """Even weights, and the bounds of a policy that comes to a topic afresh."""
        return fair.even, self._floor * fair.even, fair.available

    def _bytes_ahead(self) -> float:
        """Horizon in bytes of one copy; at least twice what comes between two views, so that nothing overshoots."""
        own_bytes = self._stride.total_bytes - self._seen_bytes
        return max(self._horizon * (self._held_bytes + own_bytes), 2 * self._grown_bytes, self._least_horizon_bytes)


def _distance(weights: F64, others: F64) -> float:
    """How much two differ at most, in even shares; infinite where they are not for as many partitions."""
    n = len(weights)
    return float(np.abs(weights - others).max()) * n if len(others) == n else inf


def _most_at_once(weights: F64) -> float:
    """Part of the traffic that goes to a partition in one go: one that is to get little must not get much."""
    used = weights[weights > 0]
    return min(1 / len(used), _MOST_AT_ONCE * float(used.min()))


def _held_bytes(view: RoutingView) -> float:
    """Bytes of one copy, of any topic, on the brokers that hold the view's topic."""
    holds = np.zeros(view.n_brokers, np.bool_)
    holds[view.replica_broker] = True
    copies = len(view.replica_broker) / view.n_partitions
    return float(view.used_bytes[holds].sum()) / copies


def _of_length(column: I64 | F64, n: int) -> F64:
    """float64, shape (n,): a column by partition of a topic that had another number of partitions then."""
    result = np.zeros(n)
    result[: len(column)] = column[:n]
    return result
