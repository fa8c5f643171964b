"""The cluster of a case, which changes by itself: sizes, brokers that fail and come back, brokers that join."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from kafkabal.clusters.simulated import FakeClock, InMemoryCluster, SimulatedKafka
from kafkabal.model import BrokerRow, ClusterState, LogDirRow, broker_rows, topic_rows
from kafkabal.watch.simulation.simulated_growth import SimulatedGrowth
from kafkabal.watch.simulation.simulation_case import BrokerFault, FaultKind, JoiningBroker, SimulationCase

USUAL_RESPONSE_S = 0.02
"""Time that a broker in the same data centre takes for a metadata request."""
_SLOWED_BY = 2.5
"""Well above the 20% at which a broker counts as slow, so that noise does not decide."""
_BANDWIDTH_BYTES_PER_S = 100e6
"""A link of 1 Gbit/s, less what clients use."""


class SimulatedScene:
    """A simulated cluster for a case; nothing changes it but the case.

    Parameters
    ----------
    on_change
        Called after every change, with whether it was sudden (a broker) or a step of growth.
    bandwidth_bytes_per_s
        Bandwidth of each broker, for sending and for receiving.
    """

    def __init__(
        self,
        state: ClusterState,
        case: SimulationCase,
        faults: Iterable[BrokerFault],
        on_change: Callable[[bool], None] = lambda _: None,
        *,
        bandwidth_bytes_per_s: float = _BANDWIDTH_BYTES_PER_S,
    ) -> None:
        self.clock = FakeClock()
        self.kafka = SimulatedKafka(
            broker_rows(state),
            topic_rows(state),
            self.clock,
            cluster_id=state.cluster_id,
            bandwidth_bytes_per_s=bandwidth_bytes_per_s,
            disk_bytes_per_s=2 * bandwidth_bytes_per_s,
        )
        for partition in self.kafka.parts.partitions():
            partition.growth_bytes_per_s = 0.0  # the case defines their growth
        for broker in self.kafka.parts.brokers.values():
            broker.response_s = USUAL_RESPONSE_S
        self.cluster = InMemoryCluster(self.kafka)
        self.missing: set[int] = {b.id for b in self.kafka.parts.brokers.values() if not b.registered}
        """Brokers that are dead now."""
        self.slow: set[int] = set()
        self._growth = SimulatedGrowth(self.kafka, case.growth, np.random.default_rng((case.seed, 0)))
        self._case, self._on_change = case, on_change
        self._schedule(faults)

    def response_s(self, broker: int) -> float:
        """Current usual response time of a broker."""
        return USUAL_RESPONSE_S * (_SLOWED_BY if broker in self.slow else 1.0)

    def _schedule(self, faults: Iterable[BrokerFault]) -> None:
        self.clock.at(self._case.step_s, self._step)
        for fault in faults:
            self.clock.at(fault.at_s, partial(self._begin, fault))
            if math.isfinite(fault.for_s):
                self.clock.at(fault.at_s + fault.for_s, partial(self._end, fault))
        for new in self._case.new_brokers:
            self.clock.at(new.at_s, partial(self._join, new))

    def _step(self) -> None:
        self.clock.at(self.clock.monotonic() + self._case.step_s, self._step)
        self._growth.step(self._case.step_s)
        self._on_change(False)

    def _begin(self, fault: BrokerFault) -> None:
        if fault.kind is FaultKind.DEAD:
            self.missing.add(fault.broker)
            self.kafka.kill(fault.broker)
        else:
            self.slow.add(fault.broker)
        self._on_change(True)

    def _end(self, fault: BrokerFault) -> None:
        if fault.kind is FaultKind.DEAD:
            self.missing.discard(fault.broker)
            self.kafka.start(fault.broker)
        else:
            self.slow.discard(fault.broker)
        self._on_change(True)

    def _join(self, new: JoiningBroker) -> None:
        like = self.kafka.parts.brokers[new.like]
        # of an offline one the size is unknown, and so would be the capacity of the new broker
        dirs = [
            LogDirRow(path=d.path, total_bytes=_known(d.total_bytes), usable_bytes=_known(d.total_bytes), volume=d.path)
            for d in like.log_dirs.values()
            if d.online
        ]
        rack = like.rack if new.rack is None else new.rack
        self.kafka.add_broker(BrokerRow(broker=new.broker, rack=rack, host="", port=-1, log_dirs=dirs))
        self.kafka.parts.brokers[new.broker].response_s = USUAL_RESPONSE_S
        self._on_change(True)


def _known(total_bytes: int) -> int | None:
    return total_bytes if total_bytes >= 0 else None
