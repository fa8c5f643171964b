"""Links between brokers that can be cut or slowed, pair by pair: a proxy in front of each broker, on loopback.

Brokers reach each other only through the proxies. The client id of the first request identifies the sender, such as
``broker-3-fetcher-0`` for the fetcher of broker 3; connections from elsewhere pass unchanged."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from kafkabal.sandbox import KafkaListener, Sandbox

LINK = "LINK"
_FETCHER = re.compile(rb"broker-(\d+)-")
_HEADER_BYTES = 14
_NAP_S = 0.05
_CHUNK_BYTES = 1 << 16
Pair = frozenset[int]


class BrokerLinks:
    """Proxies for the inter-broker listener."""

    def __init__(self, brokers: int) -> None:
        self._sockets = {b: socket.create_server(("127.0.0.1", 0)) for b in range(1, brokers + 1)}
        self._cut: set[Pair] = set()
        self._delay_s: dict[Pair, float] = {}
        self._upstream: Mapping[int, int] = {}
        self._is_closed = threading.Event()
        self.pairs_seen: set[tuple[int, int]] = set()
        """Brokers that have connected, and to which."""

    def listener(self) -> KafkaListener:
        """The address that brokers advertise to each other."""
        ports = {broker: server.getsockname()[1] for broker, server in self._sockets.items()}
        return KafkaListener(name=LINK, protocol="PLAINTEXT", advertised_ports=ports)

    def serve(self, ports: Mapping[int, int]) -> None:
        """Forward connections to the ports that the brokers listen on; may be called again when these change."""
        is_serving = bool(self._upstream)
        self._upstream = ports
        if is_serving:
            return
        for broker, server in self._sockets.items():
            threading.Thread(target=self._accept, args=(broker, server), daemon=True).start()

    @contextmanager
    def cut(self, one: int, other: int) -> Iterator[None]:
        """Block all traffic between two brokers: bytes are held back, as on a network that drops packets."""
        pair = frozenset((one, other))
        self._cut.add(pair)
        try:
            yield
        finally:
            self._cut.discard(pair)

    @contextmanager
    def slow(self, one: int, other: int, delay_s: float) -> Iterator[None]:
        """Delay every 64 KiB between two brokers."""
        pair = frozenset((one, other))
        self._delay_s[pair] = delay_s
        try:
            yield
        finally:
            self._delay_s.pop(pair, None)

    def close(self) -> None:
        """Stop forwarding."""
        self._is_closed.set()
        for server in self._sockets.values():
            server.close()

    def _accept(self, broker: int, server: socket.socket) -> None:
        while not self._is_closed.is_set():
            try:
                accepted, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(accepted, broker), daemon=True).start()

    def _serve(self, accepted: socket.socket, broker: int) -> None:
        with closing(accepted), suppress(OSError):
            source = _source(accepted)
            pair = None if source is None else frozenset((source, broker))
            if source is not None:
                self.pairs_seen.add((source, broker))
            with socket.create_connection(("127.0.0.1", self._upstream[broker]), timeout=5.0) as upstream:
                upstream.settimeout(None)
                back = threading.Thread(target=self._pump, args=(upstream, accepted, pair), daemon=True)
                back.start()
                self._pump(accepted, upstream, pair)
                back.join()

    def _pump(self, source: socket.socket, target: socket.socket, pair: Pair | None) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK_BYTES):
                while pair in self._cut and not self._is_closed.is_set():
                    time.sleep(_NAP_S)
                if pair is not None and (delay_s := self._delay_s.get(pair)):
                    time.sleep(delay_s)
                target.sendall(chunk)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def link_ports(sandbox: Sandbox) -> dict[int, int]:
    """The ports of the inter-broker listeners."""
    return {node.id: node.ports[LINK] for node in sandbox.record.brokers}


def _source(accepted: socket.socket) -> int | None:
    """The broker that connects, from its first request; None for other clients."""
    head = b""
    while len(head) < _HEADER_BYTES + 64:
        head = accepted.recv(_HEADER_BYTES + 64, socket.MSG_PEEK)
        if len(head) >= _HEADER_BYTES:
            length = struct.unpack(">h", head[12:14])[0]
            if len(head) >= _HEADER_BYTES + max(length, 0):
                found = _FETCHER.match(head[_HEADER_BYTES : _HEADER_BYTES + max(length, 0)])
                return int(found[1]) if found else None
        if not head:
            return None
        time.sleep(0.001)
    return None
