"""What may be shown of a ``client.properties``: how the connection is made, never what it is proved by."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkabal.config.java_properties import read_properties
from kafkabal.config.value_parsers import text

# named one by one: a key that is not known could hold a secret
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
    """Key, value and line of each entry, in the order of the file; the value of anything that may be secret is None.

    Raises
    ------
    InputFileError
        If the file cannot be read or holds a malformed escape.
    """
    entries = read_properties(path).items()
    return tuple((key, text(node) if key in _PUBLIC else None, node.place.line) for key, node in entries)
