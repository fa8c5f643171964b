"""``score``: gives every broker what it lacks to its fair share, by the registered scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from threading import Lock
from typing import ClassVar

import numpy as np

from kafkabal.config import BATCH_BYTES, LINGER_MS, Range
from kafkabal.model import F64, I32, I64, Bools
from kafkabal.routing.byte_stride import SLOT_PART, ByteStride
from kafkabal.routing.deficits import Deficits
from kafkabal.routing.fair_weights import FairWeights
from kafkabal.routing.interchangeable_partitions import interchangeable_partitions, sums_by
from kafkabal.routing.own_and_others_bytes import OwnAndOthersBytes
from kafkabal.routing.policy_protocol import About, Context, Input, Pick, PolicyBase, RecordBatch, Slot
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.record_rate import RecordRate
from kafkabal.routing.routing_view import RoutingView, fitted_to
from kafkabal.routing.slot_lengths import SlotLengths, Turns, copies_of
from kafkabal.routing.slow_start import SlowStart
from kafkabal.routing.weights_for_clients import ClientWeights

# slot length over what waits for the partition with the least weight, which must not get much at once. With 1, 2, 16
# and 1,000, a producer that routes by latency beside a broker that stalls for 7/8 of the time is as fast within the
# noise (medians of four runs as in benchmarks/slow_broker.py differ by 30%, 2026-11)
_MOST_AT_ONCE = 4
# the shortest time in seconds between two looks at what is in flight to each broker: one takes 70 us with 4 brokers,
# 95 with 100 (on a busy machine, 2026-11)
_LEAST_CHECKED_S = 0.002
# bytes of slots that are planned at once, and more at high rates: what is sent in 20 ms, or in 2 ms if brokers are
# watched meanwhile. To plan takes 100 to 250 us, since the code of records fills the processor's caches: the 1,400
# slots of 200 MB of 1 kB took 9 ms with 44 calls, 6 ms with 36 (2026-11)
_LEAST_PLANNED_BYTES = 262_144
_PLANNED_S = 0.02
# fraction of a horizon after which weights are recomputed: usually, and with nothing to make up for. With 1/4 for the
# first, 13 of 144 imbalanced workloads of benchmarks/routing_constants.py end up to 2.6% less balanced, none more; 1
# gives the same as 1/2, except up to 0.2% less in two. 1/4 and 4 for the second change 0.1% at most (2026-11)
_RECOMPUTE_AFTER, _RECOMPUTE_AFTER_IF_BALANCED = 1 / 2, 1.0
# over this many horizons, today's imbalance is negligible. With 100, 25 of the 144 imbalanced workloads end up to 11%
# less balanced, four up to 2% more; 1,000 and 10^6 change none of the 20 published ones
_HORIZONS_TO_BALANCE = 1e4
# weights stay if they would change by less than this fraction of an even share: between two views, and with a new view.
# 0.001 and 0.1 for the first, 10^-6 and 0.001 for the second change the 20 published workloads by 0.003 at most
_CLOSE_BETWEEN_VIEWS, _CLOSE_ENOUGH = 1e-2, 1e-4
# this close to the weights of a balanced cluster, exactly those are used until a view shows another imbalance: 0.0002
# and 0.05 change none of the 20 published workloads; without it, two of 4 million records take 1.1 times the time
_NEAR_BALANCED = 2e-3
# what remains of the floor for a producer that is alone; 1/10 and 1/1000 end the same in 100 drawn workloads. Not 0, as
# the brokers that are left may be held back
_LEAST_FLOOR_PART = 1 / 100


class ScoreWeighted(PolicyBase):
    """Computes weights from the marginal loads of the view, and distributes bytes by them.

    Parameters
    ----------
    floor
        Least weight of a partition relative to an even one, above 0 and at most 1: a broker with one bad measurement
        still gets records, and so is measured again. A hundredth of it for a producer that has its topic for itself,
        unless loads are measured by the records.
    max_change
        How much a weight may grow from one view to the next, above 0 and at most 1000; 0.5 allows half more, or a third
        less.
    horizon
        Bytes until all brokers have their fair share, as a fraction of what the brokers hold now; above 0 and at most
        1000. The shorter, the fewer brokers take most of the writes meanwhile. With a twentieth, no other policy was
        more balanced by 0.005 in any of the 20 workloads of ``python -m benchmarks.evenness``; with a tenth one was.
        If others write to the topic too, at least twice what it grows by between two views.
    least_horizon_bytes
        Lower limit of the horizon in bytes, 1 to 2^50: what is written before a view can show that an imbalance is
        gone.
    batch_size
        Bytes, 1 to 2^31 - 1, that go to one partition before the next is considered. Up to sixteen times as many, or
        what is queued for it or arrives in 20 ms if that is more, as long as it is little compared to what a partition
        gets within the horizon.
    linger_ms
        How long the client keeps a batch open, 0 to 900,000. If records come so slowly that linger and not size closes
        batches, a partition is kept for whole linger times: the records of a batch opened just before a switch would
        linger for no others.
    """

    about: ClassVar = About(
        name="score",
        meaning="brokers weighted by how far they are below their fair share of the selected scores",
        source="kafkabal's scoring registry",
        inputs=frozenset({Input.LOG_DIRS, Input.SCORES}),
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
        self._stride = ByteStride(
            batch_size, RandomStream(context.seed).next(), self._recompute_weights, context.expected_bytes
        )
        self._weights: F64 = np.empty(0)
        self._balanced_weights: F64 = self._weights
        # computed once, because every slot of a nearly empty topic asks for them
        self._distance_to_balanced = inf
        self._most_at_once = 0.0
        self._balances_bytes = self._scores_bytes = self._follows_traffic = self._holds_back = False
        self._fair: FairWeights | None = None
        self._group: I32 | None = None
        self._held_bytes = 0.0
        self._rate = RecordRate(context.clock)
        self._bytes = OwnAndOthersBytes()
        self._turns = Turns(number=1, are_groups=False, leaders=1, copies=1.0)
        self._waiting_records = 0
        self._recompute_at_bytes = 0.0
        self._horizon_bytes = 0.0
        self._slow_start = SlowStart(context.clock)
        self._held_back: Bools = np.zeros(0, np.bool_)
        self._deficits = Deficits(context.clock)
        self._is_fast: Bools = np.zeros(0, np.bool_)
        self._checked_s = self._planned_s = -inf
        self._planned_bytes = 0
        self._span_bytes = 0.0
        # held while weights are computed: by the thread that refreshes, or by the one that picks
        self._computing = Lock()

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        with self._computing:
            self._take_view(view)

    def _take_view(self, view: RoutingView) -> None:
        fair, before = FairWeights(view), self._fair
        self._holds_back = view.is_latency_scored
        self._follows_traffic = view.is_latency_scored or any(m.follows_traffic.any() for m in view.marginal_loads)
        self._scores_bytes = any(marginal.per_byte.any() for marginal in view.marginal_loads)
        makes_up = self._holds_back and not self._scores_bytes
        self._is_fast = _is_fast(view) if makes_up else np.zeros(view.n_partitions, np.bool_)
        self._balances_bytes = self._scores_bytes or not any(m.is_moved_by_routing for m in view.marginal_loads)
        self._bytes.take(view, self._stride.sent_bytes, self._balanced_weights)
        if self._rate.is_due:
            self._rate.measure(float(self._stride.total_bytes))
        if before is None or not _has_same_replicas(before.view, view):
            self._group = interchangeable_partitions(view)
            self._turns = Turns.of(view, self._group)
        self._fair, self._held_bytes = fair, _held_bytes(view)
        self._compute_weights(fair, _CLOSE_ENOUGH)
        self._waiting_records = view.waiting_records
        self._set_slots()
        nothing = np.zeros(view.n_partitions)
        self._balanced_weights = fair.weights(
            nothing, _HORIZONS_TO_BALANCE * self._horizon_bytes, *self._widest_bounds(fair), _CLOSE_ENOUGH
        )
        self._distance_to_balanced = _distance(self._weights, self._balanced_weights)

    def client_weights(self) -> ClientWeights:
        """See :class:`~kafkabal.routing.weights_for_clients.WeightsPolicy`."""
        assert self._fair is not None
        view = self._fair.view
        # one batch: the rate of other clients is unknown, and a request of the Java client has one per partition. A
        # sixteenth less, so that whole records fit into a batch with what the format adds
        slot_bytes = max(1, self._batch_bytes - self._batch_bytes // 16)
        return ClientWeights(self._weights, view.leader, slot_bytes, SLOT_PART if self._balances_bytes else inf)

    @property
    def pick(self) -> Pick:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`; the stride's own method, so that a record costs
        one call."""
        return self._stride.pick

    @property
    def slot(self) -> Slot:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`."""
        return self._stride.slot

    def enter_slot(self, size_bytes: int) -> int:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`."""
        return self._stride.enter_slot(size_bytes)

    def plan_slots(
        self, size_bytes: int, overruns: Iterable[tuple[int, int]], batch_bytes: int = 0
    ) -> list[tuple[int, int]]:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`."""
        slots = self._stride.plan_slots(size_bytes, overruns, max(self._bytes_to_plan(), batch_bytes))
        self._planned_bytes = sum(n_bytes for _, n_bytes in slots)
        return slots

    def _bytes_to_plan(self) -> int:
        """As many as last time by the time that those took, but at most twice as many."""
        now_s = self.context.clock()
        elapsed_s, self._planned_s = now_s - self._planned_s, now_s
        wanted_s = _LEAST_CHECKED_S if self._holds_back else _PLANNED_S
        times = min(2.0, wanted_s / elapsed_s) if elapsed_s > 0 else 2.0
        return max(_LEAST_PLANNED_BYTES, int(times * self._planned_bytes))

    def watch_in_flight(self, awaited_and_settled: Callable[[], tuple[I64, I64]]) -> None:
        """See :class:`~kafkabal.routing.policy_protocol.SlotPolicy`."""
        self._follow_rate()
        fair, now_s = self._fair, self.context.clock()
        if fair is None or now_s - self._checked_s < _LEAST_CHECKED_S or not self._holds_back:
            return
        self._checked_s = now_s
        view = fair.view
        awaited, settled = awaited_and_settled()
        n = view.n_partitions
        held_back = self._slow_start.held_back(awaited[:n], settled[:n], view.leader)
        self._deficits.count(awaited[:n])
        is_new = held_back is not self._held_back and not np.array_equal(held_back, self._held_back)
        if (is_new or (self._deficits.is_due and self._is_fast.any())) and self._computing.acquire(blocking=False):
            try:
                self._held_back = held_back
                self._set_weights(view)
            finally:
                self._computing.release()

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        self._stride.fill(records.size_bytes, out)

    def _follow_rate(self) -> None:
        """Measure the rate where slots begin, because between two views a burst would come and go unnoticed."""
        if self._fair is None:
            return
        if self._rate.is_due:
            self._rate.measure(float(self._stride.total_bytes))
            self._set_slots()
        elif self._turns.are_groups:
            self._stride.set_stay_bytes(self._slot_lengths().stay_bytes)

    def _set_slots(self) -> None:
        lengths = self._slot_lengths()
        self._stride.set_slot_bytes(
            lengths.slot_bytes,
            lengths.part_of_sent,
            lengths.linger_bytes,
            stay_bytes=lengths.stay_bytes,
            stored_per_led=lengths.stored_per_led,
            spare_bytes=lengths.spare_bytes,
            are_brokers_enough=lengths.are_brokers_enough,
            keeps_stays=self._turns.are_groups,
        )

    def _slot_lengths(self) -> SlotLengths:
        stride, rate = self._stride, self._rate
        return SlotLengths(
            batch_bytes=self._batch_bytes,
            linger_s=self._linger_s,
            turns=self._turns,
            scores_bytes=self._scores_bytes,
            balances_bytes=self._balances_bytes,
            follows_traffic=self._follows_traffic,
            bytes_per_s=rate.bytes_per_s,
            burst_bytes_per_s=rate.at_least_bytes_per_s(stride.total_bytes),
            mean_bytes_per_s=rate.mean_bytes_per_s,
            record_bytes=stride.mean_record_bytes,
            waiting_records=self._waiting_records,
            acknowledged_bytes=self._slow_start.mean_acknowledged_bytes,
            held_before_bytes=self._bytes.held_before_bytes,
            horizon_bytes=self._horizon_bytes,
            most_at_once=self._most_at_once,
            is_balanced=self._distance_to_balanced < _CLOSE_BETWEEN_VIEWS,
            is_fine_grained=stride.is_fine_grained,
        )

    def _recompute_weights(self) -> None:
        """Recompute weights once own records have made the view too old, without waiting for the next one; a view that
        is being taken brings new ones anyway."""
        if self._fair is None or self._stride.total_bytes < self._recompute_at_bytes:
            return
        if self._computing.acquire(blocking=False):
            try:
                self._recompute_from(self._fair)
            finally:
                self._computing.release()

    def _recompute_from(self, fair: FairWeights) -> None:
        if self._stride.is_fine_grained and self._distance_to_balanced < _NEAR_BALANCED:
            self._horizon_bytes = self._bytes_ahead()
            self._switch_to(self._balanced_weights, self._distance_to_balanced, _CLOSE_ENOUGH, fair.view)
        else:
            self._compute_weights(fair, _CLOSE_BETWEEN_VIEWS)
        self._set_slots()

    def _compute_weights(self, fair: FairWeights, close_enough: float) -> None:
        n, sent = fair.view.n_partitions, self._stride.sent_bytes
        self._horizon_bytes = self._bytes_ahead()
        # the stride itself corrects what partitions are ahead of their weights: new weights must not correct it again
        ahead = fitted_to(self._stride.ahead_bytes, n)
        written = fitted_to(sent, n) - ahead - fitted_to(self._bytes.seen, n) + fitted_to(self._bytes.others_unseen, n)
        if fair.view.unseen_bytes is not None:
            written += fair.view.unseen_bytes
        weights = fair.weights(written, self._horizon_bytes, *self._bounds(fair), close_enough)
        self._switch_to(weights, _distance(weights, self._weights), close_enough, fair.view)

    def _switch_to(self, weights: F64, distance: float, close_enough: float, view: RoutingView) -> None:
        """Switch to new weights until they are due again; keep the current ones if they differ by no more than
        ``close_enough``."""
        is_new = distance >= close_enough
        if is_new:
            self._weights, self._distance_to_balanced = weights, _distance(weights, self._balanced_weights)
            self._most_at_once = _most_at_once(weights if self._group is None else sums_by(self._group, weights))
        span_bytes = self._horizon_bytes * (
            _RECOMPUTE_AFTER_IF_BALANCED if self._distance_to_balanced < _CLOSE_BETWEEN_VIEWS else _RECOMPUTE_AFTER
        )
        self._recompute_at_bytes = self._stride.total_bytes + span_bytes
        self._span_bytes = span_bytes
        if is_new:
            self._set_weights(view)
        else:
            self._stride.set_span(span_bytes)

    def _set_weights(self, view: RoutingView) -> None:
        """Route by the weights, without the brokers that are held back; equally fast ones get the same in the end."""
        weights = self._weights
        if len(self._balanced_weights) == len(weights) and self._is_fast.any():
            weights = self._deficits.made_up_for(weights, self._balanced_weights, view.leader, self._is_fast)
        if len(self._held_back) == len(weights) and self._held_back.any():
            weights = np.where(self._held_back, 0.0, weights)
            weights /= weights.sum()
        self._stride.set_weights(weights, self._span_bytes, view.leader if self._group is None else self._group)

    def _bounds(self, fair: FairWeights) -> tuple[F64, F64, F64]:
        """Weights to start from, and the bounds of each.

        The bounds always allow a return to the weights of a balanced cluster: a tilt against an imbalance must end with
        it.
        """
        even, floor, top = self._widest_bounds(fair)
        if len(self._weights) != len(even):
            return even, floor, top
        start = np.maximum(self._weights, floor) * fair.available
        start /= start.sum()
        balanced = np.minimum(np.maximum(self._balanced_weights, floor), top)
        low = np.maximum(floor, np.minimum(balanced, start / (1 + self._max_change)))
        return start, low, np.maximum(balanced, start * (1 + self._max_change))

    def _widest_bounds(self, fair: FairWeights) -> tuple[F64, F64, F64]:
        """Even weights, and the bounds of a policy that has just started on a topic."""
        floor = self._floor
        if not self._follows_traffic:
            floor *= max(_LEAST_FLOOR_PART, self._bytes.caution)
        return fair.even, floor * fair.even, fair.available

    def _bytes_ahead(self) -> float:
        """Horizon in bytes of one replica; at least what is sent before weights can change, and twice what arrives
        between two views if others write, so that nothing overshoots."""
        own_bytes = self._stride.total_bytes - self._bytes.seen_bytes
        return max(
            self._horizon * (self._held_bytes + own_bytes),
            2 * self._bytes.caution * self._bytes.grown_bytes,
            self._least_horizon_bytes,
            self._stride.least_horizon_bytes,
        )


