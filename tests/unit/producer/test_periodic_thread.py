"""The thread that refreshes views."""

from __future__ import annotations

from threading import Event, Timer

from kafkabal.errors import UnreachableError
from kafkabal.producer.periodic_thread import PeriodicThread

TIMEOUT_S = 20.0


class Told:
    """The calls that were made, and an event for each."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.refreshed, self.revised, self.failed = Event(), Event(), Event()

    def refresh(self) -> None:
        """Record the call."""
        self.calls.append("refresh")
        self.refreshed.set()

    def revise(self) -> None:
        """Record the call, and fail."""
        self.calls.append("revise")
        self.revised.set()
        raise ValueError("no")

    def fail(self, _error: Exception) -> None:
        """Record the failure."""
        self.failed.set()


def test_a_refresh_that_fails_after_close_is_not_reported() -> None:
    """A cluster that is closed during a refresh causes no reported failure."""
    reading, closed = Event(), Event()
    told: list[Exception] = []

    def refresh() -> None:
        reading.set()
        assert closed.wait(20)
        raise UnreachableError("closed")

    refresher = PeriodicThread(refresh, 0.001, failed=told.append)
    assert reading.wait(20)
    Timer(0.1, closed.set).start()
    refresher.close()

    assert told == []


def test_a_requested_revision_does_not_refresh() -> None:
    """A requested revision runs at once and alone, its failure is reported, and a later refresh still runs."""
    told = Told()
    refresher = PeriodicThread(told.refresh, 3600.0, revise=told.revise, failed=told.fail)
    refresher.revise()
    assert told.revised.wait(TIMEOUT_S)
    assert told.failed.wait(TIMEOUT_S)
    assert told.calls == ["revise"]
    refresher.wake()
    assert told.refreshed.wait(TIMEOUT_S)
    refresher.close()
    assert told.calls == ["revise", "refresh"]


def test_revisions_do_not_put_off_the_refresh() -> None:
    """The refresh runs on time, however often revisions are requested."""
    told = Told()
    refresher = PeriodicThread(told.refresh, 0.05, revise=told.revise, failed=told.fail)
    while not told.refreshed.wait(0.001):
        refresher.revise()
    refresher.close()
    assert "refresh" in told.calls
