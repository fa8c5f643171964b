"""Reading a whole cluster: failures are named, and nothing is invented."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from kafka.protocol.admin import (
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    ListGroupsResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.consumer import ListOffsetsResponse, OffsetFetchResponse
from kafka.protocol.metadata import MetadataResponse

from kafkabal.clusters.cluster_protocol import FirstRecord, InFlight, ReadRequest
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.kafka.messages import DescribeShareGroupOffsetsResponse
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import (
    KafkabalError,
    NotAuthorizedError,
    RefusedByClusterError,
    TemporaryRefusalError,
    UnreachableError,
)
from kafkabal.model import TopicPartition
from kafkabal.model.cluster_state import LogDirState
from kafkabal.telemetry import bytes_per_record

_TOPIC = MetadataResponse.MetadataResponseTopic
_DIR = DescribeLogDirsResponse.DescribeLogDirsResult
_QUICK = ReadRequest(deadline_s=20.0)


def _topic(name: str, *replicas: list[int], error_code: int = 0, **fields: Any) -> Any:
    partitions = [
        _TOPIC.MetadataResponsePartition(
            partition_index=n, leader_id=ids[0] if ids else -1, replica_nodes=ids, isr_nodes=ids, offline_replicas=[]
        )
        for n, ids in enumerate(replicas)
    ]
    return _TOPIC(name=name, error_code=error_code, partitions=partitions, **fields)


def _logs(sizes: dict[tuple[str, int], int], offline: str | None = None, error_code: int = 0) -> Callable[[Any], Any]:
    """One dir with these replicas, and perhaps another one that is offline."""
    topic = _DIR.DescribeLogDirsTopic
    topics = [
        topic(
            name=name,
            partitions=[
                topic.DescribeLogDirsPartition(
                    partition_index=n, partition_size=size, offset_lag=0, is_future_key=False
                )
                for (of, n), size in sizes.items()
                if of == name
            ],
        )
        for name in sorted({name for name, _ in sizes})
    ]
    dirs = [_DIR(error_code=0, log_dir="/d0", topics=topics, total_bytes=10**12, usable_bytes=5 * 10**11)]
    if offline:
        dirs.append(_DIR(error_code=56, log_dir=offline, topics=[]))
    return lambda request: DescribeLogDirsResponse(error_code=error_code, results=[] if error_code else dirs)


def _reassignments(*moving: tuple[str, int, list[int], list[int], list[int]]) -> Callable[[Any], Any]:
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    return lambda request: ListPartitionReassignmentsResponse(
        error_code=0,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.OngoingPartitionReassignment(
                        partition_index=n, replicas=replicas, adding_replicas=adding, removing_replicas=removing
                    )
                ],
            )
            for name, n, replicas, adding, removing in moving
        ],
    )


@pytest.fixture
def cluster(fake_cluster: Callable[..., Any]) -> Any:
    """Two brokers with one topic of two partitions on both."""
    made = fake_cluster(2)
    made.topics = [_topic("t", [1, 2], [2, 1])]
    made.answer("DescribeLogDirs", _logs({("t", 0): 100, ("t", 1): 200}))
    made.answer("ListPartitionReassignments", _reassignments())
    return made


@pytest.fixture
def kafka(cluster: Any) -> Iterator[KafkaCluster]:
    """The cluster, read by a client whose clock is at the start of 2026."""
    with KafkaCluster(cluster.settings(), FakeClock()) as made:
        yield made


def test_a_healthy_cluster_is_read_whole(kafka: KafkaCluster) -> None:
    """Placement, sizes, ISR, racks and the time are complete."""
    reading = kafka.read(_QUICK)
    state = reading.state
    assert reading.problems == ()
    assert (state.cluster_id, state.source, state.taken_at) == ("fake", "kafka", "2026-01-01T00:00:00Z")
    assert state.racks == ("r1", "r2")
    assert state.replicas.size_bytes.tolist() == [100, 100, 200, 200]
    assert state.replicas.in_sync.all()
    assert state.partitions.leader.tolist() == [0, 1]
    assert state.topics.configs == (None,)


def test_a_broker_that_hangs_is_named_and_the_rest_is_shown(cluster: Any, silence: object) -> None:
    """Its replicas are there, their sizes are unknown."""
    cluster.brokers[2].answers["DescribeLogDirs"] = lambda request: silence
    with KafkaCluster(cluster.settings()) as kafka:
        reading = kafka.read(ReadRequest(deadline_s=3.0))
    assert [problem.broker for problem in reading.problems] == [2]
    assert "did not respond within 3 s" in reading.problems[0].message
    assert reading.state.replicas.size_bytes.tolist() == [100, -1, -1, 200]
    assert reading.state.brokers.is_live.all()


def test_a_dead_broker_is_known_from_its_replicas(cluster: Any, kafka: KafkaCluster) -> None:
    """A broker that is no longer registered is dead, and not a problem of the reading."""
    cluster.topics = [_topic("t", [1, 9])]
    reading = kafka.read(_QUICK)
    assert reading.problems == ()
    assert reading.state.brokers.id.tolist() == [1, 2, 9]
    assert reading.state.brokers.is_live.tolist() == [True, True, False]
    assert reading.state.replicas.size_bytes.tolist() == [100, -1]


def test_no_broker_at_all_is_an_error(cluster: Any, silence: object) -> None:
    """If none reports its log dirs there is nothing to show."""
    cluster.answer("DescribeLogDirs", lambda request: silence)
    with (
        KafkaCluster(cluster.settings()) as kafka,
        pytest.raises(UnreachableError, match="none of 2 brokers reported its log dirs; broker 1: "),
    ):
        kafka.read(ReadRequest(deadline_s=0.2))


def test_no_permission_is_an_error(cluster: Any, kafka: KafkaCluster) -> None:
    """If one broker refuses, the figures would be incomplete, so that is an error."""
    cluster.brokers[2].answers["DescribeLogDirs"] = _logs({}, error_code=31)
    with pytest.raises(NotAuthorizedError, match="broker 2"):
        kafka.read(_QUICK)


def test_topics_that_metadata_hides_are_found_out(cluster: Any, kafka: KafkaCluster) -> None:
    """A topic that brokers hold but the principal may not describe is an error, not a gap."""
    cluster.answer("DescribeLogDirs", _logs({("t", 0): 1, ("secret", 0): 1, ("hidden", 0): 1}))
    cluster.strangers = [_topic("secret", error_code=29), _topic("hidden", error_code=29)]
    with pytest.raises(NotAuthorizedError, match="not authorized to describe 2 topics: hidden, secret"):
        kafka.read(_QUICK)


def test_a_topic_deleted_meanwhile_is_not_an_error(cluster: Any, kafka: KafkaCluster) -> None:
    """Logs outlive their topic for a moment."""
    cluster.answer("DescribeLogDirs", _logs({("t", 0): 1, ("gone", 0): 1}))
    cluster.strangers = [_topic("gone", error_code=3)]
    assert kafka.read(_QUICK).state.topics.name == ("t",)


def test_an_offline_dir_is_shown_with_the_replicas_that_it_took_along(cluster: Any, kafka: KafkaCluster) -> None:
    """An offline replica on a broker with one offline dir is in that dir; its size is unknown."""
    cluster.topics = [_topic("t", [1, 2])]
    cluster.topics[0].partitions[0].offline_replicas = [2]
    cluster.brokers[2].answers["DescribeLogDirs"] = _logs({}, offline="/d1")
    state = kafka.read(_QUICK).state
    assert state.log_dirs.state.tolist() == [LogDirState.ONLINE, LogDirState.ONLINE, LogDirState.OFFLINE]
    assert state.replicas.size_bytes.tolist() == [100, -1]
    assert state.log_dirs.path[state.replicas.log_dir[1]] == "/d1"


def test_reassignments_in_progress_are_marked(cluster: Any, kafka: KafkaCluster) -> None:
    """Added and removed replicas are distinguished; a broker that the metadata did not have yet is left out."""
    cluster.answer("ListPartitionReassignments", _reassignments(("t", 0, [2, 1, 7], [2, 7], [1])))
    replicas = kafka.read(_QUICK).state.replicas
    assert replicas.adding.tolist() == [False, True, False, False]
    assert replicas.removing.tolist() == [True, False, False, False]


def test_a_controller_that_hangs_is_given_up_by_the_timeout_of_the_reading(cluster: Any, silence: object) -> None:
    """It gets the time that a broker gets, however many brokers could be asked for it."""
    cluster.answer("ListPartitionReassignments", lambda request: silence)
    with (
        KafkaCluster(cluster.settings(request_timeout_s=3600.0)) as kafka,
        pytest.raises(UnreachableError, match=r"no controller responded within 1 s"),
    ):
        kafka.read(ReadRequest(deadline_s=1.0))


def test_reassignments_are_unknown_if_no_controller_responds(cluster: Any, silence: object) -> None:
    """A reading that can do without them has everything else, says why, and does not pass them off as none."""
    cluster.answer("ListPartitionReassignments", lambda request: silence)
    with KafkaCluster(cluster.settings(request_timeout_s=30.0)) as kafka:
        reading = kafka.read(ReadRequest(deadline_s=3.0, in_flight=InFlight.IF_KNOWN))
    assert reading.state.replicas.size_bytes.tolist() == [100, 100, 200, 200]
    assert not reading.state.reassignments_known
    (warning,) = reading.warnings
    assert warning.startswith("reassignments in flight are unknown: no controller responded within 3 s: 127.0.0.1:")


@pytest.mark.parametrize(
    ("code", "error"), [(41, TemporaryRefusalError), (31, NotAuthorizedError), (-1, RefusedByClusterError)]
)
@pytest.mark.parametrize("in_flight", [InFlight.REQUIRED, InFlight.IF_KNOWN])
def test_only_a_missing_controller_is_tolerated(
    cluster: Any, code: int, error: type[KafkabalError], in_flight: InFlight
) -> None:
    """While none is elected, brokers answer with an error; a refusal of the request stays an error of the reading."""
    cluster.answer(
        "ListPartitionReassignments", lambda request: ListPartitionReassignmentsResponse(error_code=code, topics=[])
    )
    request = ReadRequest(deadline_s=3.0, in_flight=in_flight)
    with KafkaCluster(cluster.settings()) as kafka:
        if error is TemporaryRefusalError and in_flight is InFlight.IF_KNOWN:
            assert not kafka.read(request).state.reassignments_known
        else:
            with pytest.raises(error, match="cannot list reassignments"):
                kafka.read(request)


def test_a_reading_without_reassignments_does_not_ask_the_controller(cluster: Any, kafka: KafkaCluster) -> None:
    """Producers read a cluster every few seconds, and go on without a controller."""
    reading = kafka.read(ReadRequest(in_flight=InFlight.OMITTED))
    assert (reading.warnings, reading.state.reassignments_known) == ((), False)
    assert not cluster.asked("ListPartitionReassignments")


def test_partitions_without_replicas_are_left_out(cluster: Any, kafka: KafkaCluster) -> None:
    """A partition being deleted has no replicas."""
    cluster.topics = [_topic("t", [1, 2], [])]
    assert len(kafka.read(_QUICK).state.partitions) == 1


def test_internal_topics_are_marked(cluster: Any, kafka: KafkaCluster) -> None:
    """Kafka's own topics as Kafka reports them, and those of kafkabal, which no plan may move for balance."""
    own = ["__kafkabal", "__kafkabal_telemetry", "__kafkabal_weights"]
    named = [_topic(name, [1]) for name in ("t", "__kafkabalance", *own)]
    cluster.topics = [*named, _topic("__consumer_offsets", [1], is_internal=True)]
    topics = kafka.read(_QUICK).state.topics
    assert dict(zip(topics.name, topics.internal.tolist(), strict=True)) == {
        "__consumer_offsets": True,
        **dict.fromkeys(own, True),
        "__kafkabalance": False,
        "t": False,
    }


