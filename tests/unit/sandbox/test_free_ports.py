"""A port goes to one sandbox only, and its servers can take it over."""

from __future__ import annotations

import random
import socket

import pytest

from kafkabal.errors import OperationError
from kafkabal.sandbox.free_ports import LOOPBACK, held_ports, is_listening


def test_held_ports_are_not_given_twice() -> None:
    """Two tools that search the same range at the same time get different ports."""
    with held_ports(3, (), random.Random(7)) as mine, held_ports(3, (), random.Random(7)) as theirs:
        assert len({*mine, *theirs}) == 6


def test_ports_to_avoid_are_avoided() -> None:
    """A port that another sandbox has recorded is not taken, even if its broker is stopped."""
    with held_ports(1, (), random.Random(11)) as (first,):
        pass
    with held_ports(1, {first}, random.Random(11)) as (second,):
        assert second != first


def test_a_server_takes_a_held_port_over() -> None:
    """A held port accepts no connection until a server that allows reuse, as Java's do, listens on it."""
    with held_ports(1, (), random.Random()) as (port,), socket.socket() as server:
        assert not is_listening(port)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((LOOPBACK, port))
        server.listen()
        assert is_listening(port)


def test_more_ports_than_there_are() -> None:
    """More ports than there are cannot be held, which is an error."""
    with pytest.raises(OperationError, match="free ports"), held_ports(3, range(65536), random.Random()):
        pass
