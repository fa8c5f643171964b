"""Connections: the protocol, and the one line that says why a connection failed."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterRequest, DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from kafkabal.clusters.clock import Deadline, SystemClock
from kafkabal.clusters.kafka.broker_address import Address
from kafkabal.clusters.kafka.broker_connection import BrokerConnection, open_connection
from kafkabal.clusters.kafka.tls import tls_context
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
)
from kafkabal.errors import MissingCapabilityError, NoResponseError, RefusedByClusterError, UnreachableError

_CERTIFICATES = Path(__file__).parent / "certificates"
_TRUSTING = TlsSettings(ca_file=str(_CERTIFICATES / "broker.pem"))
_CLOCK = SystemClock()


def _open(address: Address, timeout_s: float = 1.0, tls: TlsSettings | None = None, **options: Any) -> BrokerConnection:
    settings = ConnectionSettings(bootstrap_servers=(str(address),), **options)
    context = None if tls is None else tls_context(tls)
    return open_connection(address, settings, context, Deadline(timeout_s, _CLOCK), _CLOCK)


def _address(broker: Any) -> Address:
    return Address(broker.host, broker.port)


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_CERTIFICATES / "broker.pem", _CERTIFICATES / "broker.key")
    return context


@contextmanager
def _listening(first_words: bytes | None = None) -> Iterator[Address]:
    """A server that sends something, or nothing, and is not a broker."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def accept() -> None:
            connection, _ = server.accept()
            kept.append(connection)
            if first_words is not None:
                connection.recv(1000)
                connection.sendall(first_words)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Address("127.0.0.1", server.getsockname()[1])
        thread.join(1)
        for connection in kept:
            connection.close()


def test_versions_are_agreed_upon(fake_broker: Callable[..., Any]) -> None:
    """A request is sent in the highest version that both sides support."""
    broker = fake_broker(versions={18: (0, 3), 35: (1, 2)})
    broker.answers["DescribeLogDirs"] = lambda request: DescribeLogDirsResponse(results=[])
    connection = _open(_address(broker))
    connection.call(DescribeLogDirsRequest(topics=None), Deadline(1, _CLOCK))
    assert broker.asked("DescribeLogDirs")[0].header.request_api_version == 2
    connection.close()


def test_an_old_broker_is_asked_for_its_versions_again(fake_broker: Callable[..., Any]) -> None:
    """A broker that does not support our version of the first request is asked in the oldest one."""
    broker = fake_broker(versions={18: (0, 2), 35: (1, 1)})
    _open(_address(broker)).close()
    asked = [request.header.request_api_version for request in broker.asked("ApiVersions")]
    assert asked == [ApiVersionsRequest.max_version, 0]


def test_a_request_that_the_broker_does_not_know_is_not_sent(fake_broker: Callable[..., Any]) -> None:
    """An unsupported request is a missing capability."""
    broker = fake_broker(versions={18: (0, 3)})
    connection = _open(_address(broker))
    with pytest.raises(MissingCapabilityError, match="DescribeCluster"):
        connection.call(DescribeClusterRequest(), Deadline(1, _CLOCK))
    assert broker.asked("DescribeCluster") == []
    connection.close()


def test_an_unknown_host_is_named() -> None:
    """An unknown host name is not reported as a broker that is down, and the hint names DNS."""
    with pytest.raises(UnreachableError, match=r"cannot reach no-such-host\.invalid:9092: unknown host name") as error:
        _open(Address("no-such-host.invalid", 9092))
    assert "DNS" in error.value.hint


