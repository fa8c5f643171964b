"""``join-idle-queue``: to a random idle broker, or any if none is idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafkabal.routing.broker_first_policy import BrokerFirstPolicy, InFlight, count_in_flight, send_to
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns
from kafkabal.routing.policy_protocol import About, Feedback, Input
from kafkabal.routing.routing_view import RoutingView


class JoinIdleQueueState(NamedTuple):
    """Columns of the kernel."""

    turns: Turns
    in_flight: InFlight


@kernel
def pick_kernel(
    state: JoinIdleQueueState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """A broker drawn from the idle ones, or from all if none is idle."""
    brokers, pending = state.turns.broker, state.in_flight.pending
    idle = 0
    for broker in brokers:
        if pending[broker] == 0:
            idle += 1
    nth = int(uniforms[0] * (idle if idle > 0 else len(brokers)))
    picked = brokers[nth]
    if idle > 0:
        for broker in brokers:
            if pending[broker] == 0:
                if nth == 0:
                    picked = broker
                    break
                nth -= 1
    return send_to(state.turns, state.in_flight, picked)


@kernel
def learn(state: JoinIdleQueueState, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """One record less in flight."""
    count_in_flight(state.in_flight, partition, -1)


class JoinIdleQueue(BrokerFirstPolicy):
    """A broker is idle if none of this producer's records is in flight to it."""

    about: ClassVar = About(
        name="join-idle-queue",
        meaning="a random broker without records in flight; any broker if all have some",
        source="Lu et al., Join-Idle-Queue, Performance Evaluation 2011",
        inputs=frozenset({Input.ACKS}),
        feedback=Feedback.ACKS,
    )
    pick_kernel = staticmethod(pick_kernel)
    learn = staticmethod(learn)

    def start(self, turns: Turns, in_flight: InFlight, view: RoutingView) -> JoinIdleQueueState:
        """See :meth:`BrokerFirstPolicy.start`."""
        return JoinIdleQueueState(turns, in_flight)
