"""Placed topics are created as placed, or the failed ones are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkabal.clusters.cluster_protocol import Capability, NewTopic, ReadRequest, ReplicaOn
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import CallOutcome, FaultyCluster
from kafkabal.errors import ExitCode, MissingCapabilityError, PartialFailureError, UnreachableError
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.placement.create_topics import TopicToCreate, create_all, validate
from kafkabal.placement.placement_request import TopicExistsError
from kafkabal.plan.plan import ANY_DIR
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def two_dirs() -> FaultyCluster:
    """Three brokers with two log dirs each, and one topic."""
    return FaultyCluster(InMemoryCluster.of(cluster(brokers(3, dirs=2), [topic("there", [1])])))


def to_create(name: str, *replicas: int, log_dir: str = ANY_DIR) -> TopicToCreate:
    """A topic of one partition."""
    return TopicToCreate(NewTopic(name=name, assignment=(replicas,)), ((log_dir,) * len(replicas),))


def test_topics_are_created_as_placed() -> None:
    """Replicas are on the brokers that were chosen; the first leads."""
    target = two_dirs()
    create_all(target, [to_create("a", 2, 3), to_create("b", 1)])

    status = target.partition_status(["a", "b"])
    assert status[TopicPartition("a", 0)].replicas == (2, 3)
    assert status[TopicPartition("a", 0)].leader == 2
    assert status[TopicPartition("b", 0)].replicas == (1,)


def test_log_dirs_are_chosen_before_the_topic_exists() -> None:
    """A log dir is requested before the topic exists, so that nothing is copied; none is requested if none is
    chosen."""
    target = two_dirs()
    assert not create_all(target, [to_create("a", 2, log_dir="/d1"), to_create("b", 1)])

    assert [call.method for call in target.calls] == ["move_log_dirs", "create_topics"]
    state = target.read(ReadRequest()).state
    row = state.topics.name.index("a")
    replica = int(state.partitions.first[(state.partitions.topic == row).argmax()])
    assert state.log_dirs.path[state.replicas.log_dir[replica]] == "/d1"


@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_a_refused_log_dir_does_not_stop_creation(outcome: CallOutcome) -> None:
    """A principal may create topics without the permission to move replicas; the caller learns which dirs are open."""
    target = two_dirs()
    target.fail_method("move_log_dirs", outcome)
    refused = create_all(target, [to_create("a", 2, log_dir="/d1"), to_create("b", 1)])

    assert list(refused) == [ReplicaOn("a", 0, 2)]
    assert TopicPartition("a", 0) in target.partition_status(["a"])


def test_each_refused_log_dir_is_named() -> None:
    """The log dir of a topic with a very long name cannot be chosen."""
    long = "a" * 240

    refused = create_all(two_dirs(), [to_create(long, 2, log_dir="/d1"), to_create("b", 1, log_dir="/d1")])

    assert list(refused) == [ReplicaOn(long, 0, 2)]


def test_invalid_topics_are_named_before_any_is_created() -> None:
    """Validation names the faulty topics and changes nothing."""
    target = two_dirs()
    with pytest.raises(PartialFailureError, match="the controller rejects 2 of 3 topics") as caught:
        validate(target, [to_create("new", 1), to_create("there", 1), to_create("far", 9)])

    assert [name for name, _ in caught.value.failures] == ["far", "there"]
    assert target.partition_status(["new"]) == {}


def test_partial_failures_are_named() -> None:
    """Those that could be created exist, the others are listed with the reason, and the hint says how to continue."""
    target = two_dirs()
    with pytest.raises(PartialFailureError, match=r"^cannot create 1 of 2 topics; created: new\n") as caught:
        create_all(target, [to_create("new", 1), to_create("there", 1)])

    assert caught.value.failures == (("there", "TOPIC_ALREADY_EXISTS: topic there already exists"),)
    assert caught.value.hint == "run the same command again: topics that exist are compared, not changed"
    assert TopicPartition("new", 0) in target.partition_status(["new"])


@pytest.mark.parametrize("step", [validate, create_all])
def test_a_topic_that_others_have_created_meanwhile_exists(step: Callable[..., None]) -> None:
    """It is the same error as if it had existed when the cluster was read, as long as nothing was created."""
    with pytest.raises(TopicExistsError, match=r"^topic there already exists\n") as caught:
        step(two_dirs(), [to_create("there", 1)])

    assert caught.value.exit_code == ExitCode.USAGE


def test_a_cluster_that_cannot_create_is_refused_at_once() -> None:
    """A missing capability is reported before any call."""
    without = InMemoryCluster(two_dirs().inner.kafka, without=[Capability.CREATE_TOPICS])  # type: ignore[attr-defined]
    with pytest.raises(MissingCapabilityError, match="creating topics is not supported"):
        validate(without, [to_create("a", 1)])


def test_a_lost_response_leaves_open_what_was_created() -> None:
    """The topic exists though the request failed: the error says so, and how to continue."""
    target = two_dirs()
    target.fail_method("create_topics", CallOutcome.RESPONSE_LOST)
    with pytest.raises(UnreachableError, match=r"^some topics may have been created: ") as caught:
        create_all(target, [to_create("a", 1)])

    assert TopicPartition("a", 0) in target.partition_status(["a"])
    assert "--if-not-exists" in (caught.value.hint or "")
