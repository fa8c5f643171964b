"""No kafka-python error crosses the boundary."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import kafka.errors as foreign
import pytest

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.kafka.error_mapping import check, error_name, fault_of, fault_of_error, translated
from kafkabal.errors import (
    ConfigError,
    KafkabalError,
    MissingCapabilityError,
    NoResponseError,
    NotAuthorizedError,
    RefusedByClusterError,
    TemporaryRefusalError,
    UnreachableError,
)


def _all_below(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all_below(below)


_FOREIGN = sorted(set(_all_below(foreign.KafkaError)), key=lambda kind: kind.__name__)
_CODES = sorted(code for code in foreign.kafka_errors if code)


@pytest.mark.parametrize("kind", _FOREIGN, ids=lambda kind: kind.__name__)
def test_every_error_of_the_library_becomes_one_of_ours(kind: type[Exception]) -> None:
    """Every error of kafka-python becomes one line of ours that names what was being done."""
    with pytest.raises(KafkabalError) as caught, translated("the response of b:1"):
        raise kind({}) if kind is foreign.LogTruncationError else kind()
    assert caught.value.message.startswith("the response of b:1: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (foreign.ClusterAuthorizationFailedError, NotAuthorizedError),
        (foreign.TopicAuthorizationFailedError, NotAuthorizedError),
        (foreign.IncompatibleBrokerVersion, MissingCapabilityError),
        (foreign.UnsupportedVersionError, MissingCapabilityError),
        (foreign.RequestTimedOutError, NoResponseError),
        (foreign.KafkaTimeoutError, NoResponseError),
        (foreign.KafkaConnectionError, UnreachableError),
        (foreign.KafkaConfigurationError, ConfigError),
        (foreign.PolicyViolationError, RefusedByClusterError),
        (foreign.UnknownTopicOrPartitionError, RefusedByClusterError),
        (foreign.NotEnoughReplicasError, TemporaryRefusalError),
        (foreign.NotControllerError, TemporaryRefusalError),
        (foreign.KafkaError, RefusedByClusterError),
    ],
)
def test_error_codes_are_mapped_to_exceptions(kind: type[Exception], ours: type[KafkabalError]) -> None:
    """The types that decide an exit code or a retry are distinguished."""
    with pytest.raises(KafkabalError) as caught, translated("x"):
        raise kind("why")
    assert type(caught.value) is ours


@pytest.mark.parametrize("error", [struct.error("short"), ValueError("bad"), IndexError("far"), KeyError("r")])
def test_a_malformed_answer_is_the_brokers_fault(error: Exception) -> None:
    """Decoding errors on bytes that are not Kafka's are reported as such."""
    with pytest.raises(RefusedByClusterError, match="protocol error"), translated("x"):
        raise error


@pytest.mark.parametrize("code", _CODES)
def test_every_code_has_a_name_and_raises(code: int) -> None:
    """Each error code of the protocol has a name for faults, and raises an error of ours with that name."""
    assert fault_of(code).name == error_name(code)
    assert error_name(code).replace("_", "").isupper()
    with pytest.raises(KafkabalError, match=error_name(code)):
        check(code, "do it")


def test_success_raises_no_error() -> None:
    """Code 0 is no error, and its name is that of Kafka."""
    check(0, "do it")
    assert error_name(0) == "NONE"


def test_a_code_newer_than_the_library_keeps_its_number() -> None:
    """An unknown code is a refusal that names the number."""
    with pytest.raises(RefusedByClusterError, match="cannot do it: ERROR_9999: brand new"):
        check(9999, "do it", "brand new")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (6, "NOT_LEADER_OR_FOLLOWER"),
        (9, "REPLICA_NOT_AVAILABLE"),
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (39, "INVALID_REPLICA_ASSIGNMENT"),
        (56, "KAFKA_STORAGE_ERROR"),
        (84, "ELECTION_NOT_NEEDED"),
        (85, "NO_REASSIGNMENT_IN_PROGRESS"),
    ],
)
def test_names_are_those_of_kafka(code: int, name: str) -> None:
    """If kafka-python's name of a code differs, Kafka's own name is used."""
    assert error_name(code) == name


def test_faults_distinguish_unsent_from_unanswered_requests() -> None:
    """A request without a response may have taken effect; one that was not sent has not."""
    assert fault_of_error(UnreachableError("gone")) == Fault("unreachable", "gone", retriable=True)
    assert fault_of_error(NoResponseError("late")) == Fault("timeout", "late", retriable=True)
    assert fault_of_error(NotAuthorizedError("no")) == Fault("refused", "no", retriable=False)