def test_configs_come_when_asked_for(cluster: Any, kafka: KafkaCluster) -> None:
    """Only configs set on the topic itself are included."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    cluster.answer(
        "DescribeConfigs",
        lambda request: DescribeConfigsResponse(
            results=[
                result(
                    error_code=0,
                    resource_type=2,
                    resource_name="t",
                    configs=[
                        entry(name="remote.storage.enable", value="true", config_source=1, synonyms=[]),
                        entry(name="retention.ms", value="1", config_source=5, synonyms=[]),
                    ],
                )
            ]
        ),
    )
    assert kafka.read(ReadRequest(configs=True)).state.topics.configs == ({"remote.storage.enable": "true"},)


def _refused_configs(error_code: int) -> Callable[[Any], Any]:
    """No configs of the topic t."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    refused = result(error_code=error_code, error_message="", resource_type=2, resource_name="t", configs=[])
    return lambda request: DescribeConfigsResponse(results=[refused])


def test_a_topic_that_was_deleted_meanwhile_has_no_configs(cluster: Any, kafka: KafkaCluster) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION is no reason to give up the whole reading."""
    cluster.answer("DescribeConfigs", _refused_configs(3))
    assert kafka.read(ReadRequest(configs=True)).state.topics.configs == (None,)


@pytest.mark.parametrize(
    ("error_code", "kind", "message"),
    [
        (29, NotAuthorizedError, "not authorized to describe the configs of topic t"),
        (42, RefusedByClusterError, "cannot describe the configs of topic t: INVALID_REQUEST"),
    ],
)
def test_configs_that_are_refused_are_named(
    cluster: Any, kafka: KafkaCluster, error_code: int, kind: type[KafkabalError], message: str
) -> None:
    """Missing configs are not read as if none were set."""
    cluster.answer("DescribeConfigs", _refused_configs(error_code))
    with pytest.raises(kind, match=message):
        kafka.read(ReadRequest(configs=True))


def _offsets(of_timestamp: dict[int, int]) -> Callable[[Any], Any]:
    """The same offsets for every partition, by the timestamp that encodes the query."""
    topic = ListOffsetsResponse.ListOffsetsTopicResponse

    def partition(p: Any) -> Any:
        offset = of_timestamp[p.timestamp]
        return topic.ListOffsetsPartitionResponse(partition_index=p.partition_index, error_code=0, offset=offset)

    return lambda request: ListOffsetsResponse(
        topics=[topic(name=asked.name, partitions=[partition(p) for p in asked.partitions]) for asked in request.topics]
    )


def test_remote_storage_is_counted_separately_from_local_disks(cluster: Any, kafka: KafkaCluster) -> None:
    """Of records 5 to 49, those from 40 on are on disk: the others, each of the same size, are remote."""
    cluster.answer("ListOffsets", _offsets({-2: 5, -1: 50, -4: 40}))
    state = kafka.read(ReadRequest(offsets=True)).state
    assert state.replicas.size_bytes.tolist() == [100, 100, 200, 200]
    assert state.partitions.remote_bytes.tolist() == [350, 700]
    assert bytes_per_record(state).tolist() == [10.0, 20.0]


@pytest.mark.parametrize(("local_start", "remote"), [(5, 0), (50, -1)])
def test_a_log_that_is_all_here_or_all_there(cluster: Any, kafka: KafkaCluster, local_start: int, remote: int) -> None:
    """Nothing is remote if the log on disk starts at the start offset; the amount is unknown if the disk has none."""
    cluster.answer("ListOffsets", _offsets({-2: 5, -1: 50, -4: local_start}))
    assert kafka.read(ReadRequest(offsets=True)).state.partitions.remote_bytes.tolist() == [remote] * 2


def test_brokers_that_report_an_object_store(cluster: Any, kafka: KafkaCluster) -> None:
    """The bytes of a dir named remote:// (Redpanda) count as remote beyond those on disk, and the dir as no log dir."""

    def answer(request: Any) -> Any:
        local = _logs({("t", 0): 100, ("t", 1): 200})(request)
        store = _logs({("t", 0): 900, ("t", 1): 150})(request).results[0]
        store.log_dir = "remote://bucket"
        local.results.append(store)
        return local

    cluster.answer("DescribeLogDirs", answer)
    state = kafka.read(_QUICK).state
    assert state.log_dirs.path == ("/d0", "/d0")
    assert state.replicas.size_bytes.tolist() == [100, 100, 200, 200]
    assert state.partitions.remote_bytes.tolist() == [800, 0]