def _has_same_replicas(view: RoutingView, other: RoutingView) -> bool:
    return (
        np.array_equal(view.leader, other.leader)
        and np.array_equal(view.replica_partition, other.replica_partition)
        and np.array_equal(view.replica_broker, other.replica_broker)
        and view.n_brokers == other.n_brokers
    )


def _is_fast(view: RoutingView) -> Bools:
    """bool, shape (n_partitions,): whether no other leader is measured to serve traffic faster."""
    fast = view.leader >= 0
    leads = view.leader[view.replica_partition] == view.replica_broker
    for marginal in view.marginal_loads:
        rows = np.flatnonzero(leads & (marginal.holder >= 0))
        rows = rows[marginal.follows_traffic[marginal.holder[rows]]]
        if rows.size:
            loads = marginal.load[marginal.holder[rows]]
            fast[view.replica_partition[rows]] &= loads <= np.fmin.reduce(loads)  # NaN: not measured
    return fast


def _distance(weights: F64, others: F64) -> float:
    """The largest difference of two weights, in even shares; infinite if their numbers of partitions differ."""
    n = len(weights)
    return float(np.abs(weights - others).max()) * n if len(others) == n else inf


def _most_at_once(weights: F64) -> float:
    """Part of the traffic that a partition gets in one go; small for a partition with a low weight."""
    used = weights[weights > 0]
    return min(1 / len(used), _MOST_AT_ONCE * float(used.min()))


def _held_bytes(view: RoutingView) -> float:
    """Bytes of one replica, of any topic, on the brokers that hold the view's topic."""
    holds = np.zeros(view.n_brokers, np.bool_)
    holds[view.replica_broker] = True
    return float(view.used_bytes[holds].sum()) / copies_of(view)
