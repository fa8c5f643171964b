"""Creates placed topics: first validated by the controller, then created with the chosen log dirs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafkabal.clusters import Capability, Cluster, Fault, NewTopic, ReplicaOn
from kafkabal.errors import MissingCapabilityError, NoResponseError, OperationError, PartialFailureError
from kafkabal.placement.placement_request import TopicCollidesError, TopicExistsError
from kafkabal.plan import ANY_DIR
from kafkabal.wording import counted_noun, first_of

AGAIN_AFTER_DOUBT: Final = (
    "run the same command again, with --if-not-exists: topics that exist are compared, not changed"
)
"""What to do if it is unknown which topics were created."""
_WILL_REMEMBER: Final = frozenset({"REPLICA_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"})
"""Responses of a broker that has no such replica, or knows no such topic yet, and stores the request."""
_COLLISION = re.compile(r"collides with existing topics?: (?P<rival>[^,]+)")
"""In the message of a controller; Kafka has no error code of its own for this."""


@dataclass(frozen=True, slots=True)
class TopicToCreate:
    """A topic to create, and the log dir of each replica; ``any`` lets the broker choose."""

    topic: NewTopic
    log_dirs: tuple[tuple[str, ...], ...]


def validate(cluster: Cluster, topics: Sequence[TopicToCreate]) -> None:
    """Ask the controller whether it would create all topics.

    Raises
    ------
    MissingCapabilityError
        If this kind of cluster cannot create topics.
    TopicExistsError, TopicCollidesError
        If others have created the refused ones, or such that Kafka does not distinguish from them, since the cluster
        was read; nothing was created.
    PartialFailureError
        Naming the topics that it would refuse; nothing was created.
    """
    if Capability.CREATE_TOPICS not in cluster.capabilities:
        raise MissingCapabilityError(f"creating topics is not supported: {cluster.name}")
    faults = cluster.create_topics([each.topic for each in topics], validate_only=True)
    if faults:
        _refuse_taken(faults)
        raise _failure(
            f"no topic created: the controller rejects {len(faults)} of {counted_noun(len(topics), 'topic')}", faults
        )


def create_all(cluster: Cluster, topics: Sequence[TopicToCreate]) -> Collection[ReplicaOn]:
    """Create the topics, each replica in its chosen log dir.

    A broker that gets a log dir for a replica before the replica exists creates it there (KIP-113), so the
    log dirs are requested first and nothing is copied. If that request fails, the broker chooses the dir.

    Returns
    -------
    Collection of ReplicaOn
        Those whose log dir the broker chose, against the request.

    Raises
    ------
    TopicExistsError, TopicCollidesError
        If others have created all of them, or such that Kafka does not distinguish from them, since validation.
    PartialFailureError
        Naming the topics that were not created, and those that were.
    NoResponseError
        If some may have been created.
    """
    refused = _request_log_dirs(cluster, topics)
    try:
        faults = cluster.create_topics([each.topic for each in topics])
    except NoResponseError as error:
        # the failed request alone would read as if nothing had been created
        raise NoResponseError(f"some topics may have been created: {error.message}", hint=AGAIN_AFTER_DOUBT) from error
    if faults:
        created = [each.topic.name for each in topics if each.topic.name not in faults]
        if not created:
            _refuse_taken(faults)
        done = f"; created: {first_of(created)}" if created else ""
        raise _failure(
            f"cannot create {len(faults)} of {counted_noun(len(topics), 'topic')}{done}",
            faults,
            # several topics come from a file, of which existing ones are not an error
            hint="run the same command again: topics that exist are compared, not changed" if created else None,
        )
    return refused


def _refuse_taken(faults: Mapping[str, Fault]) -> None:
    """Raise the error of a taken name if nothing but that is wrong."""
    rivals = {name: _COLLISION.search(fault.message) for name, fault in faults.items()}
    if not all(rivals[name] or fault.name == "TOPIC_ALREADY_EXISTS" for name, fault in faults.items()):
        return
    for name, rival in sorted(rivals.items()):
        if rival is not None:
            raise TopicCollidesError(name, rival["rival"])
    raise TopicExistsError(min(faults))


def _request_log_dirs(cluster: Cluster, topics: Sequence[TopicToCreate]) -> Collection[ReplicaOn]:
    """Request the chosen log dirs; returns the replicas for which this fails."""
    requested = {
        ReplicaOn(each.topic.name, partition, broker): path
        for each in topics
        for partition, (brokers, paths) in enumerate(zip(each.topic.assignment, each.log_dirs, strict=True))
        for broker, path in zip(brokers, paths, strict=True)
        if path != ANY_DIR
    }
    if not requested or Capability.MOVE_LOG_DIRS not in cluster.capabilities:
        return requested.keys()
    # moving replicas needs another permission than creating topics, which may be missing
    try:
        faults = cluster.move_log_dirs(requested)
    except OperationError:
        return requested.keys()
    return [replica for replica, fault in faults.items() if fault.name not in _WILL_REMEMBER]


def _failure(message: str, faults: Mapping[str, Fault], hint: str | None = None) -> PartialFailureError:
    """An error that names each failed topic; ``hint`` is what to do unless a permission is missing."""
    is_denied = any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in faults.values())
    grant = "grant Create on the cluster, or on these topics; 'kafkabal help permissions' lists what each command needs"
    failures = [(name, str(fault)) for name, fault in sorted(faults.items())]
    return PartialFailureError(message, failures, hint=grant if is_denied else hint)