def test_offsets_come_from_the_leaders(cluster: Any, kafka: KafkaCluster) -> None:
    """Each leader is asked for its own partitions: start offset, also on disk, and end offset."""
    cluster.answer("ListOffsets", _offsets({-2: 5, -1: 50, -4: 5}))
    partitions = kafka.read(ReadRequest(offsets=True)).state.partitions
    assert partitions.start_offset.tolist() == [5, 5]
    assert partitions.end_offset.tolist() == [50, 50]
    asked = [p.partition_index for r in cluster.brokers[2].asked("ListOffsets") for t in r.topics for p in t.partitions]
    assert asked == [1, 1, 1]


@pytest.mark.parametrize("batched", [True, False])
def test_committed_offsets_come_from_the_coordinators(cluster: Any, kafka: KafkaCluster, batched: bool) -> None:
    """Every broker reports the groups that it coordinates; old brokers one group at a time."""
    for broker in cluster.brokers.values():
        broker.versions = broker.versions | {9: (1, 9 if batched else 7)}
    group = ListGroupsResponse.ListedGroup
    cluster.answer("ListGroups", lambda request: ListGroupsResponse(error_code=0, groups=[]))
    cluster.brokers[1].answers["ListGroups"] = lambda request: ListGroupsResponse(
        error_code=0, groups=[group(group_id=name, protocol_type="consumer") for name in ("b", "a")]
    )
    cluster.answer("OffsetFetch", _offset_fetch)
    committed = kafka.read(ReadRequest(group_offsets=True)).state.committed
    assert committed.groups == ("a", "b")
    assert np.stack((committed.group, committed.partition, committed.offset)).T.tolist() == [[0, 1, 7], [1, 1, 7]]
    assert len(cluster.asked("OffsetFetch")) == (1 if batched else 2)


