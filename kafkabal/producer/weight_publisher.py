"""Publishes weights of topics, one publisher a topic: a second one stands by and takes over when the first one ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafkabal.clusters import Cluster, ClusterLock, RecordStore
from kafkabal.errors import BusyError, KafkabalError, NotAuthorizedError
from kafkabal.executor import LockHolder, is_provably_gone
from kafkabal.model import CLEANUP_POLICY, RETENTION_MS, SEGMENT_MS
from kafkabal.producer.compute_partition_weights import WeighedTopic

WEIGHTS_CONFIGS: Final[Mapping[str, str]] = {
    CLEANUP_POLICY: "compact,delete",
    # the time of the brokers: clients compare it with their own, and a publisher's clock would be a third one
    "message.timestamp.type": "LogAppendTime",
    # who starts reads from the beginning: ten minutes of records, and what is published no longer is soon gone
    SEGMENT_MS: "600000",
    RETENTION_MS: "86400000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""How the topic of weights is created."""
LOCK_PURPOSE: Final = "route"
_SESSION_S: Final = 30.0
"""How long the lock outlives a publisher that was killed: as long as half of the time that its weights are
followed."""


class WeightPublisher:
    """Writes weights to their topic as long as no other process does the same for that topic.

    Parameters
    ----------
    store
        The topic of weights.
    warn
        Called once where a principal may not take locks: two publishers would then overlap, and clients follow
        whichever wrote last.
    """

    def __init__(self, cluster: Cluster, store: RecordStore, warn: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._store = store
        self._warn = warn
        self._owner = str(LockHolder.current(socket.gethostname()))
        self._locks: dict[str, ClusterLock] = {}
        self._may_lock = True

    def publish(self, weighed: Iterable[WeighedTopic]) -> Mapping[str, BusyError]:
        """Write the weights of each topic; those that another process publishes, with who it is.

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
                continue  # its session ends by itself

    def _hold(self, topic: str) -> None:
        lock = self._locks.get(topic)
        if not self._may_lock or (lock is not None and lock.is_held()):
            return
        if lock is not None:
            self._locks.pop(topic).release()
        try:
            self._locks[topic] = self._cluster.lock(
                self._owner, _SESSION_S, f"{LOCK_PURPOSE}-{topic}", is_provably_gone
            )
        except BusyError as error:
            holder = error.message.removeprefix("cluster locked by ")
            raise BusyError(f"weights of topic {topic} are published by {holder}") from None
        except NotAuthorizedError as error:
            self._may_lock = False
            self._warn(f"cannot keep a second publisher out: {error.message}")
