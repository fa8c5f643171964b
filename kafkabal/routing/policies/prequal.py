"""``prequal``: of some brokers drawn at random, the fastest that is not hot, else the one with the least in flight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from kafkabal.config import DRAWS, Range
from kafkabal.routing.broker_first_policy import BrokerFirstPolicy, InFlight, count_in_flight, mean_known_time, send_to
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView

_PAST_WEIGHT = 0.9
"""About the last ten responses count: one slow response condemns no broker, and a slow broker shows within ten."""


class PrequalState(NamedTuple):
    """Columns of the kernel."""

    turns: Turns
    in_flight: InFlight
    response_s: list[float]
    """Moving average of the time to acknowledgement, 0 before the first one."""
    quantile: list[float]
    """One item: a broker is hot if this fraction of all brokers has less in flight."""


@kernel
def pick_kernel(
    state: PrequalState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """Hot-cold lexicographic rule over the drawn brokers; the first of equals."""
    brokers = state.turns.broker
    n = len(brokers)
    best = -1
    best_hot = False
    for i in range(len(uniforms)):
        broker = brokers[int(uniforms[i] * n)]
        if broker == best:
            continue
        hot = _is_hot(state, broker)
        if best < 0 or _is_preferred(state, broker, hot, best, best_hot):
            best, best_hot = broker, hot
    return send_to(state.turns, state.in_flight, best)


@kernel
def _is_hot(state: PrequalState, broker: int) -> bool:
    brokers, pending = state.turns.broker, state.in_flight.pending
    own, most = pending[broker], state.quantile[0] * len(brokers)
    below = 0
    for other in brokers:
        if pending[other] < own:
            below += 1
    return below > most


@kernel
def _is_preferred(state: PrequalState, a: int, a_hot: bool, b: int, b_hot: bool) -> bool:
    if a_hot != b_hot:
        return b_hot
    if a_hot:
        return state.in_flight.pending[a] < state.in_flight.pending[b]
    return _expected_s(state, a) < _expected_s(state, b)


@kernel
def _expected_s(state: PrequalState, broker: int) -> float:
    known_s = state.response_s[broker]
    return known_s if known_s > 0.0 else mean_known_time(state.turns.broker, state.response_s)


@kernel
def learn(state: PrequalState, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """Average the response time; a failure says nothing about it."""
    broker = count_in_flight(state.in_flight, partition, -1)
    if latency_s == latency_s:
        response_s = state.response_s
        memory = _PAST_WEIGHT if response_s[broker] > 0.0 else 0.0
        response_s[broker] = memory * response_s[broker] + (1.0 - memory) * latency_s


class Prequal(BrokerFirstPolicy):
    """Prequal's rule, with the client's own records in flight in place of probes.

    Parameters
    ----------
    probes
        Brokers drawn per record, 1 to 100.
    quantile
        Quantile of records in flight above which a broker is hot; 0 to 1. At 0 only the records in flight count, at 1
        only the latency.
    """

    about: ClassVar = About(
        name="prequal",
        meaning="of sampled brokers, the fastest below the queue limit, else the one with fewest records in flight",
        source="Wydrowski et al., Prequal, NSDI 2024 (arXiv 2312.10172)",
        inputs=frozenset({Input.ACKS}),
        optional_inputs=frozenset({Input.LATENCY}),
        feedback=Feedback.ACKS,
        ranges={"probes": DRAWS, "quantile": Range(0, 1)},
    )
    pick_kernel = staticmethod(pick_kernel)
    learn = staticmethod(learn)
    learnt = ("response_s",)

    def __init__(self, context: Context, *, probes: int = 3, quantile: float = 0.6) -> None:
        self.about.expect(probes=probes, quantile=quantile)
        super().__init__(context)
        self.draws = probes
        self._quantile = quantile

    def start(self, turns: Turns, in_flight: InFlight, view: RoutingView) -> PrequalState:
        """See :meth:`BrokerFirstPolicy.start`."""
        known = np.nan_to_num(view.latency_s).tolist()
        return PrequalState(turns, in_flight, known, [self._quantile])
