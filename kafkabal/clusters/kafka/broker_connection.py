"""A connection to one broker: frames, versions, encryption, credentials, and the reasons of failures.

Blocking, one request at a time, every wait bounded by a deadline. kafka-python supplies the messages of every protocol
version and the SASL exchanges; its network client is not used (``docs/adr/0004-own-connections.md``).
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
from typing import Any, NoReturn, Protocol

from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kafkabal import __version__
from kafkabal.clusters.clock import Clock, Deadline
from kafkabal.clusters.kafka.broker_address import Address
from kafkabal.clusters.kafka.decode_response import decode_response
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, UNSUPPORTED_VERSION, check, translated
from kafkabal.config import ConnectionSettings
from kafkabal.errors import NoResponseError, RefusedByClusterError, UnreachableError


class ResponseInPlace(Protocol):
    """Receives a response without kafka-python, which copies every byte of it several times."""

    first_byte_s: float
    """How long to wait for its first byte. The rest may take as long as the deadline of the request allows."""

    def memory(self, size: int) -> memoryview:
        """Where to receive the frame."""

    def decode(self, frame: memoryview, version: int) -> Any:
        """Decode a frame without its length, given the version of the request."""


_LARGEST_FRAME_BYTES = 2**28
"""Responses of a million partitions have a tenth of it. The first bytes of HTTP or TLS, read as a length, exceed it:
that is how a wrong port is recognised."""
_TIMEVAL = struct.Struct("@ll")
_TLS_ALERT = b"\x15\x03"
_SOFTWARE_VERSION = re.sub(r"[^a-zA-Z0-9.-]", "-", __version__)
_SMALLEST_TIMEOUT_S = 0.001
"""Sockets read 0 as "without end" or "not blocking": a deadline that is all but over must not turn into either."""
# a session that must reauthenticate (KIP-368) is dropped a little before it expires
_USED_FRACTION_OF_SESSION = 0.9

_PORT_HINT = "check that the broker is running and that this is the port of its listener."
_REFUSED_HINT = f"{_PORT_HINT} Listeners with TLS or SASL use separate ports"
_SILENT_HINT = "check that this is the port of a Kafka listener, and that the broker does not hang"
_TLS_HINT = "the port may expect TLS: set security.protocol=SSL or SASL_SSL in client.properties"
_PLAIN_HINT = "the port may not use TLS: set security.protocol=PLAINTEXT or SASL_PLAINTEXT in client.properties"
_SASL_HINT = "the port may require credentials: set security.protocol and sasl.mechanism in client.properties"
_TRUST_HINT = "set ssl.truststore.location in client.properties to the CA certificate"


def open_connection(
    address: Address,
    settings: ConnectionSettings,
    tls: ssl.SSLContext | None,
    deadline: Deadline,
    clock: Clock,
) -> BrokerConnection:
    """Connect to a broker, authenticate, and learn which protocol versions it supports.

    Raises
    ------
    UnreachableError
        If that does not succeed in time; the message says why, and the hint what to change.
    RefusedByClusterError
        If the broker rejects the credentials.
    """
    sock = _connect(address, deadline)
    try:
        if tls is not None:
            sock = _encrypt(sock, address, tls, deadline)
        connection = BrokerConnection(address, sock, settings.client_id, clock)
        connection.negotiate(deadline)
        if settings.security_protocol.has_sasl:
            connection.authenticate(settings, deadline)
    except BaseException:
        sock.close()
        raise
    return connection


class BrokerConnection:
    """An open connection, for one thread at a time."""

    def __init__(self, address: Address, sock: socket.socket, client_id: str, clock: Clock) -> None:
        self.address = address
        self.versions = BrokerVersionData(broker_version=(0, 10, 0))
        """The protocol versions that the broker supports, as kafka-python represents them."""
        self._sock = sock
        self._client_id = client_id
        self._clock = clock
        self._requests_sent = 0
        self._has_responded = False
        self._session_ends_s: float | None = None
        if not isinstance(sock, ssl.SSLSocket):
            sock.settimeout(None)  # the kernel enforces its deadlines, see _limit

    def call(self, request: Any, deadline: Deadline, in_place: ResponseInPlace | None = None) -> Any:
        """Send a request in the highest version that both sides support, and return the response.

        Parameters
        ----------
        in_place
            Receives and decodes the response instead of kafka-python.

        Raises
        ------
        MissingCapabilityError
            If the broker does not support this kind of request.
        NoResponseError
            If the response does not come in time, or the connection closes before; the connection is unusable then.
        """
        with translated(f"{self.address}"):
            version = self.versions.api_version(request)
        try:
            response = self._exchange(request, version, deadline, in_place)
        except NoResponseError as error:
            # a broker closes the connection of a client that lacks required credentials
            hint = None if self._has_responded or not _is_closed(error) else _SASL_HINT
            raise NoResponseError(error.message, hint=hint) from error
        self._has_responded = True
        return response

    @property
    def is_usable(self) -> bool:
        """False once the broker has closed it, or the authenticated session is about to expire."""
        if self._session_ends_s is not None and self._clock.monotonic() > self._session_ends_s:
            return False
        try:
            # between requests nothing arrives: readable means the end of the stream, or a TLS alert before it
            if isinstance(self._sock, ssl.SSLSocket):
                self._sock.setblocking(False)
                self._sock.recv(1)
            else:
                self._sock.recv(1, socket.MSG_DONTWAIT)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()

    def negotiate(self, deadline: Deadline) -> None:
        """Learn which requests the broker supports, in which versions."""
        try:
            response = self._ask_versions(min(ApiVersionsRequest.max_version, 4), deadline)
            if response.error_code == UNSUPPORTED_VERSION:
                response = self._ask_versions(0, deadline)
        except NoResponseError as error:
            raise UnreachableError(error.message, hint=_TLS_HINT if _is_closed(error) else _SILENT_HINT) from error
        check(response.error_code, f"ask {self.address} for its versions")
        self.versions = BrokerVersionData(
            api_versions={k.api_key: (k.min_version, k.max_version) for k in response.api_keys}
        )

    def authenticate(self, settings: ConnectionSettings, deadline: Deadline) -> None:
        """Authenticate.

        Raises
        ------
        RefusedByClusterError
            If the broker rejects the mechanism or the credentials.
        """
        try:
            self._authenticate(settings, deadline)
        except NoResponseError as error:
            raise UnreachableError(error.message, hint=error.hint) from error

    def _ask_versions(self, version: int, deadline: Deadline) -> Any:
        request = ApiVersionsRequest(client_software_name="kafkabal", client_software_version=_SOFTWARE_VERSION)
        return self._exchange(request, version, deadline)

    def _authenticate(self, settings: ConnectionSettings, deadline: Deadline) -> None:
        from kafkabal.clusters.kafka.sasl import sasl_conversation  # only now: with it come all clients of kafka-python

        conversation = sasl_conversation(settings, self.address.host, self._clock)
        mechanism = settings.sasl.mechanism if settings.sasl else ""
        handshake = self.call(SaslHandshakeRequest(mechanism=str(mechanism)), deadline)
        if handshake.error_code != NO_ERROR:
            offered = ", ".join(handshake.mechanisms)
            hint = f"it offers {offered}" if offered else "the port may not require credentials"
            check(handshake.error_code, f"use {mechanism} at {self.address}", hint=hint)
        while not conversation.is_done():
            with translated(f"the credentials for {self.address}"):
                request = SaslAuthenticateRequest(auth_bytes=conversation.auth_bytes())
            response = self.call(request, deadline)
            if response.error_code != NO_ERROR:
                raise RefusedByClusterError(
                    f"{self.address} rejected the credentials: {response.error_message or 'no reason given'}",
                    hint="check sasl.mechanism and sasl.jaas.config in client.properties",
                )
            with translated(f"the response of {self.address} to the credentials"):
                conversation.receive(bytes(response.auth_bytes))
        if response.session_lifetime_ms:
            lifetime_s = response.session_lifetime_ms / 1000 * _USED_FRACTION_OF_SESSION
            self._session_ends_s = self._clock.monotonic() + lifetime_s

    def _exchange(self, request: Any, version: int, deadline: Deadline, in_place: ResponseInPlace | None = None) -> Any:
        request.API_VERSION = version
        self._requests_sent += 1
        request.with_header(correlation_id=self._requests_sent, client_id=self._client_id)
        with translated(f"a {type(request).__name__} for {self.address}"):
            frame = request.encode(framed=True, header=True)
        limit = deadline if in_place is None else deadline.at_most(in_place.first_byte_s)
        try:
            self._limit(limit)
            self._sock.sendall(frame)
            size = self._receive_size(limit)
            limit = deadline
            memory = memoryview(bytearray(size)) if in_place is None else in_place.memory(size)
            packed = self._receive(memory, deadline)
        except BlockingIOError as error:
            _raise_no_response(self.address, TimeoutError(*error.args), limit)
        except OSError as error:
            _raise_no_response(self.address, error, limit)
        with translated(f"the response of {self.address}"):
            (correlation_id,) = struct.unpack_from(">i", packed)
            if correlation_id != self._requests_sent:
                raise NoResponseError(f"{self.address} sent the response to another request")
            if in_place is not None:
                return in_place.decode(packed, version)
            return decode_response(request, packed)

    def _receive_size(self, deadline: Deadline) -> int:
        """The length of the response, which comes first."""
        head = self._receive(memoryview(bytearray(4)), deadline)
        size: int = struct.unpack(">i", head)[0]
        if not 0 < size <= _LARGEST_FRAME_BYTES:
            hint = _TLS_HINT if bytes(head).startswith(_TLS_ALERT) else _PORT_HINT
            raise UnreachableError(f"not a Kafka broker: {self.address}", hint=hint)
        return size

    def _receive(self, buffer: memoryview, deadline: Deadline) -> memoryview:
        at = 0
        while at < len(buffer):
            self._limit(deadline)
            received = self._receive_some(buffer[at:])
            if not received:
                raise ConnectionResetError("the broker closed the connection")
            at += received
        return buffer

    def _receive_some(self, buffer: memoryview) -> int:
        if isinstance(self._sock, ssl.SSLSocket):
            return self._sock.recv_into(buffer)
        # in a single call: between two calls, a computing thread keeps the interpreter for 5 ms
        return self._sock.recv_into(buffer, len(buffer), socket.MSG_WAITALL)

    def _limit(self, deadline: Deadline) -> None:
        """Bound the next socket calls; for a plain socket in the kernel, which needs no turn of the interpreter."""
        if deadline.is_over:
            raise TimeoutError
        left_s = max(deadline.remaining_s, _SMALLEST_TIMEOUT_S)
        if isinstance(self._sock, ssl.SSLSocket):
            self._sock.settimeout(left_s)
            return
        seconds, rest = divmod(left_s, 1)
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._sock.setsockopt(socket.SOL_SOCKET, direction, _TIMEVAL.pack(int(seconds), int(rest * 1e6)))


def _connect(address: Address, deadline: Deadline) -> socket.socket:
    try:
        sock = socket.create_connection(address, timeout=max(deadline.remaining_s, _SMALLEST_TIMEOUT_S))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except socket.gaierror as error:
        raise UnreachableError(
            f"cannot reach {address}: unknown host name", hint="check the spelling, and the DNS of this host"
        ) from error
    except ConnectionRefusedError as error:
        raise UnreachableError(f"cannot reach {address}: connection refused", hint=_REFUSED_HINT) from error
    except TimeoutError as error:
        message = f"cannot reach {address}: no connection within {deadline}"
        raise UnreachableError(message, hint="check the address and the firewall") from error
    except OSError as error:
        raise UnreachableError(f"cannot reach {address}: {error.strerror or error}") from error
    return sock


def _encrypt(sock: socket.socket, address: Address, tls: ssl.SSLContext, deadline: Deadline) -> ssl.SSLSocket:
    sock.settimeout(max(deadline.remaining_s, _SMALLEST_TIMEOUT_S))
    try:
        return tls.wrap_socket(sock, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        message = f"certificate of {address} rejected: {error.verify_message}"
        raise UnreachableError(message, hint=_TRUST_HINT) from error
    except TimeoutError as error:
        message = f"{address} did not respond: no TLS handshake within {deadline}"
        raise UnreachableError(message, hint=_SILENT_HINT) from error
    except ssl.SSLError as error:
        if error.reason and "ALERT" in error.reason:
            raise UnreachableError(
                f"{address} aborted the TLS handshake: {_words(error.reason)}", hint=_TRUST_HINT
            ) from error
        raise UnreachableError(f"{address} does not use TLS", hint=_PLAIN_HINT) from error
    except OSError as error:
        raise UnreachableError(f"{address} does not use TLS", hint=_PLAIN_HINT) from error


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _raise_no_response(address: Address, error: OSError, deadline: Deadline) -> NoReturn:
    if isinstance(error, TimeoutError):
        raise NoResponseError(f"{address} did not respond within {deadline}") from error
    reason = (
        "closed the connection"
        if isinstance(error, ConnectionError)
        else f"lost the connection: {error.strerror or error}"
    )
    raise NoResponseError(f"{address} {reason}") from error


def _is_closed(error: NoResponseError) -> bool:
    return isinstance(error.__cause__, ConnectionError)
