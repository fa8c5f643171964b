"""The thread that renews views."""

from __future__ import annotations

from threading import Event, Timer

from kafkabal.errors import UnreachableError
from kafkabal.routing.producer.refresher import Refresher


def test_a_refresh_that_fails_once_it_is_closed_bothers_nobody() -> None:
    """A cluster that is closed under a refresh which is still reading it is no failure to tell of."""
    reading, closed = Event(), Event()
    told: list[Exception] = []

    def refresh() -> None:
        reading.set()
        assert closed.wait(20)
        raise UnreachableError("closed")

    refresher = Refresher(refresh, 0.001, failed=told.append)
    assert reading.wait(20)
    Timer(0.1, closed.set).start()
    refresher.close()

    assert told == []