def test_a_closed_port_is_reported_as_refused() -> None:
    """A wrong port gives the reason and what to check."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UnreachableError, match=f"cannot reach 127.0.0.1:{port}: connection refused") as caught:
        _open(Address("127.0.0.1", port))
    assert "port" in str(caught.value.hint)


def test_a_server_that_hangs_costs_its_deadline() -> None:
    """A port that accepts but never responds is given up in time; it may be that of a web server."""
    with _listening() as address, pytest.raises(UnreachableError, match=r"did not respond within 0\.2 s") as caught:
        _open(address, timeout_s=0.2)
    assert "port of a Kafka listener" in str(caught.value.hint)


def test_tls_spoken_to_in_plain_text_is_recognised(fake_broker: Callable[..., Any]) -> None:
    """A TLS listener contacted in plain text leads to the wrong setting."""
    with pytest.raises(UnreachableError) as caught:
        _open(_address(fake_broker(tls=_server_context())))
    assert "security.protocol" in str(caught.value.hint)
    assert "TLS" in str(caught.value.hint)


def test_a_tls_alert_is_recognised() -> None:
    """An alert instead of a response proves TLS."""
    alert = b"\x15\x03\x03\x00\x02\x02\x50"
    with _listening(alert) as address, pytest.raises(UnreachableError, match="not a Kafka broker") as caught:
        _open(address)
    assert "TLS" in str(caught.value.hint)


def test_a_web_server_is_not_mistaken_for_a_broker() -> None:
    """Another protocol is reported as such."""
    with (
        _listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(UnreachableError, match="not a Kafka broker"),
    ):
        _open(address)


def test_plain_text_spoken_to_in_tls_is_recognised(fake_broker: Callable[..., Any]) -> None:
    """A plain listener contacted with TLS leads to the wrong setting."""
    with pytest.raises(UnreachableError, match="does not use TLS") as caught:
        _open(_address(fake_broker()), tls=_TRUSTING)
    assert "PLAINTEXT" in str(caught.value.hint)


def test_a_server_that_hangs_in_the_tls_handshake_costs_its_deadline() -> None:
    """The handshake is bounded too."""
    with _listening() as address, pytest.raises(UnreachableError, match=r"no TLS handshake within 0\.2 s") as caught:
        _open(address, timeout_s=0.2, tls=_TRUSTING)
    assert "port of a Kafka listener" in str(caught.value.hint)


def test_tls_works(fake_broker: Callable[..., Any]) -> None:
    """A broker with a trusted certificate is accepted."""
    connection = _open(_address(fake_broker(tls=_server_context())), tls=_TRUSTING)
    assert connection.is_usable
    connection.close()


@pytest.mark.parametrize(
    ("tls", "reason"),
    [
        (TlsSettings(ca_file=str(_CERTIFICATES / "elsewhere.pem")), "self-signed certificate"),
        (TlsSettings(), "self-signed certificate"),
    ],
)
def test_a_certificate_that_is_not_trusted_is_named(
    fake_broker: Callable[..., Any], tls: TlsSettings, reason: str
) -> None:
    """A broker with an untrusted certificate is refused."""
    with pytest.raises(UnreachableError, match=f"rejected: {reason}") as caught:
        _open(_address(fake_broker(tls=_server_context())), tls=tls)
    assert "truststore" in str(caught.value.hint)


def test_a_broker_without_a_response_differs_from_one_without_a_request(
    fake_broker: Callable[..., Any], silence: object, hang_up: object
) -> None:
    """No response and a closed connection both leave open whether the request took effect."""
    for answer, reason in ((silence, r"did not respond within 0\.1 s"), (hang_up, "closed the connection")):
        broker = fake_broker()
        broker.answers["DescribeLogDirs"] = lambda request, answer=answer: answer
        connection = _open(_address(broker))
        with pytest.raises(NoResponseError, match=reason):
            connection.call(DescribeLogDirsRequest(topics=None), Deadline(0.1, _CLOCK))
        connection.close()


@pytest.mark.parametrize("silent_s", [0.0, 5.0])
def test_a_response_that_has_begun_may_take_longer_than_its_first_byte(silent_s: float) -> None:
    """Megabytes over a slow line are waited for, and a broker that hangs is noticed before."""
    ours, theirs = socket.socketpair()
    connection = BrokerConnection(Address("h", 1), ours, "c", _CLOCK)
    received = bytearray(8)

    def answer() -> None:
        head = theirs.recv(1000)[8:12]  # the number of the request
        if not is_over.wait(silent_s):
            theirs.sendall((8).to_bytes(4, "big") + head)
            is_over.wait(0.5)
            theirs.sendall(b"done")

    is_over = threading.Event()
    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    in_place: Any = SimpleNamespace(
        first_byte_s=0.2, memory=lambda _: memoryview(received), decode=lambda frame, _: bytes(frame[4:])
    )
    if silent_s:
        with pytest.raises(NoResponseError, match=r"^h:1 did not respond within 0\.2 s$"):
            connection.call(ApiVersionsRequest(), Deadline(5, _CLOCK), in_place)
    else:
        assert connection.call(ApiVersionsRequest(), Deadline(5, _CLOCK), in_place) == b"done"
    is_over.set()
    thread.join()
    ours.close()
    theirs.close()


def test_a_connection_that_the_broker_closed_is_not_usable(fake_broker: Callable[..., Any]) -> None:
    """Brokers close idle connections; that is detected before the next request is sent on one."""
    broker = fake_broker()
    connection = _open(_address(broker))
    assert connection.is_usable
    broker.drop_connections()
    while connection.is_usable:
        pass
    connection.close()


def _sasl(mechanism: SaslMechanism = SaslMechanism.PLAIN, **options: Any) -> dict[str, Any]:
    settings = SaslSettings(mechanism=mechanism, **({"username": "alice", "password": "wonderland"} | options))
    return {"security_protocol": SecurityProtocol.SASL_PLAINTEXT, "sasl": settings}


def _let_in(broker: Any, error: str | None = None, lifetime_ms: int = 0) -> None:
    broker.answers["SaslHandshake"] = lambda request: SaslHandshakeResponse(
        error_code=0 if request.mechanism == "PLAIN" else 33, mechanisms=["PLAIN"]
    )
    broker.answers["SaslAuthenticate"] = lambda request: SaslAuthenticateResponse(
        error_code=58 if error else 0, error_message=error, auth_bytes=b"", session_lifetime_ms=lifetime_ms
    )


def test_credentials_are_given(fake_broker: Callable[..., Any]) -> None:
    """PLAIN sends name and password in the first message."""
    broker = fake_broker()
    _let_in(broker)
    _open(_address(broker), **_sasl()).close()
    assert bytes(broker.asked("SaslAuthenticate")[0].auth_bytes) == b"alice\0alice\0wonderland"


def test_credentials_that_are_not_accepted_are_reported_without_them(fake_broker: Callable[..., Any]) -> None:
    """The broker's reason is reported, the password is not."""
    broker = fake_broker()
    _let_in(broker, error="Authentication failed: Invalid username or password")
    with pytest.raises(RefusedByClusterError, match="Invalid username or password") as caught:
        _open(_address(broker), **_sasl())
    assert "sasl.jaas.config" in str(caught.value.hint)
    assert "wonderland" not in repr(caught.value) + str(caught.value.hint)


