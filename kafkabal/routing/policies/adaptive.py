"""``adaptive``: sticky partitions, drawn less often the longer their queue (KIP-794 with its defaults)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafkabal.config import BATCH_BYTES, LINGER_MS
from kafkabal.routing.broker_first_policy import (
    InFlight,
    count_in_flight,
    fit_to_partitions,
    in_flight_of,
    move_to_rows,
)
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView


class AdaptiveState(NamedTuple):
    """Columns of the kernel."""

    available: list[int]
    in_flight: InFlight
    """Counted in records."""
    pending_bytes: list[int]
    """By partition: sent and not acknowledged."""
    moved_s: list[float]
    """When each broker last acknowledged a record, or last got one after being idle."""
    current: list[int]
    """Two items: the current partition, and the room left in its batch in bytes."""
    batch_bytes: list[int]
    timeout_s: list[float]
    """One item; 0 for no timeout."""


@kernel
def pick_kernel(
    state: AdaptiveState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The partition of the key, or the current one until its batch is full."""
    if hashes[0] >= 0:
        partition = hashes[0] % len(state.in_flight.leader)
    else:
        if state.current[1] <= 0:
            state.current[0] = draw(state, uniforms[0], now_s)
            state.current[1] = state.batch_bytes[0]
        state.current[1] -= size_bytes
        partition = state.current[0]
    broker = count_in_flight(state.in_flight, partition, 1)
    if state.in_flight.pending[broker] == 1:
        state.moved_s[broker] = now_s
    state.pending_bytes[partition] += size_bytes
    return partition


@kernel
def draw(state: AdaptiveState, uniform: float, now_s: float) -> int:
    """Draw a partition with weight ``longest queue + 1 - own queue``, in batches, without unresponsive brokers."""
    available, pending_bytes, batch_bytes = state.available, state.pending_bytes, state.batch_bytes[0]
    # these loops see every partition of the topic: without a timeout they call nothing
    is_timed = state.timeout_s[0] > 0.0
    longest = 0
    total = 0
    usable = 0
    for partition in available:
        if not is_timed or is_responsive(state, partition, now_s):
            queue = pending_bytes[partition] // batch_bytes
            if queue > longest:
                longest = queue
            total += queue
            usable += 1
    if usable == 0:
        return available[int(uniform * len(available))]
    left = int(uniform * (usable * (longest + 1) - total))
    for partition in available:
        if not is_timed or is_responsive(state, partition, now_s):
            left -= longest + 1 - pending_bytes[partition] // batch_bytes
            if left < 0:
                return partition
    return available[0]


@kernel
def is_responsive(state: AdaptiveState, partition: int, now_s: float) -> bool:
    """Whether the leader acknowledged a record within the timeout, or has none in flight."""
    broker = state.in_flight.leader[partition]
    if state.in_flight.pending[broker] == 0:
        return True
    return now_s - state.moved_s[broker] <= state.timeout_s[0]


@kernel
def learn(state: AdaptiveState, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """Shorten the queue."""
    broker = count_in_flight(state.in_flight, partition, -1)
    state.pending_bytes[partition] -= size_bytes
    state.moved_s[broker] = now_s


class Adaptive(PerRecordPolicy):
    """The Java client's partitioner; unacknowledged bytes stand for its queue of batches.

    Parameters
    ----------
    batch_size
        Bytes, 1 to 2^31 - 1; ``batch.size``.
    availability_timeout_ms
        ``partitioner.availability.timeout.ms``, up to 900,000; 0 for none.
    """

    about: ClassVar = About(
        name="adaptive",
        meaning="a random partition for one full batch, less often one with a long queue; records with a key by hash",
        source="KIP-794, the Java client's default",
        inputs=frozenset({Input.KEYS, Input.ACKS}),
        keeps_key_order=True,
        feedback=Feedback.ACKS,
        ranges={"batch-size": BATCH_BYTES, "availability-timeout-ms": LINGER_MS},
    )
    pick_kernel = staticmethod(pick_kernel)
    learn = staticmethod(learn)

    def __init__(self, context: Context, *, batch_size: int = 16384, availability_timeout_ms: float = 0.0) -> None:
        self.about.expect(batch_size=batch_size, availability_timeout_ms=availability_timeout_ms)
        super().__init__(context)
        self._batch_bytes = batch_size
        self._timeout_s = availability_timeout_ms / 1000

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None) or self._start(view)
        available, in_flight = view.available.tolist(), in_flight_of(view, before.in_flight)
        if before.current[0] not in available:
            before.current[1] = 0
        self.state = before._replace(
            available=available,
            in_flight=in_flight,
            pending_bytes=fit_to_partitions(before.pending_bytes, view.n_partitions),
            moved_s=move_to_rows(before.moved_s, before.in_flight, in_flight, [self.context.clock()] * view.n_brokers),
        )

    def _start(self, view: RoutingView) -> AdaptiveState:
        return AdaptiveState(
            available=[],
            in_flight=in_flight_of(view),
            pending_bytes=[0] * view.n_partitions,
            moved_s=[0.0] * view.n_brokers,
            current=[0, 0],
            batch_bytes=[self._batch_bytes],
            timeout_s=[self._timeout_s],
        )
