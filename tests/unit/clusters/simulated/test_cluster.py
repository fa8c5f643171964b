"""The in-memory cluster behaves like Kafka where other tests rely on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import Capability, NewTopic, ReadRequest, Reassignment, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.clusters.simulated import replication
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.cluster_parts import ClusterParts, SimulatedPartition
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import CallOutcome, FaultyCluster
from kafkabal.errors import BusyError, MissingCapabilityError, NoResponseError, RefusedByClusterError
from kafkabal.model.state_to_rows import broker_rows, topic_rows
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic

T0 = TopicPartition("t", 0)
LEADER_RATE, LEADER_LIST = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"


@pytest.fixture
def memory() -> InMemoryCluster:
    """Four brokers with two dirs, 1 GB per replica, 100 MB/s per broker."""
    return InMemoryCluster.of(cluster(brokers(4, racks=2, dirs=2), [topic("t", [1, 2, 3], [2, 3, 1])]))


def test_reads_back_the_state_it_was_made_of() -> None:
    """A state put in is returned as the same rows."""
    state = cluster(brokers(3, racks=2, dirs=2), [topic("t", [1, 2, 3], [2, 3, 1])])
    found = InMemoryCluster.of(state).read(ReadRequest()).state
    # it gives each topic an id, as a cluster does
    assert [replace(row, topic_id="") for row in topic_rows(found)] == list(topic_rows(state))
    assert [b.rack for b in broker_rows(found)] == [b.rack for b in broker_rows(state)]
    assert [d.usable_bytes for d in next(iter(broker_rows(found))).log_dirs] == [998 * GB, 1000 * GB]


def test_reassignment_goes_through_the_stages_of_kip_455(memory: InMemoryCluster) -> None:
    """The list is target and removed while in flight; the leader stays until it is removed; then the first leads."""
    assert memory.alter_reassignments({T0: (4, 2, 3)}) == {}
    assert memory.reassignments() == {T0: Reassignment(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))}
    memory.kafka.clock.sleep(5.0)
    assert memory.partition_status(["t"])[T0].leader == 1
    assert memory.replica_logs([4], [T0])[0][ReplicaOn("t", 0, 4)].size_bytes == GB // 2
    memory.kafka.clock.sleep(5.1)
    assert memory.reassignments() == {}
    status = memory.partition_status(["t"])[T0]
    assert (status.replicas, status.leader, set(status.isr)) == ((4, 2, 3), 4, {2, 3, 4})


def test_cancel_restores_the_replicas_in_another_order(memory: InMemoryCluster) -> None:
    """A cancelled reassignment leaves the original set, in the order of the list in flight."""
    memory.alter_reassignments({T0: (4, 2, 3)})
    memory.kafka.clock.sleep(1.0)
    assert memory.alter_reassignments({T0: None}) == {}
    assert memory.partition_status(["t"])[T0].replicas == (2, 3, 1)
    assert memory.replica_logs([4], [T0])[0] == {}
    assert memory.alter_reassignments({T0: None})[T0].name == "NO_REASSIGNMENT_IN_PROGRESS"


def test_reordering_takes_effect_at_once_and_elects_no_leader(memory: InMemoryCluster) -> None:
    """Reordering needs no copy and moves no leadership; an election moves it."""
    memory.alter_reassignments({T0: (3, 1, 2)})
    assert memory.reassignments() == {}
    assert memory.partition_status(["t"])[T0].leader == 1
    assert memory.elect_preferred_leaders([T0]) == {}
    assert memory.partition_status(["t"])[T0].leader == 3


@pytest.mark.parametrize(
    ("target", "name"),
    [((1, 1, 2), "INVALID_REPLICA_ASSIGNMENT"), ((9, 2, 3), "INVALID_REPLICA_ASSIGNMENT"), ((), None), ((1, 2), None)],
)
def test_refused_reassignments(memory: InMemoryCluster, target: tuple[int, ...], name: str | None) -> None:
    """Errors have Kafka's names; another replication factor must be allowed."""
    faults = memory.alter_reassignments({T0: target, TopicPartition("x", 0): (1,)})
    assert faults[T0].name == (name or ("INVALID_REPLICATION_FACTOR" if target else "INVALID_REPLICA_ASSIGNMENT"))
    assert faults[TopicPartition("x", 0)].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert memory.alter_reassignments({T0: (1, 2)}, allow_replication_factor_change=True) == {}