def test_a_mechanism_that_is_not_offered_is_reported_with_those_that_are(fake_broker: Callable[..., Any]) -> None:
    """The error lists the mechanisms that the broker offers."""
    broker = fake_broker()
    _let_in(broker)
    with pytest.raises(RefusedByClusterError, match="SCRAM-SHA-256") as caught:
        _open(_address(broker), **_sasl(SaslMechanism.SCRAM_SHA_256))
    assert caught.value.hint == "it offers PLAIN"


def test_a_port_that_wants_credentials_is_recognised(fake_broker: Callable[..., Any], hang_up: object) -> None:
    """A broker that closes the connection at the first request after the versions may require credentials."""
    broker = fake_broker()
    broker.answers["DescribeLogDirs"] = lambda request: hang_up
    connection = _open(_address(broker))
    with pytest.raises(NoResponseError) as caught:
        connection.call(DescribeLogDirsRequest(topics=None), Deadline(1, _CLOCK))
    assert "credentials" in str(caught.value.hint)
    connection.close()


def test_a_session_is_given_up_before_it_ends(fake_broker: Callable[..., Any]) -> None:
    """If the session expires (KIP-368), the connection counts as unusable after nine tenths of its lifetime."""
    broker = fake_broker()
    _let_in(broker, lifetime_ms=1000)
    clock = FakeClock()
    settings = ConnectionSettings(bootstrap_servers=(), **_sasl())
    connection = open_connection(_address(broker), settings, None, Deadline(1, clock), clock)
    clock.sleep(0.89)
    assert connection.is_usable
    clock.sleep(0.02)
    assert not connection.is_usable
    connection.close()


def test_an_unsecured_token_is_made_without_a_token_endpoint(fake_broker: Callable[..., Any]) -> None:
    """OAUTHBEARER with only a subject sends an unsigned token that is valid for an hour."""
    broker = fake_broker()
    _let_in(broker)
    broker.answers["SaslHandshake"] = lambda request: SaslHandshakeResponse(error_code=0, mechanisms=["OAUTHBEARER"])
    oauth = OAuthSettings(unsecured_subject="bob")
    _open(_address(broker), **_sasl(SaslMechanism.OAUTHBEARER, oauth=oauth)).close()
    sent = bytes(broker.asked("SaslAuthenticate")[0].auth_bytes)
    assert sent.startswith(b"n,,\x01auth=Bearer eyJhbGciOiJub25lIn0.")
    assert sent.endswith(b".\x01\x01")
