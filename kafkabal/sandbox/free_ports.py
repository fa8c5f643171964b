"""Finds free ports on loopback, and reserves them until their process has bound them."""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kafkabal.errors import OperationError

LOOPBACK: Final = "127.0.0.1"
_FIRST_PORT: Final = 20_000
"""Well-known services are below it."""
_EPHEMERAL_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_FIRST_EPHEMERAL_PORT: Final = 32_768
"""Linux's default, if the file cannot be read."""
_FEWEST_CANDIDATES: Final = 1_000
"""Twenty times what the largest sandbox needs."""
_CAN_BE_HELD: Final[bool] = sys.platform == "linux"


@contextmanager
def held_ports(count: int, avoid: Collection[int], rng: random.Random) -> Iterator[list[int]]:
    """Hold ``count`` free ports on loopback that are not in ``avoid``.

    They are below the range from which the kernel assigns ports to outgoing connections, so that no client can take the
    port of a broker that is down. A held socket is bound with address reuse but does not listen: on Linux a server that
    allows reuse too, as Java's do, can take over the port, and no other process can. On other systems the ports are
    free when they are returned, but not held.

    Raises
    ------
    OperationError
        If there are not enough.
    """
    with ExitStack() as holders:
        ports: list[int] = []
        for port in _candidates(rng):
            if len(ports) == count:
                break
            if port not in avoid and (holder := _hold(port)):
                holders.enter_context(holder)
                ports.append(port)
        if len(ports) < count:
            raise OperationError(f"not enough free ports on {LOOPBACK}: {count} needed")
        if not _CAN_BE_HELD:
            holders.close()
        yield ports


def is_listening(port: int) -> bool:
    """Whether a server accepts connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _candidates(rng: random.Random) -> list[int]:
    ports = range(_FIRST_PORT, max(_first_ephemeral_port(), _FIRST_PORT + _FEWEST_CANDIDATES))
    start = rng.randrange(len(ports))
    return [*ports[start:], *ports[:start]]


def _first_ephemeral_port() -> int:
    try:
        return int(_EPHEMERAL_RANGE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL_FIRST_EPHEMERAL_PORT


def _hold(port: int) -> socket.socket | None:
    """Bind the port exclusively first, and only then allow a server to use it as well."""
    holder = socket.socket()
    try:
        holder.bind((LOOPBACK, port))
    except OSError:
        holder.close()
        return None
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return holder
