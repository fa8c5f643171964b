"""``adaptive``: sticky partitions drawn the less often the longer their queue (KIP-794 as it comes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafkabal.errors import UsageError
from kafkabal.routing.broker_first import by_broker, latest_leaders
from kafkabal.routing.compiled import kernel
from kafkabal.routing.decision import DecisionPolicy
from kafkabal.routing.policy import About, Context, Feedback, Input

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView


class State(NamedTuple):
    """Columns of the decision."""

    available: list[int]
    leader: list[int]
    pending_bytes: list[int]
    """Of each partition: sent and not acknowledged."""
    owed: list[int]
    """Of each partition: records sent and not acknowledged."""
    waiting: list[int]
    """The same of each broker."""
    moved_s: list[float]
    """When each broker last acknowledged something, or was first given something after it had nothing to do."""
    current: list[int]
    """Two items: the partition that is stuck to, and the room in bytes that its batch has left."""
    batch_bytes: list[int]
    timeout_s: list[float]
    """One item; 0 is none."""


@kernel
def choose(state: Any, size_bytes: Any, hashes: Any, uniforms: Any, now_s: float) -> int:
    """The partition of the key, else the current one until its batch is full."""
    if hashes[0] >= 0:
        partition = hashes[0] % len(state.leader)
    else:
        if state.current[1] <= 0:
            state.current[0] = draw(state, uniforms[0], now_s)
            state.current[1] = state.batch_bytes[0]
        state.current[1] -= size_bytes
        partition = state.current[0]
    broker = state.leader[partition]
    if state.waiting[broker] == 0:
        state.moved_s[broker] = now_s
    state.waiting[broker] += 1
    state.owed[partition] += 1
    state.pending_bytes[partition] += size_bytes
    return partition  # type: ignore[no-any-return]


@kernel
def draw(state: Any, uniform: float, now_s: float) -> int:
    """A partition drawn with weight ``longest queue + 1 - own queue``, in batches; unresponsive brokers left out."""
    longest = 0
    total = 0
    usable = 0
    for partition in state.available:
        if is_responsive(state, partition, now_s):
            queue = state.pending_bytes[partition] // state.batch_bytes[0]
            longest = max(longest, queue)
            total += queue
            usable += 1
    if usable == 0:
        return state.available[int(uniform * len(state.available))]  # type: ignore[no-any-return]
    left = int(uniform * (usable * (longest + 1) - total))
    for partition in state.available:
        if is_responsive(state, partition, now_s):
            left -= longest + 1 - state.pending_bytes[partition] // state.batch_bytes[0]
            if left < 0:
                return partition  # type: ignore[no-any-return]
    return state.available[0]  # type: ignore[no-any-return]


@kernel
def is_responsive(state: Any, partition: int, now_s: float) -> bool:
    """Whether the leader acknowledged something within the timeout, or owes nothing."""
    broker = state.leader[partition]
    if state.timeout_s[0] <= 0.0 or state.waiting[broker] == 0:
        return True
    return now_s - state.moved_s[broker] <= state.timeout_s[0]  # type: ignore[no-any-return]


@kernel
def learn(state: Any, partition: int, size_bytes: Any, latency_s: float, now_s: float) -> None:
    """The queue is shorter."""
    broker = state.leader[partition]
    state.pending_bytes[partition] -= size_bytes
    state.owed[partition] -= 1
    state.waiting[broker] -= 1
    state.moved_s[broker] = now_s


class Adaptive(DecisionPolicy):
    """The Java client's partitioner; its queue of batches is taken as the bytes not yet acknowledged.

    Parameters
    ----------
    batch_size
        Bytes, 1 or more; ``batch.size``.
    availability_timeout_ms
        ``partitioner.availability.timeout.ms``; 0 is none.
    """

    about: ClassVar = About(
        name="adaptive",
        meaning="as uniform-sticky, but a partition is drawn the less the more batches wait for it",
        source="KIP-794, the Java client's default",
        inputs=frozenset({Input.KEYS, Input.ACKS}),
        keeps_key_order=True,
        feedback=Feedback.ACKS,
    )
    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def __init__(self, context: Context, *, batch_size: int = 16384, availability_timeout_ms: float = 0.0) -> None:
        if batch_size < 1 or not availability_timeout_ms >= 0:
            raise UsageError("a batch takes 1 byte or more, and a timeout is 0 ms or more")
        super().__init__(context)
        self._batch_bytes = batch_size
        self._timeout_s = availability_timeout_ms / 1000

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None or (len(before.leader), len(before.waiting)) != (view.n_partitions, view.n_brokers):
            before = self._start(view)
        available, leader = view.available.tolist(), latest_leaders(view, before.leader)
        if before.current[0] not in available:
            before.current[1] = 0
        waiting = by_broker(before.owed, leader, view.n_brokers)
        self.state = before._replace(available=available, leader=leader, waiting=waiting)

    def _start(self, view: RoutingView) -> State:
        return State(
            available=[],
            leader=[0] * view.n_partitions,
            pending_bytes=[0] * view.n_partitions,
            owed=[0] * view.n_partitions,
            waiting=[0] * view.n_brokers,
            moved_s=[0.0] * view.n_brokers,
            current=[0, 0],
            batch_bytes=[self._batch_bytes],
            timeout_s=[self._timeout_s],
        )
