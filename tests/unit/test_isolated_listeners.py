"""Failing or blocking listeners disturb no other code, whatever the events are."""

from __future__ import annotations

import threading

from kafkabal.isolated_listeners import BackgroundListener, IsolatedListeners


class _Recorder:
    def __init__(self, fails_at: str = "") -> None:
        self.seen: list[str] = []
        self._fails_at = fails_at

    def on_event(self, event: str) -> None:
        self.seen.append(event)
        if event == self._fails_at:
            raise OSError("gone")


def test_a_failing_listener_is_dropped_and_the_others_continue() -> None:
    """An exception in a listener reaches neither the caller nor other listeners."""
    failing, healthy = _Recorder("b"), _Recorder()
    both = IsolatedListeners([failing, healthy])
    for event in "abc":
        both.on_event(event)
    assert failing.seen == ["a", "b"]
    assert healthy.seen == ["a", "b", "c"]


def test_one_that_blocks_keeps_a_bounded_number_of_events() -> None:
    """Events beyond the capacity are dropped, transient ones first, silently if no event can report it."""
    free, entered, seen = threading.Event(), threading.Event(), list[str]()

    class Blocked:
        def on_event(self, event: str) -> None:
            entered.set()
            free.wait(60.0)
            seen.append(event)

    listener = BackgroundListener[str](Blocked(), is_passing=str.isupper, capacity=2)
    listener.on_event("a")
    assert entered.wait(60.0)
    for event in "bXcYd":
        listener.on_event(event)
    free.set()
    assert listener.close(60.0)
    assert seen == ["a", "b", "c"]