@pytest.mark.parametrize(("entries", "expected_bytes"), [("0:1", 100_000_000), ("*", 100_000_000), ("1:1", GB)])
def test_leader_throttle_limits_only_listed_replicas(
    memory: InMemoryCluster, entries: str, expected_bytes: int
) -> None:
    """A rate limits the listed replicas, and no others (KIP-73)."""
    memory.alter_configs(
        [
            ConfigChange(ConfigResource(ResourceKind.BROKER, "1"), LEADER_RATE, "10000000"),
            ConfigChange(ConfigResource(ResourceKind.TOPIC, "t"), LEADER_LIST, entries),
        ]
    )
    memory.alter_reassignments({T0: (4, 2, 3)})
    memory.kafka.clock.sleep(10.0)
    assert memory.replica_logs([4], [T0])[0][ReplicaOn("t", 0, 4)].size_bytes == expected_bytes


def test_growing_partition_outruns_a_low_rate(memory: InMemoryCluster) -> None:
    """A copy slower than the writes never catches up."""
    part = memory.kafka.parts.partition(T0)
    assert part is not None
    part.growth_bytes_per_s = 200e6
    memory.alter_reassignments({T0: (4, 2, 3)})
    memory.kafka.clock.sleep(1000.0)
    assert T0 in memory.reassignments()


def test_config_sources(memory: InMemoryCluster) -> None:
    """A broker's own value overrides the cluster-wide default, which overrides the properties file."""
    broker, default = ConfigResource(ResourceKind.BROKER, "1"), ConfigResource(ResourceKind.BROKER_DEFAULT, "")
    memory.kafka.parts.brokers[1].static_configs["k"] = "static"
    seen = []
    for change in (
        None,
        ConfigChange(default, "k", "default"),
        ConfigChange(broker, "k", "own"),
        ConfigChange(broker, "k", None),
        ConfigChange(default, "k", None),
    ):
        if change:
            memory.alter_configs([change])
        seen.append(memory.configs([broker], ["k"])[0][broker]["k"])
    own, by_default = ConfigValue("own", ConfigSource.OWN), ConfigValue("default", ConfigSource.CLUSTER_DEFAULT)
    static = ConfigValue("static", ConfigSource.STATIC)
    assert seen == [static, by_default, own, by_default, static]


def test_configs_of_a_dead_broker(memory: InMemoryCluster) -> None:
    """They can be neither read nor changed through other brokers."""
    memory.kafka.kill(3)
    broker = ConfigResource(ResourceKind.BROKER, "3")
    assert broker in memory.configs([broker], ["k"])[1]
    assert broker in memory.alter_configs([ConfigChange(broker, "k", "v")])


