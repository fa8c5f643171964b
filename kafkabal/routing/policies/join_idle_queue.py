"""``join-idle-queue``: to a broker that has nothing left to do, else to any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafkabal.routing.broker_first import BrokerFirst, send_to, settle
from kafkabal.routing.compiled import kernel
from kafkabal.routing.policy import About, Feedback, Input

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView


class State(NamedTuple):
    """Columns of the decision."""

    broker: list[int]
    first: list[int]
    partition: list[int]
    turn: list[int]
    leader: list[int]
    owed: list[int]
    pending: list[int]


@kernel
def choose(state: Any, size_bytes: Any, hashes: Any, uniforms: Any, now_s: Any) -> int:
    """A broker drawn from the idle ones, from all where none is."""
    idle = 0
    for broker in state.broker:
        idle += state.pending[broker] == 0
    nth = int(uniforms[0] * (idle if idle > 0 else len(state.broker)))
    chosen = state.broker[nth]
    if idle > 0:
        for broker in state.broker:
            if state.pending[broker] == 0:
                if nth == 0:
                    chosen = broker
                    break
                nth -= 1
    partition: int = send_to(state, chosen)
    return partition


@kernel
def learn(state: Any, partition: int, size_bytes: Any, latency_s: float, now_s: float) -> None:
    """One record less to wait for."""
    settle(state, partition)


class JoinIdleQueue(BrokerFirst):
    """Idle is a broker that owes this producer no acknowledgement."""

    about: ClassVar = About(
        name="join-idle-queue",
        meaning="a broker that owes no acknowledgement, at random; any broker where all owe one",
        source="Lu et al., Join-Idle-Queue, Performance Evaluation 2011",
        inputs=frozenset({Input.ACKS}),
        feedback=Feedback.ACKS,
    )
    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def start(self, view: RoutingView) -> State:
        """See :meth:`BrokerFirst.start`."""
        return State([], [], [], [0] * view.n_brokers, [0] * view.n_partitions, [0] * view.n_partitions, [])
