"""A simulated cluster that several clients can share, and all that a test can do to it from outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kafkabal.clusters.simulated import controller, replication
from kafkabal.clusters.simulated.cluster_parts import (
    ClusterParts,
    SimulatedBroker,
    SimulatedLog,
    SimulatedLogDir,
    SimulatedPartition,
    SimulatedTopic,
)
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.model import BrokerRow, PartitionRow, TopicPartition, TopicRow

BROKER_SESSION_S = 9.0
"""How long a broker may send no heartbeat before the controller fences it: Kafka's default of
``broker.session.timeout.ms``."""


class SimulatedKafka:
    """Brokers, topics and a controller on a fake clock; only calls and time change anything.

    Parameters
    ----------
    brokers, topics
        The initial cluster, as snapshot rows; a missing size counts as the largest of the partition.
    bandwidth_bytes_per_s
        How much each broker can send, and can receive.
    disk_bytes_per_s
        How much each broker can copy between its log dirs.
    """

    def __init__(
        self,
        brokers: Iterable[BrokerRow],
        topics: Iterable[TopicRow],
        clock: FakeClock,
        *,
        cluster_id: str = "simulated",
        bandwidth_bytes_per_s: float = 100e6,
        disk_bytes_per_s: float = 200e6,
    ) -> None:
        self.clock = clock
        self._topics_created = 0
        self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
        self.disk_bytes_per_s = disk_bytes_per_s
        by_id = {row.broker: _broker(row) for row in brokers}
        self.parts = ClusterParts(cluster_id=cluster_id, brokers=by_id, topics={})
        for row in sorted(topics, key=lambda t: t.topic):
            self.add_topic(row)
        _leave_room_as_reported(self.parts)
        self._advanced_to_s = clock.monotonic()

    def catch_up(self) -> ClusterParts:
        """Simulate everything up to the current time, and return the parts."""
        now = self.clock.monotonic()
        for broker in self.parts.brokers.values():
            if broker.registered and broker.hung_since_s is not None and now - broker.hung_since_s >= BROKER_SESSION_S:
                self._advance_to(broker.hung_since_s + BROKER_SESSION_S)
                broker.registered = False
                controller.broker_lost(self.parts, broker)
        self._advance_to(now)
        return self.parts

    def _advance_to(self, now: float) -> None:
        seconds, self._advanced_to_s = now - self._advanced_to_s, max(now, self._advanced_to_s)
        if seconds > 0:
            replication.advance(self.parts, seconds, self.bandwidth_bytes_per_s, self.disk_bytes_per_s)

    def kill(self, broker_id: int) -> None:
        """Kill a broker; the controller notices at once."""
        broker = self.catch_up().brokers[broker_id]
        broker.registered = False
        broker.preferred_log_dirs.clear()
        controller.broker_lost(self.parts, broker)

    def pause(self, broker_id: int) -> None:
        """Make a broker hang: it stays registered until its session expires."""
        self.catch_up().brokers[broker_id].hung_since_s = self.clock.monotonic()

    def start(self, broker_id: int) -> None:
        """Bring a dead or hanging broker back; it is in sync again at once."""
        broker = self.catch_up().brokers[broker_id]
        broker.registered, broker.hung_since_s = True, None
        controller.broker_back(self.parts, broker)

    def add_broker(self, row: BrokerRow) -> None:
        """Add an empty broker."""
        self.catch_up().brokers[row.broker] = _broker(row)

    def fail_log_dir(self, broker_id: int, path: str) -> None:
        """Take a disk offline: its replicas leave the ISR and are no longer reported, and copies to it are lost."""
        parts = self.catch_up()
        broker = parts.brokers[broker_id]
        broker.log_dirs[path].online = False
        for partition in parts.partitions():
            log = partition.logs.get(broker_id)
            if log is not None and log.future_log_dir == path:
                log.future_log_dir, log.future_bytes = None, 0.0
                parts.copying.pop((partition.name, broker_id), None)
            if log is not None and log.log_dir == path:
                if broker_id in partition.isr and len(partition.isr) > 1:
                    partition.isr.remove(broker_id)
                if partition.leader == broker_id:
                    partition.leader = next((b for b in partition.isr if b != broker_id), -1)

    def add_topic(self, row: TopicRow) -> None:
        """Create a topic from a row."""
        partitions = {p.partition: _partition(self.parts, row.topic, p) for p in row.partitions}
        self._topics_created += 1
        topic_id = row.topic_id or f"topic-{self._topics_created}"
        self.parts.topics[row.topic] = SimulatedTopic(
            row.topic, partitions, dict(row.configs or {}), row.internal, topic_id
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic, even with moves in flight."""
        parts = self.catch_up()
        topic = parts.topics.pop(name)
        for partition in topic.partitions.values():
            parts.moving.pop(partition.name, None)
            for broker in partition.logs:
                parts.copying.pop((partition.name, broker), None)

    def used_bytes(self) -> dict[tuple[int, str], int]:
        """Bytes on the volume of each log dir, by broker and path, including those of other programs."""
        logs = _bytes_of_logs(self.parts)
        return {
            (broker.id, path): round(logs[broker.id, path]) + log_dir.other_bytes
            for broker in self.parts.brokers.values()
            for path, log_dir in broker.log_dirs.items()
        }


