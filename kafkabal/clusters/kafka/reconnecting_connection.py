"""A connection to one address, opened on demand and reopened after a failure."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkabal.clusters.clock import Clock, Deadline
from kafkabal.clusters.kafka.broker_address import Address
from kafkabal.clusters.kafka.broker_connection import BrokerConnection, ResponseInPlace, open_connection
from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError, UnreachableError


class ReconnectingConnection:
    """A connection that threads may share: it serves one of them at a time."""

    def __init__(
        self, address: Address, settings: ConnectionSettings, tls: ssl.SSLContext | None, clock: Clock
    ) -> None:
        self.address = address
        self.failures = 0
        """Number of failures since it last worked."""
        self._settings = settings
        self._tls = tls
        self._clock = clock
        self._turn = threading.Lock()
        self._connection: BrokerConnection | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether it is currently connected."""
        return self._connection is not None

    @property
    def is_busy(self) -> bool:
        """Whether a request is waiting for its response."""
        return self._turn.locked()

    def call(self, request: Any, deadline: Deadline, in_place: ResponseInPlace | None = None) -> Any:
        """Send a request, connecting first if needed, and return the response.

        Raises
        ------
        UnreachableError
            If connecting takes too long; nothing was sent.
        NoResponseError
            If the response does not come; the request may have taken effect.
        """
        with self._ready(deadline) as connection:
            return connection.call(request, deadline, in_place)

    def versions(self, deadline: Deadline) -> Any:
        """The versions that the broker supports: kafka-python's ``BrokerVersionData``."""
        with self._ready(deadline) as connection:
            return connection.versions

    def close(self) -> None:
        """Close for good, including a connection that another thread is about to open."""
        self._is_closed = True
        self._drop()

    @contextmanager
    def _ready(self, deadline: Deadline) -> Iterator[BrokerConnection]:
        if not self._turn.acquire(timeout=deadline.remaining_s):
            raise UnreachableError(f"{self.address} still busy with another request after {deadline}")
        try:
            yield self._usable(deadline)
        except UnreachableError:
            self.failures += 1
            self._drop()
            raise
        except KafkabalError:
            raise
        except BaseException:
            # interrupted between a request and its response: the next request must not read that response
            self._drop()
            raise
        else:
            self.failures = 0
        finally:
            self._turn.release()

    def _usable(self, deadline: Deadline) -> BrokerConnection:
        if self._connection is not None and not self._connection.is_usable:
            self._drop()
        if self._connection is None:
            limit = deadline.at_most(self._settings.connect_timeout_s)
            self._connection = open_connection(self.address, self._settings, self._tls, limit, self._clock)
        connection = self._connection
        if self._is_closed:
            self._drop()
            raise UnreachableError(f"connection to {self.address} closed")
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
