"""Brokers that speak Kafka's protocol on loopback and respond as a test tells them."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol

import kafka.protocol.admin as admin
import kafka.protocol.consumer as consumer
import kafka.protocol.metadata as metadata
import kafka.protocol.producer as producer
import kafka.protocol.sasl as sasl
import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.kafka import messages, native_records
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.config.connection_settings import ConnectionSettings

if TYPE_CHECKING:
    import ssl

_REQUESTS: dict[int, Any] = {
    kind.API_KEY: kind
    for module in (admin, consumer, metadata, producer, sasl)
    for name in module.__all__
    if name.endswith("Request") and hasattr(kind := getattr(module, name), "API_KEY")
}
_REQUESTS[messages.DescribeShareGroupOffsetsRequest.API_KEY] = messages.DescribeShareGroupOffsetsRequest
VERSIONS: dict[int, tuple[int, int]] = {17: (0, 1), 36: (0, 2), **BROKER_API_VERSIONS[4, 1]}
SILENCE = object()
"""An answer that never comes."""
HANG_UP = object()
"""The connection ends instead of an answer."""


class FakeBroker:
    """Responds to each kind of request, named by its class without ``Request``, with the result of its function."""

    def __init__(self, versions: dict[int, tuple[int, int]] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.host = "127.0.0.1"
        self.answers: dict[str, Callable[[Any], Any]] = {"ApiVersions": self._api_versions}
        self.requests: list[Any] = []
        self.connections = 0
        self.versions = dict(VERSIONS if versions is None else versions)
        self._tls = tls
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def asked(self, kind: str) -> list[Any]:
        """All requests of a kind that arrived."""
        return [request for request in self.requests if request.name == f"{kind}Request"]

    def drop_connections(self) -> None:
        """Close all connections, as a broker does with idle ones."""
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.drop_connections()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._open.append(connection)
            with connection, connection.makefile("rb") as stream:
                while head := stream.read(4):
                    (size,) = struct.unpack(">i", head)
                    if size > 10**8:
                        return
                    if not self._answer(connection, stream.read(size)):
                        return

    def _answer(self, connection: socket.socket, frame: bytes) -> bool:
        key, version, correlation_id = struct.unpack_from(">hhi", frame)
        kind = _REQUESTS[key]
        request = kind.decode(frame, version=min(version, kind.max_version), header=True)
        self.requests.append(request)
        answer = self.answers[request.name.removesuffix("Request")](request)
        if answer is SILENCE:
            return True
        if answer is HANG_UP:
            return False
        known = self.versions.get(key, (0, 0))
        is_refused = key == metadata.ApiVersionsRequest.API_KEY and not known[0] <= version <= known[1]
        answer.API_VERSION = 0 if is_refused else version
        answer.with_header(correlation_id=correlation_id)
        connection.sendall(answer.encode(header=True, framed=True))
        return True

    def _api_versions(self, request: Any) -> Any:
        low, high = self.versions[metadata.ApiVersionsRequest.API_KEY]
        is_known = low <= request.header.request_api_version <= high
        kind = metadata.ApiVersionsResponse.ApiVersion
        keys = [kind(api_key=k, min_version=a, max_version=b) for k, (a, b) in self.versions.items()]
        return metadata.ApiVersionsResponse(error_code=0 if is_known else 35, api_keys=keys)


class FakeCluster:
    """Some brokers, numbered from 1, with one controller among them; they hold no topics by default."""

    def __init__(self, brokers: int, versions: dict[int, tuple[int, int]] | None = None) -> None:
        self.brokers = {number: FakeBroker(versions) for number in range(1, brokers + 1)}
        self.controller = 1
        self.topics: list[Any] = []
        """Topics of a ``MetadataResponse``."""
        self.strangers: list[Any] = []
        """Topics that only come when they are asked for by name."""
        for broker in self.brokers.values():
            broker.answers["Metadata"] = self._metadata

    def answer(self, kind: str, function: Callable[[Any], Any]) -> None:
        """Make all brokers respond alike to a kind of request."""
        for broker in self.brokers.values():
            broker.answers[kind] = function

    def asked(self, kind: str) -> list[Any]:
        """All requests of a kind that arrived at any broker."""
        return [request for broker in self.brokers.values() for request in broker.asked(kind)]

    def settings(self, *seeds: int, **changes: Any) -> ConnectionSettings:
        """Settings with some brokers, or all, as bootstrap servers.

        Timeouts are far longer than any response takes on a busy machine; a test of an unresponsive broker gives its
        own, of seconds if another broker must respond meanwhile.
        """
        chosen = [self.brokers[number] for number in seeds or self.brokers]
        servers = tuple(f"{broker.host}:{broker.port}" for broker in chosen)
        usual: dict[str, Any] = {"bootstrap_servers": servers, "request_timeout_s": 20.0, "connect_timeout_s": 10.0}
        return ConnectionSettings(**(usual | changes))

    def close(self) -> None:
        """Stop all brokers."""
        for broker in self.brokers.values():
            broker.close()

    def _metadata(self, request: Any) -> Any:
        kind = metadata.MetadataResponse.MetadataResponseBroker
        named = None if request.topics is None else {topic.name for topic in request.topics}
        topics = self.topics if named is None else [t for t in (*self.topics, *self.strangers) if t.name in named]
        return metadata.MetadataResponse(
            brokers=[
                kind(node_id=number, host=broker.host, port=broker.port, rack=f"r{number}")
                for number, broker in self.brokers.items()
            ],
            cluster_id="fake",
            controller_id=self.controller,
            topics=topics,
        )


class MakeFakeCluster(Protocol):
    """Creates clusters that are closed with the test."""

    def __call__(self, brokers: int = ..., versions: dict[int, tuple[int, int]] | None = ...) -> FakeCluster:
        """Return a cluster of brokers that listen."""


class MakeClient(Protocol):
    """Creates clients that are closed with the test."""

    def __call__(self, settings: ConnectionSettings) -> KafkaClient:
        """Return a client."""


@pytest.fixture
def fake_broker() -> Iterator[Callable[..., FakeBroker]]:
    """Create single brokers."""
    with ExitStack() as at_end:

        def make(**options: Any) -> FakeBroker:
            broker = FakeBroker(**options)
            at_end.callback(broker.close)
            return broker

        yield make


@pytest.fixture
def fake_cluster() -> Iterator[MakeFakeCluster]:
    """Create clusters."""
    with ExitStack() as at_end:

        def make(brokers: int = 1, versions: dict[int, tuple[int, int]] | None = None) -> FakeCluster:
            cluster = FakeCluster(brokers, versions)
            at_end.callback(cluster.close)
            return cluster

        yield make


@pytest.fixture
def make_client() -> Iterator[MakeClient]:
    """Create clients with the real clock."""
    with ExitStack() as at_end:

        def make(settings: ConnectionSettings) -> KafkaClient:
            client = KafkaClient(settings, SystemClock())
            at_end.callback(client.close)
            return client

        yield make


@pytest.fixture(scope="session")
def silence() -> object:
    """A response that never comes."""
    return SILENCE


@pytest.fixture(scope="session")
def hang_up() -> object:
    """The connection closes instead of a response."""
    return HANG_UP


@pytest.fixture(params=["library", "python"])
def records_are_found_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Finds and copies records by the C library, then in Python, as where it could not be compiled."""
    by: str = request.param
    if by == "python":
        monkeypatch.setattr(native_records, "_library", lambda: None)
    elif not native_records.is_available():
        pytest.skip("the C libraries are not compiled: python hatch_build.py")
    return by