def test_log_dirs(memory: InMemoryCluster) -> None:
    """A request for a future replica is stored; an existing one is copied, or its copy is cancelled."""
    here, coming = ReplicaOn("t", 0, 1), ReplicaOn("t", 0, 4)
    faults = memory.move_log_dirs({here: "/d1", coming: "/d1", ReplicaOn("t", 1, 2): "/none"})
    assert {r.broker: f.name for r, f in faults.items()} == {4: "REPLICA_NOT_AVAILABLE", 2: "LOG_DIR_NOT_FOUND"}
    memory.kafka.clock.sleep(2.5)
    log = memory.replica_logs([1], [T0])[0][here]
    assert (log.log_dir, log.future_log_dir, log.future_bytes) == ("/d0", "/d1", GB // 2)
    assert memory.move_log_dirs({here: "/d0"}) == {}
    assert memory.replica_logs([1], [T0])[0][here].future_log_dir is None
    memory.alter_reassignments({T0: (4, 2, 3)})
    assert memory.replica_logs([4], [T0])[0][coming].log_dir == "/d1"


def test_a_restarted_broker_forgets_the_chosen_log_dir(memory: InMemoryCluster) -> None:
    """A killed broker has forgotten the requested dir of a future replica."""
    memory.move_log_dirs({ReplicaOn("t", 0, 4): "/d1"})
    memory.kafka.kill(4)
    memory.kafka.start(4)
    memory.alter_reassignments({T0: (4, 2, 3)})
    assert memory.replica_logs([4], [T0])[0][ReplicaOn("t", 0, 4)].log_dir == "/d0"


def test_death_and_return(memory: InMemoryCluster) -> None:
    """A dead broker leaves the ISR and leads nothing; when it is back it is in sync, and the others keep leading."""
    memory.kafka.kill(1)
    assert memory.broker_ids() == {2, 3, 4}
    status = memory.partition_status(["t"])[T0]
    assert (status.leader, set(status.isr)) == (2, {2, 3})
    memory.kafka.start(1)
    status = memory.partition_status(["t"])[T0]
    assert (status.leader, set(status.isr)) == (2, {1, 2, 3})


def test_broker_that_hangs(memory: InMemoryCluster) -> None:
    """It stays registered for its session, does not respond, and costs the caller a timeout."""
    memory.kafka.pause(1)
    assert 1 in memory.broker_ids()
    assert memory.replica_logs([1, 2], [T0])[1][1].name == "timeout"
    assert memory.kafka.clock.monotonic() == 5.0
    memory.kafka.clock.sleep(5.0)
    assert 1 not in memory.broker_ids()


def test_disk_that_fails(memory: InMemoryCluster) -> None:
    """Its replicas are no longer reported, leave the ISR, and no copy between dirs starts on that broker."""
    memory.kafka.fail_log_dir(1, "/d0")
    assert memory.replica_logs([1], [T0])[0] == {}
    assert memory.partition_status(["t"])[T0].leader == 2
    assert memory.move_log_dirs({ReplicaOn("t", 0, 1): "/d1"})[ReplicaOn("t", 0, 1)].name == "KAFKA_STORAGE_ERROR"


def test_lock(memory: InMemoryCluster) -> None:
    """One holder at a time; a stopped one loses it after its session."""
    other = memory.connect("other")
    lock = memory.lock(LockRequest("one", 30.0))
    memory.kafka.clock.sleep(100.0)
    with pytest.raises(BusyError, match="cluster locked by one"):
        other.lock(LockRequest("two", 30.0))
    memory.stop()
    memory.kafka.clock.sleep(31.0)
    taken = other.lock(LockRequest("two", 30.0))
    memory.resume_process()
    assert not lock.is_held()
    assert taken.is_held()


def test_topics_and_records(memory: InMemoryCluster) -> None:
    """Topics are created as placed; records are shared by all clients, and stored only if allowed."""
    assert memory.create_topics([NewTopic(name="n", assignment=((4, 1),))]) == {}
    assert memory.partition_status(["n"])[TopicPartition("n", 0)].replicas == (4, 1)
    memory.records().put("k", b"v")
    assert memory.connect("other").records().get_all() == {"k": b"v"}
    with pytest.raises(MissingCapabilityError):
        InMemoryCluster(memory.kafka, without=[Capability.RECORDS]).records()


@pytest.mark.parametrize(
    ("outcome", "error", "took_effect"),
    [
        (CallOutcome.REFUSED, RefusedByClusterError, False),
        (CallOutcome.TIMEOUT, NoResponseError, False),
        (CallOutcome.RESPONSE_LOST, NoResponseError, True),
    ],
)
def test_scripted_faults(
    memory: InMemoryCluster, outcome: CallOutcome, error: type[Exception], took_effect: bool
) -> None:
    """A scripted call fails as told, with or without its effect, and only that call."""
    faulty = FaultyCluster(memory)
    faulty.fail_method("alter_reassignments", outcome, 1)
    with pytest.raises(error):
        faulty.alter_reassignments({T0: (4, 2, 3)})
    assert (T0 in faulty.reassignments()) == took_effect
    assert faulty.alter_reassignments({T0: (4, 2, 3)}) == {}
    assert [c.method for c in faulty.calls] == ["alter_reassignments", "reassignments", "alter_reassignments"]


def test_clock() -> None:
    """Scheduled callbacks run at their time, in order, while others sleep."""
    clock, seen = FakeClock(), []
    clock.at(5.0, lambda: seen.append(clock.monotonic()))
    clock.at(2.0, lambda: seen.append(clock.monotonic()))
    clock.sleep(10.0)
    assert (seen, clock.monotonic()) == ([2.0, 5.0], 10.0)


def test_last_in_sync_replica_that_returns_leads_again(memory: InMemoryCluster) -> None:
    """A partition with only dead replicas has no leader until the last of its ISR is back."""
    replicas = memory.partition_status(["t"])[T0].replicas
    for broker in replicas:
        memory.kafka.kill(broker)
    assert memory.partition_status(["t"])[T0].leader == -1
    memory.kafka.start(replicas[-1])
    assert memory.partition_status(["t"])[T0].leader == replicas[-1]


def test_partitions_and_copies_are_listed_once_however_many_copies_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a dry run does not grow with the number of copies times that of all partitions, or of all copies."""
    listed: list[object] = []
    partitions, open_flows = ClusterParts.partitions, replication._open_flows

    def count_partitions(parts: ClusterParts) -> Iterator[SimulatedPartition]:
        listed.append(parts)
        return partitions(parts)

    def count_flows(parts: ClusterParts, partition: SimulatedPartition) -> Iterator[Any]:
        listed.append(partition.name)
        return open_flows(parts, partition)

    topics = [topic(name, [1, 2, 3], size_bytes=GB * at) for at, name in enumerate("abcde", 1)]
    memory = InMemoryCluster.of(cluster(brokers(4), topics))
    moves = [TopicPartition(name, 0) for name in "abcde"]
    memory.alter_reassignments(dict.fromkeys(moves, (4, 2, 3)))
    monkeypatch.setattr(ClusterParts, "partitions", count_partitions)
    monkeypatch.setattr(replication, "_open_flows", count_flows)
    memory.kafka.clock.sleep(1000.0)

    assert memory.reassignments() == {}
    assert listed == [memory.kafka.parts, *moves]
