"""The boundary to kafka-python: converts its errors, and error codes in responses, to ours.

A code for one item of a response becomes a :class:`~kafkabal.clusters.cluster_protocol.Fault`, one for the whole
response an exception.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import kafka.errors as foreign

from kafkabal.clusters.cluster_protocol import Fault
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

NO_ERROR = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
INVALID_TOPIC = 17
ILLEGAL_GENERATION = 22
INCONSISTENT_GROUP_PROTOCOL = 23
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_VERSION = 35
TOPIC_ALREADY_EXISTS = 36
INVALID_REPLICATION_FACTOR = 38
INVALID_REPLICA_ASSIGNMENT = 39
NOT_CONTROLLER = 41
KAFKA_STORAGE_ERROR = 56
OFFSET_NOT_AVAILABLE = 78
MEMBER_ID_REQUIRED = 79
ELECTION_NOT_NEEDED = 84

# codes for which kafka-python's name differs from Kafka's own
_KAFKAS_OWN_NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    39: "INVALID_REPLICA_ASSIGNMENT",
}

UNREACHABLE = "unreachable"
"""Name of the fault of an item whose request could not be sent."""
TIMEOUT = "timeout"
"""Name of the fault of an item whose request was sent but got no response: it may have taken effect."""
REFUSED = "refused"
"""Name of the fault of an item whose request was refused as a whole."""

# what brokers answer until a leader, a controller, a coordinator or enough followers are there; Kafka calls many other
# errors retriable, such as an unknown topic, but waiting for brokers does not help with those
_WHILE_BROKERS_ARE_AWAY = (
    foreign.NotEnoughReplicasError,
    foreign.NotEnoughReplicasAfterAppendError,
    foreign.NotControllerError,
    foreign.LeaderNotAvailableError,
    foreign.NotLeaderForPartitionError,
    foreign.CoordinatorLoadInProgressError,
    foreign.CoordinatorNotAvailableError,
    foreign.NotCoordinatorError,
)

# in this order: the first match decides
_BECOMES: tuple[tuple[type[Exception], type[KafkabalError]], ...] = (
    (foreign.AuthorizationError, NotAuthorizedError),
    (foreign.UnsupportedVersionError, MissingCapabilityError),
    (foreign.RequestTimedOutError, NoResponseError),
    (foreign.NetworkExceptionError, NoResponseError),
    *((kind, TemporaryRefusalError) for kind in _WHILE_BROKERS_ARE_AWAY),
    (foreign.BrokerResponseError, RefusedByClusterError),
    (foreign.KafkaTimeoutError, NoResponseError),
    (foreign.KafkaConnectionError, UnreachableError),
    (foreign.NodeNotReadyError, UnreachableError),
    (foreign.MetadataEmptyBrokerList, UnreachableError),
    (foreign.IncompatibleBrokerVersion, MissingCapabilityError),
    (foreign.UnrecognizedBrokerVersion, MissingCapabilityError),
    (foreign.UnsupportedCodecError, MissingCapabilityError),
    (foreign.KafkaConfigurationError, ConfigError),
    (foreign.IllegalArgumentError, ConfigError),
    (foreign.KafkaError, RefusedByClusterError),
)
# raised by its decoders and SASL exchanges if the other side violates the protocol
_MALFORMED = (struct.error, ValueError, IndexError, KeyError, TypeError, AttributeError)


_PERMISSIONS_PAGE = "'kafkabal help permissions' lists what each command needs"


def error_name(code: int) -> str:
    """Kafka's name of a code, such as ``NOT_CONTROLLER``; ``ERROR_n`` for a code that is newer than the library."""
    if code in _KAFKAS_OWN_NAMES:
        return _KAFKAS_OWN_NAMES[code]
    return str(foreign.kafka_errors[code].message) if code in foreign.kafka_errors else f"ERROR_{code}"


def fault_of(code: int, message: str | None = None) -> Fault:
    """The fault of an item with this code in its response."""
    kind = foreign.for_code(code)
    return Fault(error_name(code), message or kind.description or "", retriable=bool(kind.retriable))


def fault_of_error(error: KafkabalError) -> Fault:
    """The fault of every item of a request that failed as a whole."""
    if isinstance(error, NoResponseError):
        return Fault(TIMEOUT, error.message, retriable=True)
    if isinstance(error, UnreachableError):
        return Fault(UNREACHABLE, error.message, retriable=True)
    return Fault(REFUSED, error.message)


def check(
    code: int, what: str, message: str | None = None, *, hint: str | None = None, permission: str | None = None
) -> None:
    """Raise the error for a code, unless it means success.

    Parameters
    ----------
    what
        What was requested, for messages: ``describe the log dirs of broker 3``.
    permission
        The permission that the principal lacks if it is refused: ``Describe on the cluster``.

    Raises
    ------
    KafkabalError
        The type that matches the code.
    """
    if code != NO_ERROR:
        kind = _becomes(foreign.for_code(code))
        if kind is NotAuthorizedError and permission is not None:
            # the broker's message names a connection and a request, but not the missing permission
            raise not_authorized(f"cannot {what}: {error_name(code)}", permission)
        raise kind(f"cannot {what}: {fault_of(code, message)}", hint=hint or _hint(kind))


def not_authorized(message: str, permission: str) -> NotAuthorizedError:
    """The error for a missing permission, which it names."""
    return NotAuthorizedError(message, hint=f"grant {permission}; {_PERMISSIONS_PAGE}")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Convert every kafka-python error raised inside to one of ours.

    Parameters
    ----------
    what
        What is being processed, for messages: ``the response of broker1:9092``.
    """
    try:
        yield
    except foreign.KafkaError as error:
        kind = _becomes(type(error))
        detail = error.args[0] if error.args else getattr(error, "description", None) or type(error).__name__
        raise kind(f"{what}: {detail}", hint=_hint(kind)) from error
    except _MALFORMED as error:
        raise RefusedByClusterError(f"protocol error from {what}: {error}") from error


def _becomes(error: type[Exception]) -> type[KafkabalError]:
    return next((ours for theirs, ours in _BECOMES if issubclass(error, theirs)), RefusedByClusterError)


def _hint(kind: type[KafkabalError]) -> str | None:
    if kind is NotAuthorizedError:
        return _PERMISSIONS_PAGE
    if kind is TemporaryRefusalError:
        return "'kafkabal inspect' shows which brokers are dead; try again once they are back"
    return None
