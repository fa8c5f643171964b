"""Addresses of brokers."""

from __future__ import annotations

from typing import NamedTuple

from kafkabal.config import PORTS
from kafkabal.errors import ConfigError


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse ``host:port``; an IPv6 address must be in brackets.

    Raises
    ------
    ConfigError
        If it is not of that form.
    """
    host, _, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not port.isdecimal() or int(port) not in PORTS:
        raise ConfigError(f"invalid broker address: {text!r}", hint="write host:port, such as broker1:9092")
    return Address(host, int(port))
