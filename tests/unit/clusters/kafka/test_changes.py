"""Changes: split into requests that brokers accept, and every failed item is reported by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsResponse,
    CreateTopicsResponse,
    DescribeConfigsResponse,
    ElectLeadersResponse,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.metadata import MetadataResponse

from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.clusters.kafka import reassignments
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.errors import MissingCapabilityError, NoResponseError, NotAuthorizedError
from kafkabal.model.topic_partition import TopicPartition

_A, _B, _C = (TopicPartition("t", n) for n in range(3))
_TOPIC_A = ConfigResource(ResourceKind.TOPIC, "a")
_BROKER_1, _BROKER_2 = (ConfigResource(ResourceKind.BROKER, str(n)) for n in (1, 2))
_DEFAULT = ConfigResource(ResourceKind.BROKER_DEFAULT, "")
_RATE = "leader.replication.throttled.rate"


@pytest.fixture
def cluster(fake_cluster: Callable[..., Any]) -> Any:
    """Two brokers, the first of which is the controller."""
    return fake_cluster(2)


@pytest.fixture
def kafka(cluster: Any) -> Iterator[KafkaCluster]:
    """A client of theirs."""
    with KafkaCluster(cluster.settings()) as made:
        yield made


def _altered(codes: dict[TopicPartition, int], top: int = 0) -> Callable[[Any], Any]:
    """Answers an alteration with a code for each partition that it names."""
    topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse

    def answer(request: Any) -> Any:
        responses = [
            topic(
                name=asked.name,
                partitions=[
                    topic.ReassignablePartitionResponse(
                        partition_index=p.partition_index,
                        error_code=codes.get(TopicPartition(asked.name, p.partition_index), 0),
                    )
                    for p in asked.partitions
                ],
            )
            for asked in request.topics
        ]
        return AlterPartitionReassignmentsResponse(error_code=top, responses=responses)

    return answer


def test_reassignments_start_and_are_cancelled_in_one_request(cluster: Any, kafka: KafkaCluster) -> None:
    """Targets and cancellations share a request; failed ones are returned with Kafka's reason."""
    cluster.answer("AlterPartitionReassignments", _altered({_B: 85}))
    faults = kafka.alter_reassignments({_A: (2, 1), _B: None})
    assert {name: fault.name for name, fault in faults.items()} == {_B: "NO_REASSIGNMENT_IN_PROGRESS"}
    (asked,) = cluster.asked("AlterPartitionReassignments")
    assert [(p.partition_index, p.replicas) for p in asked.topics[0].partitions] == [(0, [2, 1]), (1, None)]


@pytest.mark.parametrize("allowed", [True, False])
def test_the_brokers_guard_the_replication_factor(cluster: Any, kafka: KafkaCluster, allowed: bool) -> None:
    """Brokers that support KIP-860 are told whether the number of replicas may change."""
    cluster.answer("AlterPartitionReassignments", _altered({}))
    kafka.alter_reassignments({_A: (2, 1)}, allow_replication_factor_change=allowed)
    (asked,) = cluster.asked("AlterPartitionReassignments")
    assert asked.allow_replication_factor_change is allowed


