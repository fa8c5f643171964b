"""Asks the ZooKeeper of a sandbox for its brokers, with a four-letter word."""

from __future__ import annotations

import re
import socket
from typing import Final

from kafkabal.sandbox.free_ports import LOOPBACK

_REGISTRATION: Final = re.compile(rb"^\s*/brokers/ids/(\d+)$", re.MULTILINE)
_TIMEOUT_S: Final = 2.0
"""Enough on this machine; the request is repeated until the limit of the whole wait."""
_END: Final = b"Connections dump:"


def registered_brokers(port: int) -> frozenset[int] | None:
    """The brokers with a live session in the ZooKeeper on that port; None if it does not respond.

    A killed broker stays among them until its session expires, and a broker with the same id that starts earlier exits
    at once.
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