def _broker(row: BrokerRow) -> SimulatedBroker:
    dirs = {
        d.path: SimulatedLogDir(
            d.path,
            total_bytes=-1 if d.total_bytes is None else d.total_bytes,
            other_bytes=0 if d.total_bytes is None or d.usable_bytes is None else d.total_bytes - d.usable_bytes,
            online=d.state != "offline",
            cordoned=d.state == "cordoned",
        )
        for d in row.log_dirs
    } or {"/data": SimulatedLogDir("/data", -1)}
    return SimulatedBroker(row.broker, row.rack, dirs, row.host, row.port, registered=row.state == "online")


def _leave_room_as_reported(parts: ClusterParts) -> None:
    """Attribute what each volume holds beyond its logs to other programs."""
    logs = _bytes_of_logs(parts)
    for broker in parts.brokers.values():
        for path, log_dir in broker.log_dirs.items():
            log_dir.other_bytes = max(0, log_dir.other_bytes - round(logs[broker.id, path]))


def _bytes_of_logs(parts: ClusterParts) -> Mapping[tuple[int, str], float]:
    """Bytes of replicas and of copies in flight, by broker and path."""
    found = defaultdict[tuple[int, str], float](float)
    for partition in parts.partitions():
        for broker, log in partition.logs.items():
            found[broker, log.log_dir] += log.copied_bytes
            if log.future_log_dir is not None:
                found[broker, log.future_log_dir] += log.future_bytes
    return found


def _partition(parts: ClusterParts, topic: str, row: PartitionRow) -> SimulatedPartition:
    sizes = [s for s in row.sizes or () if s is not None]
    name = TopicPartition(topic, row.partition)
    partition = SimulatedPartition(
        name=name,
        replicas=list(row.replicas),
        leader=row.leader,
        isr=list(row.replicas if row.isr is None else row.isr),
        size_bytes=float(max(sizes, default=0)),
        logs={},
        adding=list(row.adding),
        removing=list(row.removing),
        growth_bytes_per_s=row.in_bytes_per_s or 0.0,
        start_offset=row.start_offset,
        end_offset=row.end_offset,
        remote_bytes=row.remote_bytes,
    )
    for i, broker_id in enumerate(row.replicas):
        broker = parts.brokers[broker_id]
        paths = list(broker.log_dirs)
        index = row.log_dirs[i] if row.log_dirs else None
        wished = broker.preferred_log_dirs.pop(name, None)
        path = (wished or paths[0]) if index is None else paths[index]
        size = row.sizes[i] if row.sizes else None
        partition.logs[broker_id] = SimulatedLog(path, float(partition.size_bytes if size is None else size))
    if partition.is_moving:
        parts.moving[name] = partition
    return partition
