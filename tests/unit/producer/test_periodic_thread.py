"""The thread that refreshes views."""

from __future__ import annotations

from threading import Event, Timer

from kafkabal.errors import UnreachableError
from kafkabal.producer.periodic_thread import PeriodicThread

TIMEOUT_S = 20.0


class Callbacks:
    """Callbacks that record their calls, with an event for each."""

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
    failures: list[Exception] = []

    def refresh() -> None:
        reading.set()
        assert closed.wait(20)
        raise UnreachableError("closed")

    refresher = PeriodicThread(refresh, 0.001, failed=failures.append)
    refresher.start()
    assert reading.wait(20)
    Timer(0.1, closed.set).start()
    refresher.close()

    assert failures == []


def test_a_requested_revision_does_not_refresh() -> None:
    """A requested revision runs at once and alone, its failure is reported, and a later refresh still runs."""
    callbacks = Callbacks()
    refresher = PeriodicThread(callbacks.refresh, 3600.0, revise=callbacks.revise, failed=callbacks.fail)
    refresher.start()
    refresher.revise()
    assert callbacks.revised.wait(TIMEOUT_S)
    assert callbacks.failed.wait(TIMEOUT_S)
    assert callbacks.calls == ["revise"]
    refresher.wake()
    assert callbacks.refreshed.wait(TIMEOUT_S)
    refresher.close()
    assert callbacks.calls == ["revise", "refresh"]


def test_revisions_do_not_put_off_the_refresh() -> None:
    """The refresh runs on time, however often revisions are requested."""
    callbacks = Callbacks()
    refresher = PeriodicThread(callbacks.refresh, 0.05, revise=callbacks.revise, failed=callbacks.fail)
    refresher.start()
    while not callbacks.refreshed.wait(0.001):
        refresher.revise()
    refresher.close()
    assert "refresh" in callbacks.calls


def test_it_starts_once_whoever_asks() -> None:
    """A second start changes nothing, and closing a thread that never started waits for nothing."""
    callbacks = Callbacks()
    refresher = PeriodicThread(callbacks.refresh, 3600.0, failed=callbacks.fail)
    for _ in range(3):
        refresher.start()
    refresher.wake()
    assert callbacks.refreshed.wait(TIMEOUT_S)
    refresher.close()
    assert callbacks.calls == ["refresh"]
    PeriodicThread(callbacks.refresh, 3600.0, failed=callbacks.fail).close()
