"""Tells systemd that a service of ``Type=notify`` is ready (sd_notify(3)); no effect if systemd did not start it."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def notify_ready(environ: Mapping[str, str]) -> None:
    """Send ``READY=1`` to the socket in ``NOTIFY_SOCKET``; ignored if the service manager is gone."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        # the name of an abstract socket is written with @ and passed with a zero byte
        sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
