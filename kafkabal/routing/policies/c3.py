"""``c3``: the broker expected to respond soonest; long queues are penalised by their cube."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from kafkabal.config import Range
from kafkabal.routing.broker_first_policy import BrokerFirstPolicy, InFlight, count_in_flight, mean_known_time, send_to
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView

# weight of the past in the moving averages, as in the authors' simulator
_PAST_WEIGHT = 0.9


class C3State(NamedTuple):
    """Columns of the kernel."""

    turns: Turns
    in_flight: InFlight
    response_s: list[float]
    """Moving average of the time to acknowledgement, 0 before the first one."""
    service_s: list[float]
    """Moving average of that time per waiting record: the client's best estimate, as brokers do not report it."""
    clients: list[int]
    """One item."""


@kernel
def pick_kernel(state: C3State, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float) -> int:
    """Least ``R - s + (1 + pending x clients)^3 x s``; of equals the first one, from a random start.

    A broker that has not responded yet counts as average; if none has, only what is pending counts.
    """
    turns, in_flight, response_s, service_s, clients = state
    brokers, pending, each = turns.broker, in_flight.pending, clients[0]
    usual_response, usual_service = mean_known_time(brokers, response_s), mean_known_time(brokers, service_s)
    n = len(brokers)
    at = int(uniforms[0] * n)
    best = -1
    least = 0.0
    for _ in range(n):
        broker = brokers[at]
        queue = 1.0 + pending[broker] * each
        known = response_s[broker] > 0.0
        response = response_s[broker] if known else usual_response
        service = service_s[broker] if known else usual_service
        score = response - service + queue * queue * queue * service
        if best < 0 or score < least:
            best, least = broker, score
        at = at + 1 if at + 1 < n else 0
    return send_to(turns, in_flight, best)


@kernel
def learn(state: C3State, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """Average the response time; a failure says nothing about it."""
    broker = count_in_flight(state.in_flight, partition, -1)
    waiting = state.in_flight.pending[broker] + 1
    if latency_s == latency_s:
        memory = _PAST_WEIGHT if state.response_s[broker] > 0.0 else 0.0
        state.response_s[broker] = memory * state.response_s[broker] + (1.0 - memory) * latency_s
        state.service_s[broker] = memory * state.service_s[broker] + (1.0 - memory) * latency_s / waiting


class C3(BrokerFirstPolicy):
    """Cubic replica selection; Kafka's brokers report no queue length, so the client's own records stand in for it.

    Parameters
    ----------
    clients
        Number of producers that write to the topic, 1 to 100,000.
    """

    about: ClassVar = About(
        name="c3",
        meaning="the broker with the lowest expected response time, with queue length cubed",
        source="Suresh et al., C3, NSDI 2015",
        inputs=frozenset({Input.ACKS}),
        optional_inputs=frozenset({Input.LATENCY}),
        feedback=Feedback.ACKS,
        ranges={"clients": Range(1, 100_000)},
    )
    pick_kernel = staticmethod(pick_kernel)
    learn = staticmethod(learn)
    learnt = ("response_s", "service_s")

    def __init__(self, context: Context, *, clients: int = 1) -> None:
        self.about.expect(clients=clients)
        super().__init__(context)
        self._clients = clients

    def start(self, turns: Turns, in_flight: InFlight, view: RoutingView) -> C3State:
        """See :meth:`BrokerFirstPolicy.start`."""
        known = np.nan_to_num(view.latency_s).tolist()
        return C3State(turns, in_flight, known, list(known), [self._clients])
