"""The parts of a ``client.properties`` that may be shown: how to connect, but no credentials."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkabal.config.java_properties import read_properties
from kafkabal.config.value_parsers import text

# listed one by one: an unknown key could hold a secret
_PUBLIC: Final = frozenset(
    {
        "bootstrap.servers",
        "bootstrap.controllers",
        "client.id",
        "request.timeout.ms",
        "socket.connection.setup.timeout.ms",
        "security.protocol",
        "sasl.mechanism",
        "ssl.truststore.location",
        "ssl.truststore.type",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.endpoint.identification.algorithm",
    }
)


def properties_without_secrets(path: Path) -> tuple[tuple[str, str | None, int | None], ...]:
    """Key, value and line of each entry, in file order; the value is None if it may be secret.

    Raises
    ------
    InputFileError
        If the file cannot be read or has a malformed escape.
    """
    entries = read_properties(path).items()
    return tuple((key, text(node) if key in _PUBLIC else None, node.place.line) for key, node in entries)
