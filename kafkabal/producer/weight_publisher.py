"""Publishes weights of topics, one publisher per topic: a second one stands by and takes over when the first one
ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Condition
from typing import Final

from kafkabal.clusters import (
    Clock,
    Cluster,
    ClusterLock,
    ConfigResource,
    Deadline,
    LockRequest,
    RecordStore,
    ResourceKind,
    SystemClock,
    run_all,
)
from kafkabal.errors import BusyError, KafkabalError, NotAuthorizedError
from kafkabal.executor import LockHolder, is_provably_gone
from kafkabal.model import CLEANUP_POLICY, RETENTION_MS, SEGMENT_MS
from kafkabal.producer.compute_partition_weights import WeighedTopic
from kafkabal.routing import WEIGHTS_TOPIC
from kafkabal.wording import first_of

_TIMESTAMP_TYPE: Final = "message.timestamp.type"
WEIGHTS_CONFIGS: Final[Mapping[str, str]] = {
    CLEANUP_POLICY: "compact,delete",
    # brokers' time: clients compare it with their own, and the publisher's clock would be a third one
    _TIMESTAMP_TYPE: "LogAppendTime",
    # a new reader starts at the beginning: it has ten minutes of records to read, and obsolete weights soon disappear
    SEGMENT_MS: "600000",
    RETENTION_MS: "86400000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""Configuration of the weights topic."""
_NEEDED_CONFIGS: Final[Mapping[str, tuple[str, str]]] = {
    CLEANUP_POLICY: ("compact", "a producer that starts reads all weights that are kept"),
    _TIMESTAMP_TYPE: ("LogAppendTime", "a producer that starts ignores weights until they are published again"),
}
"""What those values must contain if another program has created the topic, and what happens otherwise."""
LOCK_PURPOSE: Final = "route"
_SESSION_S: Final = 30.0
"""How long the lock outlives a killed publisher: half as long as clients follow its weights."""
# locks give up by themselves, much earlier: one that is taken after we gave it up would keep this process out
_LONGEST_LOCK_S: Final = 3600.0
# how long the end of the command waits for brokers that do not respond, and for locks that are being taken: Kafka lets
# each wait for three seconds by default
_RELEASE_S: Final = 5.0
# each attempt connects once more for every topic
_SECONDS_BETWEEN_ATTEMPTS_WITHOUT_PERMISSION: Final = 60.0
_CLOCK: Final = SystemClock()