def test_older_brokers_are_guarded_by_looking_again(cluster: Any, kafka: KafkaCluster) -> None:
    """Without KIP-860 the targets are compared with current and pending replicas just before they are sent."""
    for broker in cluster.brokers.values():
        broker.versions = broker.versions | {45: (0, 0)}
    cluster.strangers = [_topic("t", [1, 2], [1, 2], [1, 2, 3])]
    cluster.answer("ListPartitionReassignments", _running("t", 2, [1, 2, 3], [3], [1]))
    cluster.answer("AlterPartitionReassignments", _altered({}))
    ghost = TopicPartition("ghost", 0)
    faults = kafka.alter_reassignments({_A: (2, 1), _B: (1, 2, 3), _C: (2, 3), ghost: (1,)})
    assert {name: fault.name for name, fault in faults.items()} == {
        _B: "INVALID_REPLICATION_FACTOR",
        ghost: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    (asked,) = cluster.asked("AlterPartitionReassignments")
    assert [p.partition_index for p in asked.topics[0].partitions] == [0, 2]


def test_many_reassignments_are_cut(cluster: Any, kafka: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request is larger than a controller should get, and no partition is lost."""
    monkeypatch.setattr(reassignments, "_PARTITIONS_A_REQUEST", 2)
    cluster.answer("AlterPartitionReassignments", _altered({}))
    assert kafka.alter_reassignments({TopicPartition("t", n): (1,) for n in range(5)}) == {}
    asked = cluster.asked("AlterPartitionReassignments")
    assert [[p.partition_index for p in request.topics[0].partitions] for request in asked] == [[0, 1], [2, 3], [4]]


def test_a_later_request_without_a_response_fails_its_partitions(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, silence: object
) -> None:
    """The results of the earlier ones are kept."""
    monkeypatch.setattr(reassignments, "_PARTITIONS_A_REQUEST", 1)
    answers = iter([_altered({_A: 39}), lambda request: silence])
    cluster.answer("AlterPartitionReassignments", lambda request: next(answers)(request))
    with KafkaCluster(cluster.settings(broker_timeout_s=3.0)) as kafka:
        faults = kafka.alter_reassignments({_A: (1,), _B: (1,)})
    assert {name: fault.name for name, fault in faults.items()} == {_A: "INVALID_REPLICA_ASSIGNMENT", _B: "timeout"}


def test_a_first_request_without_a_response_raises_an_error(cluster: Any, silence: object) -> None:
    """Nothing is known, and the request may have taken effect."""
    cluster.answer("AlterPartitionReassignments", lambda request: silence)
    with KafkaCluster(cluster.settings(broker_timeout_s=1.0)) as kafka, pytest.raises(NoResponseError):
        kafka.alter_reassignments({_A: (1,)})


def test_a_refused_request_is_raised(cluster: Any, kafka: KafkaCluster) -> None:
    """An error of the whole response is an error of the call, and names the missing permission."""
    cluster.answer("AlterPartitionReassignments", _altered({}, top=31))
    with pytest.raises(NotAuthorizedError, match="cannot alter reassignments: CLUSTER_AUTHORIZATION_FAILED") as refused:
        kafka.alter_reassignments({_A: (1,)})
    assert str(refused.value.hint).startswith("grant Alter on the cluster;")


def test_running_reassignments_are_listed(cluster: Any, kafka: KafkaCluster) -> None:
    """With the replicas being added, those being removed, and the target."""
    cluster.answer("ListPartitionReassignments", _running("t", 0, [3, 1, 2], [3], [1]))
    (reassignment,) = kafka.reassignments().values()
    assert (reassignment.replicas, reassignment.adding, reassignment.removing) == ((3, 1, 2), (3,), (1,))
    assert reassignment.target == (3, 2)


def test_an_election_that_is_not_needed_is_a_success(cluster: Any, kafka: KafkaCluster) -> None:
    """A replica that already leads need not be elected."""
    result = ElectLeadersResponse.ReplicaElectionResult
    cluster.answer(
        "ElectLeaders",
        lambda request: ElectLeadersResponse(
            error_code=0,
            replica_election_results=[
                result(
                    topic="t",
                    partition_result=[
                        result.PartitionResult(partition_id=n, error_code=code)
                        for n, code in ((0, 0), (1, 84), (2, 80))
                    ],
                )
            ],
        ),
    )
    faults = kafka.elect_preferred_leaders([_A, _B, _C])
    assert {name: fault.name for name, fault in faults.items()} == {_C: "PREFERRED_LEADER_NOT_AVAILABLE"}
    (asked,) = cluster.asked("ElectLeaders")
    assert asked.election_type == 0


def test_topics_are_created_in_requests_of_ten_thousand_records(cluster: Any) -> None:
    """A controller rejects larger requests; no topic is split, and a failed one is named."""
    topic = CreateTopicsResponse.CreatableTopicResult
    cluster.answer(
        "CreateTopics",
        lambda request: CreateTopicsResponse(
            topics=[
                topic(name=asked.name, error_code=36 if asked.name == "b" else 0, topic_id=None)
                for asked in request.topics
            ]
        ),
    )
    for broker in cluster.brokers.values():
        broker.versions = broker.versions | {19: (2, 4)}
    sizes = {"a": 6000, "b": 3995, "c": 1, "d": 12_000, "e": 1}
    configs = {"retention.ms": "1", "segment.ms": "1", "max.message.bytes": "1"}
    topics = [
        NewTopic(name=name, assignment=((1,),) * size, configs=configs if name == "b" else {})
        for name, size in sizes.items()
    ]
    # the brokers of this test are slow to read so many partitions
    with KafkaCluster(cluster.settings(request_timeout_s=60.0)) as kafka:
        faults = kafka.create_topics(topics)
    assert [fault.name for fault in faults.values()] == ["TOPIC_ALREADY_EXISTS"]
    asked = [[topic.name for topic in request.topics] for request in cluster.asked("CreateTopics")]
    assert asked == [["a", "b"], ["c"], ["d"], ["e"]]


def _described(*results: tuple[int, str, dict[str, tuple[str | None, int]]]) -> Any:
    result = DescribeConfigsResponse.DescribeConfigsResult
    return DescribeConfigsResponse(
        results=[
            result(
                error_code=0,
                resource_type=kind,
                resource_name=name,
                configs=[
                    result.DescribeConfigsResourceResult(name=key, value=value, config_source=source, synonyms=[])
                    for key, (value, source) in values.items()
                ],
            )
            for kind, name, values in results
        ]
    )


def test_configs_are_read_from_each_broker(cluster: Any, kafka: KafkaCluster) -> None:
    """Topics and the default are asked of any broker, a broker's configs of that broker, with their sources."""
    for number, broker in cluster.brokers.items():
        broker.answers["DescribeConfigs"] = lambda request, own=number: (
            _described((4, str(own), {_RATE: (str(own), 2), "log.dirs": ("/d", 4), "x": ("1", 3), "null": (None, 5)}))
            if request.resources[0].resource_name
            else _described((4, "", {_RATE: ("9", 3)}), (2, "a", {"k": ("v", 1), "d": ("w", 5), "inherited": ("i", 4)}))
        )
    values, faults = kafka.configs([_TOPIC_A, _BROKER_1, _BROKER_2, _DEFAULT], [_RATE])
    assert faults == {}
    assert values[_BROKER_1] == {
        _RATE: ConfigValue("1", ConfigSource.OWN),
        "log.dirs": ConfigValue("/d", ConfigSource.STATIC),
        "x": ConfigValue("1", ConfigSource.CLUSTER_DEFAULT),
    }
    assert values[_BROKER_2][_RATE].value == "2"
    assert values[_DEFAULT] == {_RATE: ConfigValue("9", ConfigSource.CLUSTER_DEFAULT)}
    assert values[_TOPIC_A] == {
        "k": ConfigValue("v", ConfigSource.OWN),
        "d": ConfigValue("w", ConfigSource.BUILT_IN),
        "inherited": ConfigValue("i", ConfigSource.STATIC),
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda kafka: kafka.alter_reassignments({_A: (2, 1)}),
        lambda kafka: kafka.elect_preferred_leaders([_A]),
        lambda kafka: kafka.create_topics([NewTopic(name="t", assignment=((1,),))]),
        lambda kafka: kafka.alter_configs([ConfigChange(_TOPIC_A, "k", "v")])[_TOPIC_A],
        lambda kafka: kafka.alter_configs([ConfigChange(_BROKER_1, "k", "v")])[_BROKER_1],
    ],
    ids=["reassign", "elect", "create", "topic-config", "broker-config"],
)
def test_no_change_waits_longer_than_a_broker_may_take(
    cluster: Any, silence: object, change: Callable[[KafkaCluster], object]
) -> None:
    """The timeout per broker holds for requests to the controller, too; the request's own is far longer."""
    for kind in ("AlterPartitionReassignments", "ElectLeaders", "CreateTopics", "IncrementalAlterConfigs"):
        cluster.answer(kind, lambda request: silence)
    with KafkaCluster(cluster.settings(request_timeout_s=3600.0, broker_timeout_s=1.0)) as kafka:
        try:
            fault = str(change(kafka))
        except NoResponseError as error:
            fault = error.message
    assert "did not respond within 1 s" in fault


def _alter_configs(request: Any) -> Any:
    result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(
        responses=[
            result(
                error_code=40 if asked.resource_name == "a" else 0,
                error_message="bad",
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
            for asked in request.resources
        ]
    )


def test_configs_are_changed_where_they_belong(cluster: Any, silence: object) -> None:
    """All keys of a resource go together, to its broker or to the controller; failed ones are named."""
    cluster.answer("IncrementalAlterConfigs", _alter_configs)
    cluster.brokers[2].answers["IncrementalAlterConfigs"] = lambda request: silence
    changes = [
        ConfigChange(_BROKER_1, _RATE, "1"),
        ConfigChange(_BROKER_1, "other", None),
        ConfigChange(_BROKER_2, _RATE, "2"),
        ConfigChange(_DEFAULT, _RATE, "3"),
        ConfigChange(_TOPIC_A, "k", "v"),
    ]
    with KafkaCluster(cluster.settings(broker_timeout_s=3.0)) as kafka:
        faults = kafka.alter_configs(changes)
    assert {resource: fault.name for resource, fault in faults.items()} == {
        _BROKER_2: "timeout",
        _TOPIC_A: "INVALID_CONFIG",
    }
    sent = {
        (r.resource_type, r.resource_name): [(c.name, c.config_operation, c.value) for c in r.configs]
        for request in cluster.brokers[1].asked("IncrementalAlterConfigs")
        for r in request.resources
    }
    assert sent[4, "1"] == [(_RATE, 0, "1"), ("other", 1, None)]
    assert sent[4, ""] == [(_RATE, 0, "3")]


def test_the_configs_of_a_dead_broker_are_changed_through_the_controller(
    cluster: Any, fake_broker: Callable[..., Any]
) -> None:
    """If the settings name the controller's listener, the broker need not be alive (KIP-919)."""
    controller = fake_broker()
    controller.answers["IncrementalAlterConfigs"] = _alter_configs
    settings = cluster.settings(bootstrap_controllers=(f"{controller.host}:{controller.port}",))
    dead = ConfigResource(ResourceKind.BROKER, "9")
    with KafkaCluster(settings) as kafka:
        assert kafka.alter_configs([ConfigChange(dead, _RATE, None)]) == {}
    assert len(controller.asked("IncrementalAlterConfigs")) == 1


def test_the_configs_of_a_dead_broker_are_out_of_reach_otherwise(kafka: KafkaCluster) -> None:
    """Another broker would refuse, so it is not asked."""
    dead = ConfigResource(ResourceKind.BROKER, "9")
    faults = kafka.alter_configs([ConfigChange(dead, _RATE, None)])
    assert faults[dead].name == "unreachable"
    assert faults[dead].retriable


def test_subscriptions_are_named(cluster: Any, kafka: KafkaCluster) -> None:
    """Sorted; without permission, or with brokers without subscriptions, it is an error."""
    kind = ListConfigResourcesResponse.ConfigResource
    named = [kind(resource_name=name, resource_type=16) for name in ("b", "a")]
    cluster.answer(
        "ListConfigResources", lambda request: ListConfigResourcesResponse(error_code=0, config_resources=named)
    )
    assert kafka.client_metrics_subscriptions() == ("a", "b")
    cluster.answer(
        "ListConfigResources", lambda request: ListConfigResourcesResponse(error_code=31, config_resources=[])
    )
    with pytest.raises(NotAuthorizedError, match="subscriptions to client metrics"):
        kafka.client_metrics_subscriptions()


def test_old_brokers_know_no_subscriptions(cluster: Any) -> None:
    """This is reported before anything is sent."""
    for broker in cluster.brokers.values():
        del broker.versions[74]
    with KafkaCluster(cluster.settings()) as kafka, pytest.raises(MissingCapabilityError) as caught:
        kafka.client_metrics_subscriptions()
    assert "3.7" in str(caught.value.hint)


def _topic(name: str, *replicas: list[int]) -> Any:
    topic = MetadataResponse.MetadataResponseTopic
    partitions = [
        topic.MetadataResponsePartition(
            partition_index=n, leader_id=ids[0], replica_nodes=ids, isr_nodes=ids, offline_replicas=[]
        )
        for n, ids in enumerate(replicas)
    ]
    return topic(name=name, error_code=0, partitions=partitions)


def _running(
    name: str, partition: int, replicas: list[int], adding: list[int], removing: list[int]
) -> Callable[[Any], Any]:
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    moving = topic.OngoingPartitionReassignment(
        partition_index=partition, replicas=replicas, adding_replicas=adding, removing_replicas=removing
    )
    return lambda request: ListPartitionReassignmentsResponse(
        error_code=0, topics=[topic(name=name, partitions=[moving])]
    )
