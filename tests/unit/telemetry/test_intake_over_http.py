"""OTLP over HTTP: what is accepted, what is refused, and that no request does harm."""

from __future__ import annotations

import gzip
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from threading import enumerate as enumerate_threads

import httpx
import pytest

from kafkabal.errors import UsageError
from kafkabal.telemetry.intake_over_http import HttpIntake
from kafkabal.telemetry.latency_store import LatencyTable

PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture
def table() -> LatencyTable:
    """A table whose entries never expire."""
    return LatencyTable(max_age_s=60, clock=lambda: 0.0)


@pytest.fixture
def post(table: LatencyTable) -> Iterator[httpx.Client]:
    """A client of a running intake."""
    with HttpIntake(table, port=0) as intake, httpx.Client(base_url=f"http://127.0.0.1:{intake.port}") as client:
        yield client


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_metrics_are_taken(post: httpx.Client, table: LatencyTable, encoding: str, push: Callable[..., bytes]) -> None:
    """A post, plain or compressed, is stored in the table, and the connection can be used again."""
    for client, latency in (("a", 10.0), ("b", 30.0)):
        body = push({1: latency}, resource={"client_instance_id": client})
        body = gzip.compress(body) if encoding == "gzip" else body
        answer = post.post("/v1/metrics", content=body, headers={**PROTOBUF, "Content-Encoding": encoding})
        assert answer.status_code == 200
    assert table.latencies_s() == {1: pytest.approx(0.02)}


def test_clients_without_an_id_are_distinguished_by_their_attributes(
    post: httpx.Client, table: LatencyTable, push: Callable[..., bytes]
) -> None:
    """Two resources in two posts are two clients, though neither has an id."""
    for zone, latency in (("x", 10.0), ("y", 30.0), ("x", 20.0)):
        post.post("/v1/metrics", content=push({1: latency}, resource={"zone": zone}), headers=PROTOBUF)
    assert table.latencies_s() == {1: pytest.approx(0.025)}


@pytest.mark.parametrize("node", ["99999999999999999999", "9" * 5000, "-7"])
def test_a_node_that_is_not_a_broker_is_skipped(
    post: httpx.Client, table: LatencyTable, node: str, push: Callable[..., bytes]
) -> None:
    """An invalid node is ignored, and the brokers of the same push count."""
    answer = post.post("/v1/metrics", content=push({node: 5.0, 1: 10.0}), headers=PROTOBUF)
    assert answer.status_code == 200
    assert table.latencies_s() == {1: pytest.approx(0.01)}


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        ("/v1/traces", PROTOBUF, b"", 404),
        ("/v1/metrics", {"Content-Type": "application/json"}, b"{}", 415),
        ("/v1/metrics", {**PROTOBUF, "Content-Encoding": "br"}, b"", 415),
        ("/v1/metrics", PROTOBUF, b"\xff\xff", 400),
        ("/v1/metrics", {**PROTOBUF, "Content-Encoding": "gzip"}, b"no gzip", 400),
        ("/v1/metrics", {**PROTOBUF, "Content-Encoding": "gzip"}, gzip.compress(b"", mtime=0)[:-1], 400),
        ("/v1/metrics", PROTOBUF, bytes(5 * 2**20), 413),
    ],
)
def test_invalid_requests_are_refused(
    post: httpx.Client,
    table: LatencyTable,
    path: str,
    headers: dict[str, str],
    body: bytes,
    status: int,
    push: Callable[..., bytes],
) -> None:
    """Each refusal has its HTTP status and leaves the table unchanged."""
    try:
        assert post.post(path, content=body, headers=headers).status_code == status
    except httpx.WriteError:
        assert status == 413, "a server may stop reading what is too large"
    assert table.latencies_s() == {}
    assert post.post("/v1/metrics", content=push({1: 5.0}), headers=PROTOBUF).status_code == 200


def test_a_bomb_does_not_grow_beyond_the_limit(post: httpx.Client, table: LatencyTable) -> None:
    """A small body that unpacks to a hundred megabytes is cut off and refused or ignored."""
    body = gzip.compress(bytes(100 * 2**20))
    answer = post.post("/v1/metrics", content=body, headers={**PROTOBUF, "Content-Encoding": "gzip"})
    assert answer.status_code == 400
    assert table.latencies_s() == {}


def test_a_body_that_ends_too_early_is_refused(table: LatencyTable, push: Callable[..., bytes]) -> None:
    """A connection that ends amid a body is not a push, even if what has arrived can be parsed; it is counted."""
    body = push({1: 10.0})
    head = (
        f"POST /v1/metrics HTTP/1.1\r\nContent-Type: application/x-protobuf\r\nContent-Length: {len(body) + 1}\r\n\r\n"
    )
    with HttpIntake(table, port=0) as intake, socket.create_connection(("127.0.0.1", intake.port), 5) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert (intake.payloads, intake.malformed, table.latencies_s()) == (0, 1, {})


def test_a_connection_that_is_reset_prints_nothing(table: LatencyTable, capfd: pytest.CaptureFixture[str]) -> None:
    """A health check that resets its connection leaves the terminal clean, and the intake listening."""
    with HttpIntake(table, port=0) as intake:
        with socket.create_connection(("127.0.0.1", intake.port), 5) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # connections are accepted in order, so the first one's thread has started by the answer to the second
        assert httpx.get(f"http://127.0.0.1:{intake.port}/").status_code == 501
        for thread in enumerate_threads():
            if "process_request_thread" in thread.name:
                thread.join(5)
    assert capfd.readouterr().err == ""


def test_an_address_in_use_is_reported(table: LatencyTable) -> None:
    """A port that is already in use is reported."""
    with HttpIntake(table, port=0) as intake, pytest.raises(UsageError, match=f"cannot listen on .*{intake.port}"):
        HttpIntake(table, port=intake.port)


def test_an_address_of_ipv6_is_listened_on(table: LatencyTable, push: Callable[..., bytes]) -> None:
    """If the machine has IPv6, a post to an IPv6 address is accepted."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    with HttpIntake(table, host="::1", port=0) as intake:
        answer = httpx.post(f"http://[::1]:{intake.port}/v1/metrics", content=push({1: 10.0}), headers=PROTOBUF)
    assert answer.status_code == 200
    assert table.latencies_s() == {1: pytest.approx(0.01)}


@pytest.mark.parametrize("host", ["..", "2001:db8::1"])
def test_a_host_that_is_none_is_reported(table: LatencyTable, host: str) -> None:
    """An invalid host name, or an address of another machine, is a usage error."""
    with pytest.raises(UsageError, match="cannot listen on"):
        HttpIntake(table, host=host, port=0)


def test_an_absurd_content_length_is_too_large(table: LatencyTable) -> None:
    """A content length of thousands of digits is refused unread as too large."""
    with HttpIntake(table, port=0) as intake:
        connection = HTTPConnection("127.0.0.1", intake.port, timeout=5)
        connection.request("POST", "/v1/metrics", headers={**PROTOBUF, "Content-Length": "9" * 5000})
        assert connection.getresponse().status == 413
        connection.close()


def test_without_its_extra_nothing_is_listened_on(table: LatencyTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra is reported before the intake listens, so that no client pushes for nothing."""
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.metrics.v1.metrics_pb2", None)
    with pytest.raises(UsageError, match="opentelemetry-proto") as refused:
        HttpIntake(table, port=0)
    assert "kafkabal[telemetry]" in (refused.value.hint or "")
