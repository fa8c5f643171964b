"""A latch lets all threads continue, whichever was interrupted."""

from __future__ import annotations

from threading import Thread

from kafkabal.producer.latch import Latch

TIMEOUT_S = 20.0


def test_all_who_wait_go_on_once_it_is_set() -> None:
    """A thread that comes later does not wait at all."""
    latch = Latch()
    assert not latch.wait(0.01)
    waiting = [Thread(target=latch.wait, args=(TIMEOUT_S,)) for _ in range(4)]
    for thread in waiting:
        thread.start()
    latch.set()
    latch.set()
    for thread in waiting:
        thread.join(TIMEOUT_S)
    assert not any(thread.is_alive() for thread in waiting)
    assert latch.is_set()
    assert latch.wait(0.0)


def test_who_was_interrupted_holds_up_nobody() -> None:
    """A handler raised after the lock was taken, which is never released then."""
    latch = Latch()
    latch.set()
    assert latch._closed.acquire(blocking=False)
    latch.set()
    assert latch.wait(TIMEOUT_S)
