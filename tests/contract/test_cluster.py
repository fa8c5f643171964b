"""Guarantees of every back end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import (
    Capability,
    Cluster,
    Fault,
    NewTopic,
    PartitionStatus,
    ReadRequest,
    ReplicaOn,
)
from kafkabal.clusters.config_items import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    ResourceKind,
)
from kafkabal.errors import BusyError, MissingCapabilityError
from kafkabal.model.topic_partition import TopicPartition

_BROKER_1 = ConfigResource(ResourceKind.BROKER, "1")
_BROKER_2 = ConfigResource(ResourceKind.BROKER, "2")
_DEFAULT = ConfigResource(ResourceKind.BROKER_DEFAULT, "")
_RATE = "leader.replication.throttled.rate"
_LISTED = "leader.replication.throttled.replicas"


def _needs(cluster: Cluster, capability: Capability) -> None:
    if capability not in cluster.capabilities:
        pytest.skip(f"no {capability}")


def _names(faults: Mapping[Any, Fault]) -> dict[Any, str]:
    return {item: fault.name for item, fault in faults.items()}


def _create(subject: Any, *assignment: tuple[int, ...], configs: dict[str, str] | None = None) -> str:
    """Create a topic and wait until it has a leader."""
    name: str = subject.topic()
    assert subject.cluster.create_topics([NewTopic(name=name, assignment=assignment, configs=configs or {})]) == {}
    subject.until(lambda: _is_led(subject.cluster, name, len(assignment)))
    return name


def _is_led(cluster: Cluster, topic: str, partitions: int) -> bool:
    status = cluster.partition_status([topic])
    return len(status) == partitions and all(s.leader >= 0 for s in status.values())


def _is_refused(cluster: Cluster, replica: ReplicaOn, log_dir: str) -> bool:
    """Whether a broker says that it has no such replica; one without the topic's metadata does not know the topic."""
    return _names(cluster.move_log_dirs({replica: log_dir})) == {replica: "REPLICA_NOT_AVAILABLE"}


def _state_of(cluster: Cluster, topic: str, **request: bool) -> dict[str, Any]:
    """Configs of a topic, and the replicas of its partition 0 with their log dirs, from a full reading."""
    state = cluster.read(ReadRequest(**request)).state
    at = state.topics.name.index(topic)
    partition = int((state.partitions.topic == at).argmax())
    rows = range(*state.partitions.first[partition : partition + 2].tolist())
    return {
        "configs": state.topics.configs[at],
        "replicas": [int(state.brokers.id[state.replicas.broker[row]]) for row in rows],
        "log_dirs": [state.log_dirs.path[state.replicas.log_dir[row]] for row in rows],
    }


def test_readings_and_single_questions_agree(subject: Any) -> None:
    """Cluster id and brokers are the same in a full reading and in single requests."""
    reading = subject.cluster.read(ReadRequest())
    assert reading.problems == ()
    assert reading.state.cluster_id == subject.cluster.cluster_id()
    assert frozenset(reading.state.brokers.id.tolist()) == subject.cluster.broker_ids() == {1, 2, 3}
    assert reading.state.racks == ("r0", "r1", "r2")
    assert len(reading.state.log_dirs) == 6


def test_a_created_topic_is_as_it_was_asked_for(subject: Any) -> None:
    """Every replica is where it was placed, the first of each partition leads, all are in sync."""
    topic = _create(subject, (1, 2), (3, 1))
    found = subject.cluster.partition_status([topic])
    (topic_id,) = {status.topic_id for status in found.values()}
    assert found == {
        TopicPartition(topic, 0): PartitionStatus(leader=1, replicas=(1, 2), isr=(1, 2), topic_id=topic_id),
        TopicPartition(topic, 1): PartitionStatus(leader=3, replicas=(3, 1), isr=(3, 1), topic_id=topic_id),
    }
    subject.until(lambda: _state_of(subject.cluster, topic)["replicas"] == [1, 2])


def test_the_configs_of_a_topic_are_read_with_it(subject: Any) -> None:
    """Configs that were set are read, if configs are requested."""
    topic = _create(subject, (1,), configs={"retention.ms": "86400000"})
    assert _state_of(subject.cluster, topic, configs=True)["configs"] == {"retention.ms": "86400000"}


def test_topics_fail_one_by_one(subject: Any) -> None:
    """A taken name and an unknown broker do not prevent the other topics from being created."""
    taken, wrong, fine = _create(subject, (1,)), subject.topic(), subject.topic()
    faults = subject.cluster.create_topics(
        [
            NewTopic(name=taken, assignment=((1,),)),
            NewTopic(name=wrong, assignment=((1, 99),)),
            NewTopic(name=fine, assignment=((2,),)),
        ]
    )
    assert _names(faults) == {taken: "TOPIC_ALREADY_EXISTS", wrong: "INVALID_REPLICA_ASSIGNMENT"}
    subject.until(lambda: _is_led(subject.cluster, fine, 1))


