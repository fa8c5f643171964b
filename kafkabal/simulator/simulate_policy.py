"""Simulates how a policy routes a workload into a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64, I32
from kafkabal.routing import (
    Context,
    Feedback,
    Input,
    Policy,
    PolicyChoice,
    RecordBatch,
    RoutingView,
    early_pauses_s,
    is_available,
    per_record_policy_of,
)
from kafkabal.simulator.brokers_under_workload import SimulatedBrokers
from kafkabal.simulator.delivery_runner import DeliveryRunner
from kafkabal.simulator.key_order_risk import KeyOrderRisk
from kafkabal.simulator.log_bytes import LogBytes
from kafkabal.simulator.policy_outcome import LatencyFigures, PolicyOutcome
from kafkabal.simulator.ticks import Ticks
from kafkabal.simulator.workload import MOST_BYTES, MOST_RECORDS, BrokerEvent, ListedSizes, Workload
from kafkabal.simulator.workload_records import of_producer, record_stream
from kafkabal.units import format_bytes

# interval at which librdkafka's statistics are read
_REVISION_S = 0.05
# with fewer records compiling takes longer than it saves: 8 to 10 s of processor time against 2 to 4 us per record;
# with 1.1 million records, score, adaptive and power-of-d became 1.6 to 2.4 times as slow, 2026-11
_WORTH_COMPILING = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """How to simulate a policy; only :attr:`seed` changes where records go."""

    seed: int = 0
    delivery: bool = True
    """Simulate batches, queues and acknowledgements too; always on for policies that depend on them."""
    compiled: bool | None = None
    """Compile kernels to machine code; None does so if numba is installed and it pays off."""
    rack: str | None = None
    """Rack of the readers."""


def simulate(view: RoutingView, choice: PolicyChoice, workload: Workload, options: SimulationOptions) -> PolicyOutcome:
    """Simulate the routing of a workload.

    Parameters
    ----------
    view
        The topic and its brokers at the start.

    Raises
    ------
    UsageError
        If the workload names unknown brokers or is too large, an option of the policy is out of range, or numba is
        requested but not installed.
    OperationError
        If no partition has a leader.
    """
    _check_totals(workload)
    return _Simulation(view, choice, workload, options).run()


def check_simulable(view: RoutingView, choice: PolicyChoice, options: SimulationOptions) -> None:
    """Check that a policy accepts its options and the initial view.

    Raises
    ------
    UsageError, OperationError
        As :func:`simulate`.
    """
    policy = choice.create(Context(rack=options.rack))
    _check_kernels(choice, policy)
    policy.refresh(view)


def _check_kernels(choice: PolicyChoice, policy: Policy) -> None:
    if choice.about.feedback is Feedback.ACKS and per_record_policy_of(policy) is None:
        raise UsageError(
            f"policy {choice.label!r} cannot be simulated: it learns from acknowledgements and has no kernels",
            hint="derive it from kafkabal.routing.PerRecordPolicy",
        )


class _Simulation:
    def __init__(self, view: RoutingView, choice: PolicyChoice, workload: Workload, options: SimulationOptions) -> None:
        self._view = view
        self._workload = workload
        self._options = options
        self._now_s = 0.0
        self._unseen_view_s: float | None = 0.0
        self._unseen_latency_s: float | None = None
        self._last_view = view
        self._measured_s = np.full(view.n_brokers, np.nan)
        self._waits_s = np.zeros(view.n_brokers)
        self._late_records = _records_when_late(workload)
        self._records_done = 0
        compile_it = _should_compile(options, workload)
        self._policies = self._make_policies(choice, compile_it=compile_it)
        self._label = choice.label
        self._brokers = SimulatedBrokers(view, workload)
        self._keys = workload.key_table(options.seed)
        self._key_order = None if self._keys is None else KeyOrderRisk(len(self._keys))
        self._logs = LogBytes(workload, view.n_partitions)
        self._written_bytes = self._refused_bytes = 0
        self._partition_records = np.zeros(view.n_partitions, np.int64)
        self._refused_records = 0
        self._delivery: DeliveryRunner | None = None
        if options.delivery or choice.about.feedback is Feedback.ACKS or Input.LATENCY in choice.about.inputs:
            self._delivery = DeliveryRunner(
                self._policies, view, self._brokers, workload.transport, compile_it=compile_it
            )
        self._events = sorted(workload.events, key=lambda event: event.at_s)[::-1]
        """In reverse order: the next event is the last item."""
        self._views = Ticks(workload.metrics_interval_s, early_pauses_s(workload.metrics_interval_s))
        follows = self._delivery is not None and self._brokers.needs_latency
        self._latencies = Ticks(_REVISION_S) if follows else None

    def run(self) -> PolicyOutcome:
        """Route all records; between them the cluster changes and new views arrive."""
        for chunk in record_stream(self._workload, self._keys, self._options.seed):
            assert chunk.at_s is not None
            done = 0
            while done < len(chunk):
                offered_s = float(chunk.at_s[done])
                now_s = offered_s if self._delivery is None else max(offered_s, self._delivery.now_s)
                self._advance_to(now_s)
                end = done + int(np.searchsorted(chunk.at_s[done:], self._next_s))
                if now_s > offered_s:
                    # producers waited for memory: time passes with the records they sent, not with those offered
                    end = min(end, done + self._late_records)
                self._route(chunk[done:end])
                done = end
        if self._delivery is not None:
            self._delivery.wait_for_all()
            self._brokers.write(self._logs.correction(self._delivery.batches_sent))
        return self._outcome()

    @property
    def _next_s(self) -> float:
        """When policies next get a view or new latencies, or a broker event happens."""
        event_s = self._events[-1].at_s if self._events else inf
        return min(event_s, self._views.next_s, inf if self._latencies is None else self._latencies.next_s)

    def _advance_to(self, until_s: float) -> None:
        while self._events and self._events[-1].at_s <= until_s:
            self._apply_event(self._events.pop())
        view_s = self._views.take(until_s)
        if view_s is not None:
            self._unseen_view_s = max(view_s, self._unseen_view_s or view_s)
        if self._latencies is not None:
            self._unseen_latency_s = self._latencies.take(until_s)

    def _apply_event(self, event: BrokerEvent) -> None:
        # clients learn from Kafka's metadata at once that brokers were added or died
        self._unseen_view_s = event.at_s
        self._brokers.apply(event)
        if self._delivery is not None:
            self._delivery.brokers_changed(self._view)

    def _route(self, records: RecordBatch) -> None:
        self._show_due_view()
        picks = np.full(len(records), -1, np.int32)
        with_headers = _with_headers(records, self._workload.header_bytes)
        if self._policies[0].about.feedback is not Feedback.ACKS:
            self._pick(with_headers, picks)
        if self._delivery is not None:
            self._delivery.start_delivery(with_headers, picks, self._records_done)
        self._count_records(records, picks)

    def _show_due_view(self) -> None:
        """Give the policies the views and latencies that are due."""
        view_s, latency_s = self._unseen_view_s, self._unseen_latency_s
        self._unseen_view_s = self._unseen_latency_s = None
        was_late = bool((self._waits_s > 0).any())
        if self._delivery is not None and latency_s is not None:
            waits_s = self._delivery.waits_s(latency_s)
            self._waits_s = np.where(waits_s > _REVISION_S, waits_s, 0.0)
        if view_s is not None:
            self._now_s = view_s
            if self._delivery is not None:
                self._measured_s = self._delivery.measured_latency_s()
            self._show(self._brokers.view(view_s, self._latency_s))
        elif latency_s is not None and (was_late or self._waits_s.any()):
            self._now_s = latency_s
            self._show(self._brokers.with_latency(self._last_view, self._latency_s))

    @property
    def _latency_s(self) -> F64:
        """float64, shape (n_brokers,): as measured, or as long as the backlog takes."""
        return np.where(self._waits_s > 0, np.fmax(self._measured_s, self._waits_s), self._measured_s)

    def _show(self, view: RoutingView) -> None:
        self._last_view = view
        for policy in self._policies:
            policy.refresh(view)

    def _pick(self, records: RecordBatch, picks: I32) -> None:
        producers = len(self._policies)
        for i, policy in enumerate(self._policies):
            start = (i - self._records_done) % producers
            own = of_producer(records, start, producers)
            picked = np.empty(len(own), np.int32) if producers > 1 else picks
            policy.pick_batch(own, picked)
            picks[start::producers] = picked

    def _count_records(self, records: RecordBatch, picks: I32) -> None:
        led = self._brokers.leader >= 0
        counts = np.bincount(picks, minlength=len(led))
        self._brokers.write(self._logs.append(records, picks, counts * led))
        self._partition_records += counts * led
        self._written_bytes += int(records.size_bytes.sum())
        if not led.all():
            refused = ~led[picks]
            self._refused_records += int(refused.sum())
            self._refused_bytes += int(records.size_bytes[refused].sum())
        if self._key_order is not None and records.key is not None:
            self._key_order.add(records.key, picks)
        self._records_done += len(records)
        assert records.at_s is not None
        self._now_s = float(records.at_s[-1])

    def _make_policies(self, choice: PolicyChoice, *, compile_it: bool) -> list[Policy]:
        def clock() -> float:
            return self._now_s

        producers = self._workload.producers
        expected_bytes = self._expected_bytes_of_each()
        # the clients' linger time, unless the policy was given another one
        made = choice.with_client_linger(self._workload.transport.linger_s * 1000)
        policies = [
            made.create(
                Context(
                    seed=self._options.seed * producers + i,
                    clock=clock,
                    rack=self._options.rack,
                    compiled=compile_it,
                    expected_bytes=lambda: expected_bytes,
                )
            )
            for i in range(producers)
        ]
        _check_kernels(choice, policies[0])
        return policies

    def _expected_bytes_of_each(self) -> float:
        """What each producer knows to come: all of a data set, as ``kafkabal produce`` does, otherwise nothing."""
        workload = self._workload
        return workload.expected_bytes / workload.producers if isinstance(workload.sizes, ListedSizes) else inf

    def _outcome(self) -> PolicyOutcome:
        brokers, delivery, view = self._brokers, self._delivery, self._view
        led = brokers.leader >= 0
        duration_s = self._now_s if delivery is None else max(self._now_s, delivery.now_s)
        return PolicyOutcome(
            label=self._label,
            about=self._policies[0].about,
            seed=self._options.seed,
            records=self._records_done,
            written_bytes=self._written_bytes,
            duration_s=duration_s,
            broker_id=view.broker_id,
            live=brokers.live,
            broker_records=np.bincount(brokers.leader[led], self._partition_records[led], view.n_brokers).astype(
                np.int64
            ),
            added_bytes=brokers.added_bytes,
            used_bytes=brokers.used_bytes,
            led_bytes=np.bincount(
                brokers.leader[led], (view.partition_bytes + brokers.partition_bytes)[led], view.n_brokers
            ).astype(np.float64),
            capacity_bytes=view.capacity_bytes,
            capacity_known=bool((view.capacity_bytes != 1).any()),
            partition_bytes=brokers.partition_bytes,
            order_violations=0 if self._key_order is None else self._key_order.violations,
            refused=self._refused_records,
            refused_bytes=self._refused_bytes,
            batches=None if delivery is None else int(delivery.batches_sent.sum()),
            latency=None if delivery is None else _latency_figures(delivery),
        )


def _with_headers(records: RecordBatch, header_bytes: int) -> RecordBatch:
    """Records as producers see them; in a workload, sizes are those of keys and values."""
    return replace(records, size_bytes=records.size_bytes + header_bytes) if header_bytes else records


def _check_totals(workload: Workload) -> None:
    records, total_bytes = workload.expected_records, workload.expected_bytes
    if records > MOST_RECORDS:
        raise UsageError(f"workload records: {records:,} exceeds the limit of {MOST_RECORDS:,}")
    if total_bytes > MOST_BYTES:
        raise UsageError(f"workload bytes: {format_bytes(total_bytes)} exceeds the limit of {format_bytes(MOST_BYTES)}")


def _records_when_late(workload: Workload) -> int:
    """About an eighth of what the memory holds."""
    transport = workload.transport
    return max(1, int(min(transport.buffer_bytes / workload.sizes.mean_bytes, transport.buffer_records) / 8))


def _should_compile(options: SimulationOptions, workload: Workload) -> bool:
    if options.compiled is None:
        return is_available() and workload.expected_records >= _WORTH_COMPILING
    if options.compiled and not is_available():
        raise UsageError("numba is not installed", hint="pip install 'kafkabal[fast]'")
    return options.compiled


def _latency_figures(delivery: DeliveryRunner) -> LatencyFigures:
    quantile = delivery.latencies.quantile
    return LatencyFigures(p50_s=quantile(0.5), p99_s=quantile(0.99), p999_s=quantile(0.999))
