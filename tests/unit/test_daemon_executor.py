"""An executor whose thread the interpreter does not wait for."""

from __future__ import annotations

import subprocess
import sys
from threading import Barrier, Event, current_thread
from threading import enumerate as enumerate_threads

import pytest

from kafkabal.daemon_executor import DaemonExecutor


def test_calls_run_in_order_in_one_thread() -> None:
    """Each returns its result or raises its error; one that was cancelled in the queue does not run."""
    executor, go_on = DaemonExecutor("calls"), Event()
    first = executor.submit(go_on.wait, 20)
    cancelled = executor.submit(pytest.fail, "it ran")
    failed = executor.submit(int, "x")
    named = executor.submit(lambda: current_thread().name)
    assert cancelled.cancel()
    go_on.set()
    assert first.result(20)
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result(20)
    assert named.result(20) == "calls"
    executor.shutdown()
    assert "calls" not in {thread.name for thread in enumerate_threads()}


def test_calls_run_at_once_and_those_in_the_queue_can_be_dropped() -> None:
    """With two threads two calls run; the end of the block drops the third, and does not wait for the two."""
    go_on, both = Event(), Barrier(3)

    def work() -> bool:
        both.wait(20)
        return go_on.wait(20)

    with DaemonExecutor("calls", threads=2) as executor:
        running, queued = [executor.submit(work) for _ in range(2)], executor.submit(pytest.fail, "it ran")
        both.wait(20)
    assert queued.cancelled()
    go_on.set()
    assert all(done.result(20) for done in running)


def test_the_interpreter_does_not_wait_for_a_call() -> None:
    """As of a transaction whose brokers do not respond when the program ends."""
    script = (
        "from threading import Event\n"
        "from kafkabal.daemon_executor import DaemonExecutor\n"
        "DaemonExecutor('calls').submit(Event().wait)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=50)
