"""The lock of a simulated cluster: one session per purpose, kept alive by heartbeats of a running client."""

from __future__ import annotations

from kafkabal.clusters.lock_request import LockRequest
from kafkabal.clusters.simulated.cluster_parts import LockClient, SimulatedLock
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.errors import BusyError


def take(kafka: SimulatedKafka, client: LockClient, request: LockRequest) -> MemoryLock:
    """Acquire the lock of a purpose, unless a holder with a live session has it.

    Raises
    ------
    BusyError
        If it is held; the message names the holder.
    """
    locks, now = kafka.parts.locks, kafka.clock.monotonic()
    holder = locks.get(request.purpose)
    _beat(holder, now)
    if holder is not None and now - holder.heartbeat_s < holder.session_s and not request.is_gone(holder.owner):
        raise BusyError(f"cluster locked by {holder.owner}")
    held = SimulatedLock(request.owner, client, now, request.session_s, request.purpose)
    locks[request.purpose] = held
    return MemoryLock(kafka, held)


def holders(kafka: SimulatedKafka) -> tuple[str, ...]:
    """The holder of the cluster's lock, if its session is alive."""
    holder, now = kafka.parts.locks.get(""), kafka.clock.monotonic()
    _beat(holder, now)
    return (holder.owner,) if holder is not None and now - holder.heartbeat_s < holder.session_s else ()


def beat_all(kafka: SimulatedKafka) -> None:
    """Record the heartbeats of all running holders."""
    for lock in kafka.parts.locks.values():
        _beat(lock, kafka.clock.monotonic())


def drop_expired(kafka: SimulatedKafka, client: LockClient) -> None:
    """Drop the locks of a client whose sessions have expired."""
    locks, now = kafka.parts.locks, kafka.clock.monotonic()
    for lock in list(locks.values()):
        if lock.client is client and now - lock.heartbeat_s >= lock.session_s:
            del locks[lock.purpose]


class MemoryLock:
    """The lock of a simulated cluster; heartbeats are automatic unless its client is stopped."""

    def __init__(self, kafka: SimulatedKafka, lock: SimulatedLock) -> None:
        self._kafka = kafka
        self._lock = lock

    @property
    def scope(self) -> str:
        """All clients of the same simulated cluster."""
        return "simulated cluster"

    def seconds_since_heartbeat(self) -> float:
        """Time since the last heartbeat; 0 while the client runs."""
        now = self._kafka.clock.monotonic()
        if self._is_ours():
            _beat(self._lock, now)
        return now - self._lock.heartbeat_s

    def is_held(self) -> bool:
        """False once its session has expired."""
        return self.seconds_since_heartbeat() < self._lock.session_s and self._is_ours()

    def release(self) -> None:
        """Release it."""
        if self._is_ours():
            del self._kafka.parts.locks[self._lock.purpose]

    def _is_ours(self) -> bool:
        return self._kafka.parts.locks.get(self._lock.purpose) is self._lock


def _beat(lock: SimulatedLock | None, now: float) -> None:
    """Record the heartbeats that a running holder has sent until now."""
    if lock is not None and not lock.client.is_stopped:
        lock.heartbeat_s = now
