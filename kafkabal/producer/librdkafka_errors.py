"""Maps librdkafka's errors to our own."""

from __future__ import annotations

from confluent_kafka import KafkaError

from kafkabal.errors import (
    KafkabalError,
    NotAuthorizedError,
    OperationError,
    RefusedByClusterError,
    UnreachableError,
    UsageError,
)

_UNKNOWN = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}  # noqa: SLF001
)
_UNREACHABLE = frozenset(
    {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._TIMED_OUT}  # noqa: SLF001
)
_TIMED_OUT_RECORD = frozenset(
    {KafkaError._MSG_TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE}  # noqa: SLF001
)
_NOT_AUTHORIZED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,  # noqa: SLF001
    }
)
_TOO_FEW_IN_SYNC = frozenset({KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
_KAFKA_STORAGE_ERROR = 56
# librdkafka gives the broker's error for its own limit, too
_SIZE_HINT = "max.message.bytes of the topic and message.max.bytes of the client limit the size of a record"


def error_of(fault: KafkaError, topic: str) -> KafkabalError:
    """Our error for an error that librdkafka reports about a topic."""
    code = fault.code()
    text = f"topic {topic}: {fault.str()}"
    if code in _UNKNOWN:
        return OperationError(
            f"topic {topic} or some of its partitions no longer exist", hint="it may have been deleted"
        )
    if code in _NOT_AUTHORIZED:
        return NotAuthorizedError(text, hint="the principal needs Write and Describe on the topic")
    if code in _UNREACHABLE:
        return UnreachableError(text)
    if code in _TIMED_OUT_RECORD:
        return UnreachableError(
            f"topic {topic}: record not acknowledged within delivery.timeout.ms ({fault.name()})",
            hint="a broker may be down, full or slow; check with 'kafkabal inspect'",
        )
    if code in _TOO_FEW_IN_SYNC:
        return RefusedByClusterError(text, hint="fewer replicas are in sync than min.insync.replicas requires")
    if code == _KAFKA_STORAGE_ERROR:
        return RefusedByClusterError(text, hint="a log dir of the broker is full or offline")
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return RefusedByClusterError(text, hint=_SIZE_HINT)
    return RefusedByClusterError(text)


def config_error_of(fault: KafkaError) -> UsageError:
    """Our error for a client setting that librdkafka rejects."""
    return UsageError(f"client configuration: {one_line(fault)}")


def one_line(fault: KafkaError) -> str:
    """librdkafka's error text, which may have several lines, as one line."""
    return " ".join(fault.str().split())