def test_validation_creates_nothing(subject: Any) -> None:
    """A request that is only validated reports what would fail, and has no effect."""
    taken, fine = _create(subject, (1,)), subject.topic()
    topics = [NewTopic(name=name, assignment=((1,),)) for name in (taken, fine)]
    assert _names(subject.cluster.create_topics(topics, validate_only=True)) == {taken: "TOPIC_ALREADY_EXISTS"}
    assert subject.cluster.partition_status([fine]) == {}


def test_a_topic_that_is_not_there_has_no_partitions(subject: Any) -> None:
    """Requesting an unknown topic creates nothing, and raises nothing."""
    assert subject.cluster.partition_status([subject.topic()]) == {}


def test_a_reassignment_reaches_its_target(subject: Any) -> None:
    """In the end the replicas are the target, and no reassignment is in flight."""
    name = TopicPartition(_create(subject, (1, 2)), 0)
    assert subject.cluster.alter_reassignments({name: (3, 2)}) == {}
    subject.until(lambda: subject.cluster.partition_status([name.topic])[name].replicas == (3, 2))
    subject.until(lambda: name not in subject.cluster.reassignments())
    subject.until(lambda: set(subject.cluster.partition_status([name.topic])[name].isr) == {2, 3})


def test_reassignments_fail_one_by_one(subject: Any) -> None:
    """Each failed partition has its own reason, and the others are moved."""
    topic = _create(subject, (1,), (1,), (1,), (1,))
    ghost = TopicPartition(subject.topic(), 0)
    parts = [TopicPartition(topic, n) for n in range(4)]
    faults = subject.cluster.alter_reassignments(
        {parts[0]: (2,), parts[1]: (2, 2), parts[2]: (99,), parts[3]: (1, 2), ghost: (1,)}
    )
    assert _names(faults) == {
        parts[1]: "INVALID_REPLICA_ASSIGNMENT",
        parts[2]: "INVALID_REPLICA_ASSIGNMENT",
        parts[3]: "INVALID_REPLICATION_FACTOR",
        ghost: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    subject.until(lambda: subject.cluster.partition_status([topic])[parts[0]].replicas == (2,))


def test_the_replication_factor_changes_when_that_is_meant(subject: Any) -> None:
    """If allowed, a target with another number of replicas is treated like any other."""
    name = TopicPartition(_create(subject, (1,)), 0)
    assert subject.cluster.alter_reassignments({name: (1, 2, 3)}, allow_replication_factor_change=True) == {}
    subject.until(lambda: set(subject.cluster.partition_status([name.topic])[name].isr) == {1, 2, 3})


def test_cancelling_without_reassignments_does_nothing(subject: Any) -> None:
    """Cancelling reports that there is nothing to cancel."""
    name = TopicPartition(_create(subject, (1,)), 0)
    assert _names(subject.cluster.alter_reassignments({name: None})) == {name: "NO_REASSIGNMENT_IN_PROGRESS"}


def test_a_preferred_leader_leads_when_elected(subject: Any) -> None:
    """Reordering does not move leadership, an election does; an unnecessary one is not a failure."""
    name = TopicPartition(_create(subject, (1, 2)), 0)
    assert subject.cluster.alter_reassignments({name: (2, 1)}) == {}
    subject.until(lambda: subject.cluster.partition_status([name.topic])[name].replicas == (2, 1))
    assert subject.cluster.partition_status([name.topic])[name].leader == 1
    for _ in range(2):
        assert subject.cluster.elect_preferred_leaders([name]) == {}
        subject.until(lambda: subject.cluster.partition_status([name.topic])[name].leader == 2)


def test_an_election_without_partitions_fails(subject: Any) -> None:
    """The error names an unknown partition."""
    ghost = TopicPartition(subject.topic(), 0)
    assert _names(subject.cluster.elect_preferred_leaders([ghost])) == {ghost: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_replicas_are_found_in_the_log_dirs_of_the_reading(subject: Any) -> None:
    """Single look-ups and the full reading agree; an unknown broker is named."""
    topic = _create(subject, (1, 2))
    name = TopicPartition(topic, 0)
    subject.until(lambda: len(subject.cluster.replica_logs([1, 2], [name])[0]) == 2)
    found, faults = subject.cluster.replica_logs([1, 2, 3, 99], [name])
    assert set(found) == {ReplicaOn(topic, 0, 1), ReplicaOn(topic, 0, 2)}
    assert set(faults) == {99}
    log_dirs = _state_of(subject.cluster, topic)["log_dirs"]
    assert [found[ReplicaOn(topic, 0, broker)].log_dir for broker in (1, 2)] == log_dirs


def test_a_replica_moves_to_another_log_dir(subject: Any) -> None:
    """In the end it is in the new dir, and only there."""
    topic = _create(subject, (1,))
    name, replica = TopicPartition(topic, 0), ReplicaOn(topic, 0, 1)
    subject.until(lambda: replica in subject.cluster.replica_logs([1], [name])[0])
    other = _other_dir(subject.cluster, subject.cluster.replica_logs([1], [name])[0][replica].log_dir)
    assert subject.cluster.move_log_dirs({replica: other}) == {}

    def has_arrived() -> bool:
        log = subject.cluster.replica_logs([1], [name])[0].get(replica)
        return log is not None and log.log_dir == other and log.future_log_dir is None

    subject.until(has_arrived)


def _other_dir(cluster: Cluster, path: str) -> str:
    """The other log dir of the broker."""
    dirs = cluster.read(ReadRequest()).state.log_dirs
    owner = dirs.broker[dirs.path.index(path)]
    return next(p for p, b in zip(dirs.path, dirs.broker, strict=True) if b == owner and p != path)


def test_moves_between_log_dirs_fail_one_by_one(subject: Any) -> None:
    """An unknown dir, an unknown replica, and an unknown broker have their own reasons."""
    topic = _create(subject, (1,))
    state = subject.cluster.read(ReadRequest()).state
    on_broker_2 = state.log_dirs.path[int(state.log_dirs.first[1])]
    name, here, elsewhere = TopicPartition(topic, 0), ReplicaOn(topic, 0, 1), ReplicaOn(topic, 0, 2)
    subject.until(lambda: here in subject.cluster.replica_logs([1], [name])[0])
    subject.until(lambda: _is_refused(subject.cluster, elsewhere, on_broker_2))
    faults = subject.cluster.move_log_dirs({here: "/nowhere", elsewhere: on_broker_2})
    assert _names(faults) == {here: "LOG_DIR_NOT_FOUND", elsewhere: "REPLICA_NOT_AVAILABLE"}
    assert faults[elsewhere].retriable


def test_a_broker_remembers_the_log_dir_chosen_for_a_replica(subject: Any) -> None:
    """The replica is created in the dir requested before it existed."""
    topic = _create(subject, (1,))
    state = subject.cluster.read(ReadRequest()).state
    wanted = state.log_dirs.path[int(state.log_dirs.first[2]) - 1]
    name, coming = TopicPartition(topic, 0), ReplicaOn(topic, 0, 2)
    subject.until(lambda: _is_refused(subject.cluster, coming, wanted))
    assert subject.cluster.alter_reassignments({name: (2,)}) == {}
    subject.until(lambda: coming in subject.cluster.replica_logs([2], [name])[0])
    assert subject.cluster.replica_logs([2], [name])[0][coming].log_dir == wanted


def test_deleting_a_broker_config_reveals_the_default_below(subject: Any) -> None:
    """A broker's own value overrides the cluster-wide default, which applies again without it."""
    cluster = subject.cluster
    _needs(cluster, Capability.CONFIGS)

    def rates() -> dict[ConfigResource, ConfigValue | None]:
        values, faults = cluster.configs([_BROKER_1, _BROKER_2, _DEFAULT], [_RATE])
        assert faults == {}
        return {resource: own.get(_RATE) for resource, own in values.items()}

    def change(resource: ConfigResource, value: str | None) -> None:
        assert cluster.alter_configs([ConfigChange(resource, _RATE, value)]) == {}

    default = ConfigValue("2000000", ConfigSource.CLUSTER_DEFAULT)
    own = ConfigValue("1000000", ConfigSource.OWN)
    assert rates() == {_BROKER_1: None, _BROKER_2: None, _DEFAULT: None}
    change(_DEFAULT, "2000000")
    change(_BROKER_1, "1000000")
    subject.until(lambda: rates() == {_BROKER_1: own, _BROKER_2: default, _DEFAULT: default})
    change(_BROKER_1, None)
    subject.until(lambda: rates() == {_BROKER_1: default, _BROKER_2: default, _DEFAULT: default})
    change(_DEFAULT, None)
    subject.until(lambda: rates() == {_BROKER_1: None, _BROKER_2: None, _DEFAULT: None})


def test_configs_of_topics_come_back_as_they_were(subject: Any) -> None:
    """A value that is set is the topic's own, a deleted one is built in again; other keys are not touched."""
    cluster = subject.cluster
    _needs(cluster, Capability.CONFIGS)
    topic = ConfigResource(ResourceKind.TOPIC, _create(subject, (1,), configs={"retention.ms": "86400000"}))

    def listed() -> ConfigValue:
        values, _ = cluster.configs([topic], [_LISTED])
        return values[topic][_LISTED]

    before = listed()
    assert before == ConfigValue("", ConfigSource.BUILT_IN)
    assert cluster.alter_configs([ConfigChange(topic, _LISTED, "0:1")]) == {}
    subject.until(lambda: listed() == ConfigValue("0:1", ConfigSource.OWN))
    assert cluster.alter_configs([ConfigChange(topic, _LISTED, None)]) == {}
    subject.until(lambda: listed() == before)
    assert _state_of(cluster, topic.name, configs=True)["configs"] == {"retention.ms": "86400000"}


def test_lists_change_entry_by_entry(subject: Any) -> None:
    """An entry is added once and removed without the others; an empty list stays until it is deleted."""
    cluster = subject.cluster
    _needs(cluster, Capability.CONFIGS)
    topic = ConfigResource(ResourceKind.TOPIC, _create(subject, (1,)))

    def change(value: str | None, operation: ConfigOperation = ConfigOperation.SET) -> Any:
        return cluster.alter_configs([ConfigChange(topic, _LISTED, value, operation)])

    def until_listed(value: str, source: ConfigSource = ConfigSource.OWN) -> None:
        expected = ConfigValue(value, source)
        subject.until(lambda: cluster.configs([topic], [_LISTED])[0][topic][_LISTED] == expected)

    assert change("0:1,0:2", ConfigOperation.APPEND) == {}
    assert change("0:1,7:7", ConfigOperation.APPEND) == {}
    until_listed("0:1,0:2,7:7")
    assert change("0:1,9:9", ConfigOperation.SUBTRACT) == {}
    until_listed("0:2,7:7")
    assert change("0:2,7:7", ConfigOperation.SUBTRACT) == {}
    until_listed("")
    assert change(None) == {}
    until_listed("", ConfigSource.BUILT_IN)
    assert change("*") == {}
    until_listed("*")
    assert _names(change("0:1", ConfigOperation.APPEND)) == {topic: "INVALID_CONFIG"}
    assert change("0:1", ConfigOperation.SUBTRACT) == {}
    until_listed("*")
    twice = [ConfigChange(topic, _LISTED, e, ConfigOperation.SUBTRACT) for e in ("0:1", "0:2")]
    assert _names(cluster.alter_configs(twice)) == {topic: "INVALID_REQUEST"}


def test_configs_fail_one_by_one(subject: Any) -> None:
    """Unknown resources are named, the others are read and changed."""
    cluster = subject.cluster
    _needs(cluster, Capability.CONFIGS)
    ghost = ConfigResource(ResourceKind.TOPIC, subject.topic())
    nobody = ConfigResource(ResourceKind.BROKER, "99")
    values, faults = cluster.configs([ghost, nobody, _BROKER_1], [_RATE])
    assert set(values) == {_BROKER_1}
    assert _names(faults)[ghost] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert set(faults) == {ghost, nobody}
    changed = cluster.alter_configs([ConfigChange(r, _RATE, None) for r in (nobody, _BROKER_1)])
    assert set(changed) == {nobody}


def test_only_one_holds_the_lock(subject: Any) -> None:
    """The second client learns who holds the lock, and gets it once the first has released it."""
    _needs(subject.cluster, Capability.LOCK)
    with subject.connect() as other:
        first = subject.cluster.lock(LockRequest("alice on host-a", 10.0))
        with pytest.raises(BusyError, match="alice on host-a"):
            other.lock(LockRequest("bob on host-b", 10.0))
        assert first.is_held()
        assert first.seconds_since_heartbeat() < 10.0
        assert first.scope
        first.release()
        first.release()
        assert not first.is_held()
        second = other.lock(LockRequest("bob on host-b", 10.0))
        assert second.is_held()
        second.release()


def test_records_are_shared_by_all_clients(subject: Any) -> None:
    """The last value of a key counts, for every client; a deleted key is gone."""
    _needs(subject.cluster, Capability.RECORDS)
    ours, run = subject.cluster.records(), subject.topic()
    ours.put(f"{run}/a", b"1")
    ours.put(f"{run}/b", b"2")
    ours.put(f"{run}/a", b"3")
    ours.put(f"{run}/b", None)
    with subject.connect() as other:
        found = other.records().get_all()
        assert {key: value for key, value in found.items() if key.startswith(run)} == {f"{run}/a": b"3"}


def test_unsupported_requests_are_refused(subject: Any) -> None:
    """A missing capability raises an error, and never does half of the work."""
    cluster = subject.cluster
    calls = {
        Capability.CONFIGS: lambda: (cluster.configs([_DEFAULT], [_RATE]), cluster.alter_configs([])),
        Capability.LOCK: lambda: cluster.lock(LockRequest("me", 10.0)),
        Capability.RECORDS: cluster.records,
    }
    missing = [call for capability, call in calls.items() if capability not in cluster.capabilities]
    if not missing:
        pytest.skip("it can do everything")
    for call in missing:
        with pytest.raises(MissingCapabilityError):
            call()
