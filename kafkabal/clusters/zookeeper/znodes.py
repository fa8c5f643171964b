"""A Kafka cluster's data in ZooKeeper: its brokers, its controller, and pending requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from kafkabal.config import SecurityProtocol
from kafkabal.errors import ConfigError, NotAuthorizedError, RefusedByClusterError, UnreachableError
from kafkabal.model import TopicPartition
from kafkabal.wording import counted_noun

# without a handler its warnings would appear on the terminal
logging.getLogger("kazoo").addHandler(logging.NullHandler())

_BROKERS = "/brokers/ids"
_CONTROLLER = "/controller"
_REASSIGNMENTS = "/admin/reassign_partitions"
_ELECTIONS = "/admin/preferred_replica_election"
RESPONDS_WITHIN_S = 10.0
"""An ensemble elects a leader within seconds; kazoo tries every server in turn."""
_CLOSES_WITHIN_S = 2.0
"""A server that does not respond expires the session by itself."""
_LOST = (ConnectionLoss, ConnectionClosedError, SessionExpiredError, OperationTimeoutError, KazooTimeoutError)


@contextmanager
def translated(servers: str) -> Iterator[None]:
    """Convert every kazoo error raised inside to one of ours."""
    try:
        yield
    except _LOST as error:
        raise no_response(servers) from error
    except NoAuthError as error:
        raise NotAuthorizedError(f"ZooKeeper at {servers}: not authorized") from error
    except KazooException as error:
        raise RefusedByClusterError(f"ZooKeeper at {servers}: {error or type(error).__name__}") from error


def open_zookeeper(servers: str, within_s: float, session_s: float | None = None) -> KazooClient:
    """Connect.

    Parameters
    ----------
    within_s
        How long the servers may take to respond, now and later.
    session_s
        Time without a heartbeat after which they expire the session; by default ``within_s``.

    Raises
    ------
    ConfigError
        If the addresses are malformed.
    UnreachableError
        If no server responds.
    """
    try:
        client = KazooClient(hosts=servers, timeout=session_s or within_s)
    except ValueError as error:
        hint = "write host:port,host:port, with the chroot at the end, such as zk1:2181,zk2:2181/kafka"
        raise ConfigError(f"invalid ZooKeeper addresses: {servers!r}", hint=hint) from error
    # its start() would wait for a server that accepts and never responds until the session is over
    client.start_async().wait(within_s)
    if not client.connected:
        abandon_zookeeper(client)
        raise no_response(servers)
    return client


def close_zookeeper(client: KazooClient) -> None:
    """Close the session, which removes its ephemeral znodes."""
    abandon_zookeeper(client).join(_CLOSES_WITHIN_S)


def abandon_zookeeper(client: KazooClient) -> Thread:
    """Close the session in the background: kazoo would wait for a server that does not respond."""

    def close() -> None:
        client.stop()
        client.close()

    thread = Thread(target=close, name="kafkabal-zookeeper", daemon=True)
    thread.start()
    return thread


def no_response(servers: str) -> UnreachableError:
    """The error of servers that do not respond."""
    hint = "check that this is the address of a ZooKeeper server"
    return UnreachableError(f"ZooKeeper at {servers} did not respond", hint=hint)


class Znodes:
    """The znodes of one Kafka cluster; ``servers`` may end in its chroot."""

    def __init__(self, servers: str, within_s: float = RESPONDS_WITHIN_S) -> None:
        self._servers = servers
        self._client = open_zookeeper(servers, within_s)

    def close(self) -> None:
        """Close the connection."""
        close_zookeeper(self._client)

    def bootstrap_servers(self, protocol: SecurityProtocol) -> tuple[str, ...]:
        """``host:port`` of each registered broker's listener with this security protocol.

        Raises
        ------
        UnreachableError
            If no broker is registered, or none has such a listener.
        """
        with translated(self._servers):
            try:
                ids = sorted(self._client.get_children(_BROKERS), key=int)
            except NoNodeError:
                ids = []
            found = [_listener(broker, protocol) for id_ in ids if (broker := self._read(f"{_BROKERS}/{id_}"))]
        servers = tuple(server for server in found if server is not None)
        if not servers:
            lack = (
                f"none of its {counted_noun(len(ids), 'broker')} has a listener for {protocol}"
                if ids
                else "no broker is registered"
            )
            raise UnreachableError(
                f"ZooKeeper at {self._servers}: {lack}",
                hint=None if ids else "if the cluster uses a chroot, write HOST:PORT/CHROOT",
            )
        return servers

    def reassignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Targets of the reassignments requested through ZooKeeper that the controller has not completed."""
        with translated(self._servers):
            content = self._read(_REASSIGNMENTS) or {}
        return {TopicPartition(p["topic"], p["partition"]): tuple(p["replicas"]) for p in content.get("partitions", ())}

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        """Ask the controller to reassign partitions.

        Raises
        ------
        RefusedByClusterError
            If it is still working on an earlier request.
        """
        partitions = [{**name._asdict(), "replicas": list(replicas)} for name, replicas in sorted(targets.items())]
        self._ask(_REASSIGNMENTS, partitions, "reassignment")

    def elect(self, partitions: Collection[TopicPartition]) -> None:
        """Ask the controller to elect preferred leaders.

        Raises
        ------
        RefusedByClusterError
            If it is still working on an earlier request.
        """
        self._ask(_ELECTIONS, [name._asdict() for name in sorted(partitions)], "election of preferred leaders")

    def _ask(self, path: str, partitions: list[dict[str, Any]], what: str) -> None:
        content = json.dumps({"version": 1, "partitions": partitions}).encode()
        with translated(self._servers):
            if self._read(_CONTROLLER) is None:
                raise UnreachableError(f"ZooKeeper at {self._servers}: the cluster has no controller")
            try:
                self._client.create(path, content)
            except NodeExistsError as error:
                raise RefusedByClusterError(f"another {what} is running ({path} exists)") from error

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            content, _ = self._client.get(path)
        except NoNodeError:
            return None
        return dict(json.loads(content))


def _listener(broker: Mapping[str, Any], protocol: SecurityProtocol) -> str | None:
    protocols = broker.get("listener_security_protocol_map", {})
    for endpoint in broker.get("endpoints", ()):
        parts = urlsplit(endpoint)
        if protocols.get(parts.scheme.upper(), parts.scheme.upper()) == protocol:
            return str(parts.netloc)
    return None
