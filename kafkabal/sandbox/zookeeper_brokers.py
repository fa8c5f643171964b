"""What the ZooKeeper of a sandbox knows, asked with one of its four-letter words."""

from __future__ import annotations

import re
import socket
from typing import Final

from kafkabal.sandbox.free_ports import LOOPBACK

_REGISTRATION: Final = re.compile(rb"^\s*/brokers/ids/(\d+)$", re.MULTILINE)
_TIMEOUT_S: Final = 2.0
"""On this machine; asked again until the limit of the whole wait."""
_END: Final = b"Connections dump:"


def registered_brokers(port: int) -> frozenset[int] | None:
    """Return the brokers whose sessions are alive for the ZooKeeper on that port; None if it does not respond.

    A broker that was killed stays among them until its session has run out, and one of the same id that starts before
    that ends at once.
    """
    try:
        with socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_S) as connection:
            connection.sendall(b"dump")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    except OSError:
        return None
    if _END not in answer:
        return None
    return frozenset(int(match[1]) for match in _REGISTRATION.finditer(answer))
