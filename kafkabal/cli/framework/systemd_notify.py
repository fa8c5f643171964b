"""Tell systemd that a service of ``Type=notify`` is ready (sd_notify(3)); no effect if systemd did not start it."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def notify_ready(environ: Mapping[str, str]) -> None:
    """Send ``READY=1`` to the socket that ``NOTIFY_SOCKET`` names; a service manager that is gone is ignored."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        # an abstract socket is written with @ and addressed with a zero byte
        sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