def _offset_fetch(request: Any) -> Any:
    """Offset 7 of t-1 for every group, none of t-0, and some of a deleted topic."""
    if request.header.request_api_version < 8:
        topic = OffsetFetchResponse.OffsetFetchResponseTopic
        return OffsetFetchResponse(topics=_committed(topic, topic.OffsetFetchResponsePartition), error_code=0)
    group = OffsetFetchResponse.OffsetFetchResponseGroup
    topic = group.OffsetFetchResponseTopics
    topics = _committed(topic, topic.OffsetFetchResponsePartitions)
    return OffsetFetchResponse(groups=[group(group_id=g.group_id, topics=topics, error_code=0) for g in request.groups])


def _committed(topic: Any, partition: Any) -> list[Any]:
    return [
        topic(name=name, partitions=[partition(partition_index=n, committed_offset=offset, metadata="", error_code=0)])
        for name, n, offset in (("t", 0, -1), ("t", 1, 7), ("gone", 0, 3))
    ]


def test_share_groups_have_come_to_their_start_offsets(cluster: Any, kafka: KafkaCluster) -> None:
    """Their coordinators report them in a separate request (KIP-932); a partition without a start is left out."""
    for broker in cluster.brokers.values():
        broker.versions = broker.versions | {90: (0, 1)}
    listed = ListGroupsResponse.ListedGroup
    cluster.answer("ListGroups", lambda request: ListGroupsResponse(error_code=0, groups=[]))
    cluster.brokers[1].answers["ListGroups"] = lambda request: ListGroupsResponse(
        error_code=0,
        groups=[listed(group_id=name, protocol_type=name, group_type=name) for name in ("consumer", "share")],
    )
    group = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    topic = group.DescribeShareGroupOffsetsResponseTopic
    partition = topic.DescribeShareGroupOffsetsResponsePartition

    def answer(request: Any) -> Any:
        partitions = [
            partition(partition_index=n, start_offset=offset, leader_epoch=0, error_code=0, error_message=None)
            for n, offset in ((0, -1), (1, 40))
        ]
        topics = [topic(topic_name="t", topic_id=UUID(int=1), partitions=partitions)]
        groups = [group(group_id=g.group_id, topics=topics, error_code=0, error_message=None) for g in request.groups]
        return DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=groups)

    cluster.answer("DescribeShareGroupOffsets", answer)
    cluster.answer("OffsetFetch", _offset_fetch)
    committed = kafka.read(ReadRequest(group_offsets=True)).state.committed
    assert committed.groups == ("consumer", "share")
    assert np.stack((committed.group, committed.partition, committed.offset)).T.tolist() == [[0, 1, 7], [1, 1, 40]]