class WeightPublisher:
    """Writes weights to their topic, unless another process publishes for the same topic.

    Parameters
    ----------
    store
        The topic of weights.
    warn
        Called once if the principal may not take locks: two publishers could then overlap, and clients follow the last
        writer. Also called when it may take them again, by :meth:`release`, and by :meth:`check_topic`.
    """

    def __init__(
        self, cluster: Cluster, store: RecordStore, warn: Callable[[str], None], clock: Clock = _CLOCK
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._warn = warn
        self._clock = clock
        self._owner = str(LockHolder.current(socket.gethostname()))
        self._locks: dict[str, ClusterLock] = {}
        self._being_taken: set[str] = set()
        """Topics whose locks are being taken, each in a thread."""
        self._changed = Condition()
        """Guards locks, and topics whose locks are being taken."""
        self._is_released = False
        self._unlocked: set[str] = set()
        """Topics that are published without a lock, for lack of permission."""
        self._next_attempt_s = 0.0

    def check_topic(self) -> None:
        """Warn of configs that harm clients, which a topic has that another program created.

        Raises
        ------
        KafkabalError
            If no broker responds.
        """
        topic = ConfigResource(ResourceKind.TOPIC, WEIGHTS_TOPIC)
        configs = self._cluster.configs([topic], list(_NEEDED_CONFIGS))[0].get(topic, {})
        for key, (needed, effect) in _NEEDED_CONFIGS.items():
            value = configs[key].value if key in configs else None
            if value is not None and needed not in value:
                self._warn(f"{topic}: {key} is {value}, so {effect}; set it to {WEIGHTS_CONFIGS[key]}")

    def publish(self, weighed: Iterable[WeighedTopic]) -> Mapping[str, KafkabalError]:
        """Write the weights of each topic; returns the errors of those whose lock could not be taken: a BusyError if
        another process publishes them.

        Raises
        ------
        KafkabalError
            If the topic of weights cannot be written.
        """
        records = {each.record.topic: each.record.to_json() for each in weighed}
        # before locks are taken, which takes seconds and, while a coordinator is down, half a minute
        held = [topic for topic in records if topic in self._unlocked or self._is_held(topic)]
        self._put(records, held)
        faults = self._lock([topic for topic in records if not self._is_held(topic) and self._may_try(topic)])
        self._put(records, (topic for topic in records if topic not in held and topic not in faults))
        return faults

    def release(self) -> None:
        """Let another publisher take over at once, if the cluster responds; otherwise sessions expire by themselves.

        Also releases the locks that are being taken, once they are taken, and warns of those that are not in time.
        """
        deadline = Deadline(_RELEASE_S, _CLOCK)
        with self._changed:
            self._is_released = True
            locks, self._locks = self._locks, {}
        run_all({topic: lock.release for topic, lock in locks.items()}, deadline)
        with self._changed:
            self._changed.wait_for(lambda: not self._being_taken, deadline.remaining_s)
            late = sorted(self._being_taken)
        if late:
            self._warn(
                f"another publisher may have to wait {_SESSION_S:g} s for locks that were still being taken: "
                f"{first_of(late)}"
            )

    def _put(self, records: Mapping[str, bytes], topics: Iterable[str]) -> None:
        for topic in topics:
            self._store.put(topic, records[topic])

    def _is_held(self, topic: str) -> bool:
        return topic in self._locks and self._locks[topic].is_held()

    def _may_try(self, topic: str) -> bool:
        return topic not in self._unlocked or self._clock.monotonic() >= self._next_attempt_s

    def _lock(self, topics: Sequence[str]) -> Mapping[str, KafkabalError]:
        """Take the locks of topics, all at once: by default Kafka lets each wait for three seconds."""
        with self._changed:
            lost = {topic: self._locks.pop(topic) for topic in topics if topic in self._locks}
            self._being_taken = set(topics)
        faults: dict[str, KafkabalError] = {}
        tasks = {topic: partial(self._take_lock, topic, lost.get(topic)) for topic in topics}
        for topic, outcome in run_all(tasks, Deadline(_LONGEST_LOCK_S, _CLOCK)).items():
            if isinstance(outcome, NotAuthorizedError):
                self._go_without_lock(topic, outcome)
            elif outcome is None:
                self._go_with_lock(topic)
            elif isinstance(outcome, BusyError) or topic not in self._unlocked:
                self._unlocked.discard(topic)
                faults[topic] = outcome
        return faults

    def _take_lock(self, topic: str, lost: ClusterLock | None) -> None:
        """Take the lock of a topic; the command may end meanwhile, and this thread must then release it."""
        late: ClusterLock | None = None
        try:
            if lost is not None:
                lost.release()
            lock = self._lock_of(topic)
            with self._changed:
                if self._is_released:
                    late = lock
                else:
                    self._locks[topic] = lock
            if late is not None:
                late.release()
        finally:
            with self._changed:
                self._being_taken.discard(topic)
                self._changed.notify_all()

    def _lock_of(self, topic: str) -> ClusterLock:
        try:
            return self._cluster.lock(LockRequest(self._owner, _SESSION_S, f"{LOCK_PURPOSE}-{topic}", is_provably_gone))
        except BusyError as error:
            holder = error.message.removeprefix("cluster locked by ")
            raise BusyError(f"weights of topic {topic} are published by {holder}") from None

    def _go_without_lock(self, topic: str, error: NotAuthorizedError) -> None:
        self._next_attempt_s = self._clock.monotonic() + _SECONDS_BETWEEN_ATTEMPTS_WITHOUT_PERMISSION
        if not self._unlocked:
            self._warn(f"cannot keep a second publisher out: {error.in_one_line}")
        self._unlocked.add(topic)

    def _go_with_lock(self, topic: str) -> None:
        if topic in self._unlocked:
            self._unlocked.discard(topic)
            if not self._unlocked:
                self._warn("locks can be taken again: a second publisher is kept out")
