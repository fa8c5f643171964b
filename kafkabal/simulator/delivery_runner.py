"""Runs the delivery model in slices, in Python or in machine code, and collects its measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.routing import (
    Feedback,
    PerRecordPolicy,
    Policy,
    RecordBatch,
    RoutingView,
    as_arrays,
    compiled,
    kernels_of,
    learn_nothing,
    naming_faults_of,
    per_record_policy_of,
    write_back,
)
from kafkabal.simulator.balance_and_latency_statistics import LatencyHistogram
from kafkabal.simulator.brokers_under_workload import SimulatedBrokers
from kafkabal.simulator.delivery_model import advance, deliver, pick_none
from kafkabal.simulator.delivery_state import (
    FREE_RECORDS,
    Agenda,
    Batches,
    DeliveryLimits,
    DeliveryState,
    DeliveryTopic,
    Links,
    Records,
    Servers,
)
from kafkabal.simulator.workload import Transport
from kafkabal.simulator.workload_records import of_producer
from kafkabal.telemetry import Backlog


class DeliveryRunner:
    """Delivers the records of all producers to the simulated brokers."""

    def __init__(
        self,
        policies: Sequence[Policy],
        view: RoutingView,
        brokers: SimulatedBrokers,
        transport: Transport,
        *,
        compile_it: bool,
    ) -> None:
        self._policies = policies
        self._brokers = brokers
        self._compile_it = compile_it
        self._learning = _learning_policies(policies)
        sim = empty_delivery(len(policies), view, transport)
        self._sim: DeliveryState = as_arrays(sim) if compile_it else sim
        self._measured_s = np.full(view.n_brokers, np.nan)
        self._taken_bytes = np.zeros(view.n_brokers, np.int64)
        self._backlogs = [Backlog() for _ in range(view.n_brokers)]
        self.latencies = LatencyHistogram()
        self.brokers_changed(view)

    @property
    def now_s(self) -> float:
        """Time of the last event."""
        return float(self._sim.now_s[0])

    @property
    def batches_sent(self) -> I64:
        """int64, shape (n_partitions,): batches sent so far."""
        return np.array(self._sim.sent, np.int64)

    def brokers_changed(self, view: RoutingView) -> None:
        """Update leaders, live followers and rates."""
        copies = self._brokers.is_replica_live & (view.replica_broker != self._brokers.leader[view.replica_partition])
        count = np.bincount(view.replica_partition[copies], minlength=view.n_partitions)
        first = np.append(0, np.cumsum(count))
        follower = np.full(max(1, len(view.replica_broker)), 0)
        follower[: first[-1]] = view.replica_broker[copies]
        for column, values in (
            (self._sim.topic.leader, self._brokers.leader),
            (self._sim.topic.first, first),
            (self._sim.topic.follower, follower),
            (self._sim.servers.bytes_per_s, self._brokers.bytes_per_s),
        ):
            column[:] = values.tolist()

    def start_delivery(self, records: RecordBatch, picks: I32, turn: int) -> None:
        """Start delivery of records; those whose pick is -1 are picked now, and written to ``picks``."""
        hashes, uniforms = self._columns(records, turn)
        latency_s = np.empty(len(records) + self._records_in_flight)
        kernels, states = self._kernels(), self._states()
        given = (picks.astype(np.int64), records.size_bytes, hashes, uniforms, records.at_s)
        if self._compile_it:
            with naming_faults_of(self._policies[0], "kernels"):
                acked = compiled(deliver)(self._sim, *kernels, states, turn % len(self._policies), *given, latency_s)
            self._write_back(states)
            picks[:] = given[0]
        else:
            listed: list[Any] = [column.tolist() for column in given if column is not None]
            measured = [0.0] * len(latency_s)
            run: Any = deliver
            acked = run(self._sim, *kernels, states, turn % len(self._policies), *listed, measured)
            latency_s[:acked] = measured[:acked]
            picks[:] = listed[0]
        self.latencies.add(latency_s[:acked])
        leader = self._brokers.leader[picks]
        led = leader >= 0
        taken = np.bincount(leader[led], records.size_bytes[led], len(self._taken_bytes))
        self._taken_bytes += taken.astype(np.int64)

    def wait_for_all(self) -> None:
        """Run until everything in flight has arrived."""
        latency_s = np.empty(self._records_in_flight)
        states = self._states()
        run = compiled(advance) if self._compile_it else advance
        measured: Any = latency_s if self._compile_it else [0.0] * len(latency_s)
        # at infinity, all events have happened
        acked = run(self._sim, self._kernels()[1], states, np.finfo(np.float64).max, measured, 0)
        self.latencies.add(np.array(measured[:acked]))

    def measured_latency_s(self) -> F64:
        """float64, shape (n_brokers,): mean since the last call, else the latest known; NaN before the first."""
        servers = self._sim.servers
        batches = np.array(servers.batches)
        fresh = batches > 0
        self._measured_s = np.where(fresh, np.array(servers.latency_s) / np.maximum(batches, 1), self._measured_s)
        servers.latency_s[:] = [0.0] * len(batches)
        servers.batches[:] = [0] * len(batches)
        return self._measured_s

    def waits_s(self, at_s: float) -> F64:
        """float64, shape (n_brokers,): how long a record sent now takes, given what is in flight; call with ascending
        times."""
        acked = list(map(int, self._sim.servers.acked_bytes))
        taken = self._taken_bytes.tolist()
        return np.array(
            [b.wait_s(at_s, t - a, a) for b, t, a in zip(self._backlogs, taken, acked, strict=True)], np.float64
        )

    @property
    def _records_in_flight(self) -> int:
        """Number of records that are not acknowledged."""
        return len(self._sim.records.spare) - int(self._sim.counts[FREE_RECORDS])

    def _kernels(self) -> tuple[Any, Any]:
        if self._learning:
            return kernels_of(self._policies[0], compile_it=self._compile_it)
        return (compiled(pick_none), compiled(learn_nothing)) if self._compile_it else (pick_none, learn_nothing)

    def _states(self) -> tuple[Any, ...]:
        with naming_faults_of(self._policies[0], "state"):
            states = tuple(policy.state for policy in self._learning) or (([0],),) * len(self._policies)
            return tuple(as_arrays(state) for state in states) if self._compile_it else states

    def _write_back(self, states: tuple[Any, ...]) -> None:
        if self._learning:
            for arrays, policy in zip(states, self._learning, strict=True):
                write_back(arrays, policy.state)

    def _columns(self, records: RecordBatch, turn: int) -> tuple[Any, Any]:
        """Hashes and random numbers for the picks, each from the producer of the record."""
        n, producers = len(records), len(self._policies)
        if not self._learning:
            return np.zeros((n, 0), np.int64), np.zeros((n, 0))
        with naming_faults_of(self._policies[0], "columns"):
            hashes = np.empty((n, len(self._learning[0].hash_seeds)), np.int64)
            uniforms = np.empty((n, self._learning[0].draws))
            for i, policy in enumerate(self._learning):
                start = (i - turn) % producers
                own = of_producer(records, start, producers)
                hashes[start::producers], uniforms[start::producers], _ = policy.columns(own)
        return hashes, uniforms


def _learning_policies(policies: Sequence[Policy]) -> tuple[PerRecordPolicy, ...]:
    """All policies if their picks depend on acknowledgements, which are then reported during the run; else none."""
    if policies[0].about.feedback is not Feedback.ACKS:
        return ()
    return tuple(found for policy in policies if (found := per_record_policy_of(policy)) is not None)


def empty_delivery(producers: int, view: RoutingView, transport: Transport) -> DeliveryState:
    """A delivery with nothing in flight."""
    n_records = max(producers, transport.buffer_records)
    # no batch is larger than the memory; each counts as full, as in the Java client's pool, and holds a record
    n_batches = min(n_records, max(producers, transport.buffer_bytes // transport.batch_bytes))
    n_links = producers * view.n_brokers
    return DeliveryState(
        batches=_unused_batches(n_batches),
        records=_unused_records(n_records),
        links=Links(in_flight=[0] * n_links, first=[-1] * n_links, last=[-1] * n_links),
        servers=Servers(
            free_s=[0.0] * view.n_brokers,
            bytes_per_s=[1.0] * view.n_brokers,
            request_s=[transport.own_request_s.get(broker, transport.request_s) for broker in view.broker_id.tolist()],
            latency_s=[0.0] * view.n_brokers,
            batches=[0] * view.n_brokers,
            acked_bytes=[0] * view.n_brokers,
        ),
        topic=DeliveryTopic(
            leader=[0] * view.n_partitions,
            first=[0] * (view.n_partitions + 1),
            follower=[0] * max(1, len(view.replica_broker)),
        ),
        agenda=Agenda(at_s=[0.0] * n_batches, batch=[0] * n_batches),
        limits=DeliveryLimits(
            linger_s=[transport.linger_s],
            half_round_trip_s=[transport.round_trip_s / 2],
            batch_bytes=[transport.batch_bytes],
            in_flight=[transport.in_flight],
            acks_all=[int(transport.acks_all)],
        ),
        open_batch=[-1] * (producers * view.n_partitions),
        sent=[0] * view.n_partitions,
        counts=[n_batches, n_records, 0, -1, -1],
        now_s=[0.0],
    )


def _unused_batches(n: int) -> Batches:
    return Batches(
        size_bytes=[0] * n,
        first_record=[-1] * n,
        last_record=[-1] * n,
        opened_s=[0.0] * n,
        sent_s=[0.0] * n,
        place=[0] * n,
        link=[-1] * n,
        earlier=[-1] * n,
        later=[-1] * n,
        behind=[-1] * n,
        spare=list(range(n)),
    )


def _unused_records(n: int) -> Records:
    return Records(following=[-1] * n, at_s=[0.0] * n, offered_s=[0.0] * n, size_bytes=[0] * n, spare=list(range(n)))
