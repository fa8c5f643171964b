"""Registrations are read from ZooKeeper's dump."""

from __future__ import annotations

import socket
import threading

import pytest

from kafkabal.sandbox.zookeeper_brokers import registered_brokers

DUMP = b"""SessionTracker dump:
ephemeral nodes dump:
Sessions with Ephemerals (2):
0x100004546fc0001:
\t/brokers/ids/1
0x100004546fc0000:
\t/controller
\t/brokers/ids/12
Connections dump:
Connections Sets (2)/(3):
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (DUMP, {1, 12}),
        (b"Connections dump:\n", set()),
        (b"This ZooKeeper instance is not currently serving requests\n", None),
        (b"", None),
    ],
)
def test_registered_brokers(answer: bytes, expected: set[int] | None) -> None:
    """Registrations are read from a complete dump only; a ZooKeeper that does not serve yet gives None."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _address = server.accept()
            with connection:
                connection.recv(4)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert registered_brokers(server.getsockname()[1]) == expected
        thread.join()


def test_no_broker_responds() -> None:
    """An absent ZooKeeper gives None too."""
    assert registered_brokers(1) is None