def test_groups_that_are_hidden_are_an_error(cluster: Any, kafka: KafkaCluster) -> None:
    """A group that may be listed but not read is not taken for one without committed offsets."""
    listed = ListGroupsResponse.ListedGroup(group_id="g", protocol_type="consumer")
    cluster.answer("ListGroups", lambda request: ListGroupsResponse(error_code=0, groups=[listed]))
    group = OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", topics=[], error_code=30)
    cluster.answer("OffsetFetch", lambda request: OffsetFetchResponse(groups=[group]))
    with pytest.raises(NotAuthorizedError, match="the committed offsets of group g"):
        kafka.read(ReadRequest(group_offsets=True))


def test_the_first_record_since_a_time(cluster: Any, kafka: KafkaCluster) -> None:
    """Each leader is asked for its own partitions with a time each; -1 if there is no later record."""
    topic = ListOffsetsResponse.ListOffsetsTopicResponse

    def answer(request: Any) -> Any:
        (asked,) = request.topics
        (p,) = asked.partitions
        found = (40, p.timestamp + 500) if p.partition_index == 0 else (-1, -1)
        row = topic.ListOffsetsPartitionResponse(
            partition_index=p.partition_index, error_code=0, offset=found[0], timestamp=found[1]
        )
        return ListOffsetsResponse(topics=[topic(name=asked.name, partitions=[row])])

    cluster.answer("ListOffsets", answer)
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)

    assert kafka.first_records_since({1: {first: 100.0}, 2: {second: 200.0}}) == {
        first: FirstRecord(40, 100.5),
        second: FirstRecord(-1, -1.0),
    }
