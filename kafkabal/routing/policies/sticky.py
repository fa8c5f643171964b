"""``sticky``: stays with a partition until its batch is closed (KIP-480)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafkabal.config import BATCH_BYTES, LINGER_MS
from kafkabal.routing.broker_first_policy import InFlight, count_in_flight, in_flight_of, move_to_rows
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView

# max.in.flight.requests.per.connection: a connection with this many takes no further batch
_IN_FLIGHT = 5


class StickyState(NamedTuple):
    """Columns of the kernel."""

    available: list[int]
    in_flight: InFlight
    """Counted in bytes."""
    current: list[int]
    """Two items: the current partition, and the room left in its batch in bytes."""
    mean_bytes: list[float]
    """Of each broker's recent batches, 0 before the first."""
    opened_s: list[float]
    """One item: when the current batch was opened."""
    batch_bytes: list[int]
    linger_s: list[float]


@kernel
def pick_kernel(
    state: StickyState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The partition of the key, or the current one until its batch is full or sent."""
    if hashes[0] >= 0:
        partition = hashes[0] % len(state.in_flight.leader)
    else:
        full = state.current[1] < size_bytes
        if full or is_batch_sent(state, now_s):
            finish_batch(state)
            state.current[0] = draw_another(state, uniforms[0])
            state.current[1] = state.batch_bytes[0]
            state.opened_s[0] = now_s
        state.current[1] -= size_bytes
        partition = state.current[0]
    count_in_flight(state.in_flight, partition, size_bytes)
    return partition


@kernel
def is_batch_sent(state: StickyState, now_s: float) -> bool:
    """Whether the batch has lingered and its connection takes it: on a busy connection a batch stays open and grows."""
    if now_s - state.opened_s[0] <= state.linger_s[0]:
        return False
    own = state.batch_bytes[0] - state.current[1]
    broker = state.in_flight.leader[state.current[0]]
    # that many batches of the usual size are in flight
    return state.in_flight.pending[broker] - own < _IN_FLIGHT * max(state.mean_bytes[broker], 1.0)


@kernel
def finish_batch(state: StickyState) -> None:
    """Update the broker's mean batch size with the finished batch."""
    own = state.batch_bytes[0] - state.current[1]
    if state.current[0] >= 0 and own > 0:
        broker = state.in_flight.leader[state.current[0]]
        before = state.mean_bytes[broker]
        state.mean_bytes[broker] = 0.5 * before + 0.5 * own if before > 0.0 else 1.0 * own


@kernel
def draw_another(state: StickyState, uniform: float) -> int:
    """A partition other than the current one, if there is one."""
    n = len(state.available)
    at = -1
    for i in range(n):
        if state.available[i] == state.current[0]:
            at = i
    if at < 0 or n == 1:
        return state.available[int(uniform * n)]
    return state.available[(at + 1 + int(uniform * (n - 1))) % n]


@kernel
def learn(state: StickyState, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """Fewer bytes in flight."""
    count_in_flight(state.in_flight, partition, -size_bytes)


class Sticky(PerRecordPolicy):
    """The partitioner of Kafka 2.4 to 3.2, which gives a slow broker the fuller batches, and so the most records.

    Parameters
    ----------
    batch_size
        Bytes, 1 to 2^31 - 1; ``batch.size``.
    linger_ms
        ``linger.ms``, 0 to 900,000.
    """

    about: ClassVar = About(
        name="sticky",
        meaning="a random partition until its batch is sent; records with a key by hash",
        source="KIP-480",
        inputs=frozenset({Input.KEYS, Input.ACKS}),
        keeps_key_order=True,
        feedback=Feedback.ACKS,
        ranges={"batch-size": BATCH_BYTES, "linger-ms": LINGER_MS},
    )
    pick_kernel = staticmethod(pick_kernel)
    learn = staticmethod(learn)

    def __init__(self, context: Context, *, batch_size: int = 16384, linger_ms: float = 5.0) -> None:
        self.about.expect(batch_size=batch_size, linger_ms=linger_ms)
        super().__init__(context)
        self._batch_bytes = batch_size
        self._linger_s = linger_ms / 1000

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None) or self._start(view)
        available, in_flight = view.available.tolist(), in_flight_of(view, before.in_flight)
        if before.current[0] not in available:
            before.current[1] = 0
        mean_bytes = move_to_rows(before.mean_bytes, before.in_flight, in_flight, [0.0] * view.n_brokers)
        self.state = before._replace(available=available, in_flight=in_flight, mean_bytes=mean_bytes)

    def _start(self, view: RoutingView) -> StickyState:
        return StickyState(
            available=[],
            in_flight=in_flight_of(view),
            current=[-1, 0],
            mean_bytes=[0.0] * view.n_brokers,
            opened_s=[0.0],
            batch_bytes=[self._batch_bytes],
            linger_s=[self._linger_s],
        )
