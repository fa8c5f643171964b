"""Publishes weights of topics, one publisher per topic: a second one stands by and takes over when the first one
ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafkabal.clusters import Cluster, ClusterLock, LockRequest, RecordStore
from kafkabal.errors import BusyError, KafkabalError, NotAuthorizedError
from kafkabal.executor import LockHolder, is_provably_gone
from kafkabal.model import CLEANUP_POLICY, RETENTION_MS, SEGMENT_MS
from kafkabal.producer.compute_partition_weights import WeighedTopic

WEIGHTS_CONFIGS: Final[Mapping[str, str]] = {
    CLEANUP_POLICY: "compact,delete",
    # brokers' time: clients compare it with their own, and the publisher's clock would be a third one
    "message.timestamp.type": "LogAppendTime",
    # a new reader starts at the beginning: it has ten minutes of records to read, and obsolete weights soon disappear
    SEGMENT_MS: "600000",
    RETENTION_MS: "86400000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""Configuration of the weights topic."""
LOCK_PURPOSE: Final = "route"
_SESSION_S: Final = 30.0
"""How long the lock outlives a killed publisher: half as long as clients follow its weights."""


class WeightPublisher:
    """Writes weights to their topic, unless another process publishes for the same topic.

    Parameters
    ----------
    store
        The topic of weights.
    warn
        Called once if the principal may not take locks: two publishers could then overlap, and clients follow the last
        writer.
    """

    def __init__(self, cluster: Cluster, store: RecordStore, warn: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._store = store
        self._warn = warn
        self._owner = str(LockHolder.current(socket.gethostname()))
        self._locks: dict[str, ClusterLock] = {}
        self._may_lock = True

    def publish(self, weighed: Iterable[WeighedTopic]) -> Mapping[str, BusyError]:
        """Write the weights of each topic; returns those that another process publishes, with that process.

        Raises
        ------
        KafkabalError
            If they cannot be written.
        """
        others = {}
        for each in weighed:
            topic = each.record.topic
            try:
                self._hold(topic)
            except BusyError as error:
                others[topic] = error
            else:
                self._store.put(topic, each.record.to_json())
        return others

    def release(self) -> None:
        """Let another publisher take over at once."""
        while self._locks:
            _, lock = self._locks.popitem()
            try:
                lock.release()
            except KafkabalError:
                continue  # its session expires by itself

    def _hold(self, topic: str) -> None:
        lock = self._locks.get(topic)
        if not self._may_lock or (lock is not None and lock.is_held()):
            return
        if lock is not None:
            self._locks.pop(topic).release()
        try:
            self._locks[topic] = self._cluster.lock(
                LockRequest(self._owner, _SESSION_S, f"{LOCK_PURPOSE}-{topic}", is_provably_gone)
            )
        except BusyError as error:
            holder = error.message.removeprefix("cluster locked by ")
            raise BusyError(f"weights of topic {topic} are published by {holder}") from None
        except NotAuthorizedError as error:
            self._may_lock = False
            self._warn(f"cannot keep a second publisher out: {error.message}")
