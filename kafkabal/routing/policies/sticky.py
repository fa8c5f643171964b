"""``sticky``: stay with a partition until its batch is closed (KIP-480)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafkabal.errors import UsageError
from kafkabal.routing.broker_first import by_broker, latest_leaders
from kafkabal.routing.compiled import kernel
from kafkabal.routing.decision import DecisionPolicy
from kafkabal.routing.policy import About, Context, Feedback, Input

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView

# max.in.flight.requests.per.connection: a connection that has so many takes no further batch
_IN_FLIGHT = 5


class State(NamedTuple):
    """Columns of the decision."""

    available: list[int]
    leader: list[int]
    owed_bytes: list[int]
    """Of each partition: sent and not acknowledged."""
    pending_bytes: list[int]
    """The same of each broker."""
    current: list[int]
    """Two items: the partition that is stuck to, and the room in bytes that its batch has left."""
    opened_s: list[float]
    """One item: when that batch was opened."""
    batch_bytes: list[int]
    linger_s: list[float]


@kernel
def choose(state: Any, size_bytes: Any, hashes: Any, uniforms: Any, now_s: float) -> int:
    """The partition of the key, else the current one until its batch is full or was sent."""
    if hashes[0] >= 0:
        partition = hashes[0] % len(state.leader)
    else:
        full = state.current[1] < size_bytes
        if full or was_sent(state, now_s):
            state.current[0] = another(state, uniforms[0])
            state.current[1] = state.batch_bytes[0]
            state.opened_s[0] = now_s
        state.current[1] -= size_bytes
        partition = state.current[0]
    state.owed_bytes[partition] += size_bytes
    state.pending_bytes[state.leader[partition]] += size_bytes
    return partition  # type: ignore[no-any-return]


@kernel
def was_sent(state: Any, now_s: float) -> bool:
    """The batch lingered long enough and its connection took it: a busy one leaves it open to grow."""
    if now_s - state.opened_s[0] <= state.linger_s[0]:
        return False
    own = state.batch_bytes[0] - state.current[1]
    waiting = state.pending_bytes[state.leader[state.current[0]]] - own
    return waiting < _IN_FLIGHT * state.batch_bytes[0]  # type: ignore[no-any-return]


@kernel
def another(state: Any, uniform: float) -> int:
    """A partition other than the current one, where there is another."""
    n = len(state.available)
    at = -1
    for i in range(n):
        if state.available[i] == state.current[0]:
            at = i
    if at < 0 or n == 1:
        return state.available[int(uniform * n)]  # type: ignore[no-any-return]
    return state.available[(at + 1 + int(uniform * (n - 1))) % n]  # type: ignore[no-any-return]


@kernel
def learn(state: Any, partition: int, size_bytes: Any, latency_s: float, now_s: float) -> None:
    """Less to wait for."""
    state.owed_bytes[partition] -= size_bytes
    state.pending_bytes[state.leader[partition]] -= size_bytes


class Sticky(DecisionPolicy):
    """The partitioner of Kafka 2.4 to 3.2, which gives a slow broker the fuller batches, and so the most records.

    Parameters
    ----------
    batch_size
        Bytes, 1 or more; ``batch.size``.
    linger_ms
        ``linger.ms``, 0 or more.
    """

    about: ClassVar = About(
        name="sticky",
        meaning="one random partition after the other, each until its batch is sent; a key by its hash",
        source="KIP-480",
        inputs=frozenset({Input.KEYS, Input.ACKS}),
        keeps_key_order=True,
        feedback=Feedback.ACKS,
    )
    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def __init__(self, context: Context, *, batch_size: int = 16384, linger_ms: float = 5.0) -> None:
        if batch_size < 1 or not linger_ms >= 0:
            raise UsageError("a batch takes 1 byte or more, and a linger time is 0 ms or more")
        super().__init__(context)
        self._batch_bytes = batch_size
        self._linger_s = linger_ms / 1000

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None or (len(before.leader), len(before.pending_bytes)) != (view.n_partitions, view.n_brokers):
            before = self._start(view)
        available, leader = view.available.tolist(), latest_leaders(view, before.leader)
        if before.current[0] not in available:
            before.current[1] = 0
        pending = by_broker(before.owed_bytes, leader, view.n_brokers)
        self.state = before._replace(available=available, leader=leader, pending_bytes=pending)

    def _start(self, view: RoutingView) -> State:
        return State(
            available=[],
            leader=[0] * view.n_partitions,
            owed_bytes=[0] * view.n_partitions,
            pending_bytes=[0] * view.n_brokers,
            current=[-1, 0],
            opened_s=[0.0],
            batch_bytes=[self._batch_bytes],
            linger_s=[self._linger_s],
        )
