"""Parallel tasks: none delays the others, and bugs are not swallowed."""

from __future__ import annotations

import _thread
import threading
from functools import partial

import pytest

from kafkabal.clusters.clock import Deadline, SystemClock
from kafkabal.clusters.kafka import parallel_requests
from kafkabal.clusters.kafka.parallel_requests import run_all, run_first
from kafkabal.errors import NoResponseError, UnreachableError


def _fail(message: str) -> str:
    raise UnreachableError(message)


def _bug() -> str:
    raise ZeroDivisionError


def _deadline(seconds: float = 5.0) -> Deadline:
    return Deadline(seconds, SystemClock())


def test_all_outcomes_come_back_by_key() -> None:
    """Results and errors are both returned by key."""
    found = run_all({1: lambda: "one", 2: partial(_fail, "two")}, _deadline())
    assert found[1] == "one"
    assert isinstance(found[2], UnreachableError)


def test_a_task_that_never_ends_is_left_behind() -> None:
    """After the deadline its key has an error, and the others have their results."""
    never = threading.Event()
    found = run_all({1: lambda: "one", 2: lambda: str(never.wait())}, _deadline(0.05), grace_s=0.05)
    assert found[1] == "one"
    assert isinstance(found[2], NoResponseError)
    never.set()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError(), None])
def test_threads_that_never_run(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> None:
    """Whether they cannot be started or die at once, as if memory is short: the caller runs each task, once."""

    def start_none(*_: object) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(parallel_requests, "_LONGEST_START_S", 0.05)
    monkeypatch.setattr(_thread, "start_new_thread", start_none)
    done: list[int] = []
    found = run_all({1: partial(done.append, 1), 2: partial(done.append, 2), 3: partial(_fail, "three")}, _deadline())
    assert done == [1, 2]
    assert isinstance(found[3], UnreachableError)
    assert run_first([partial(_fail, "one"), lambda: "two"], _deadline(), 0.01) == "two"


def test_tasks_run_at_the_same_time() -> None:
    """Each waits for the other: in sequence they would never end."""
    meeting = threading.Barrier(2)
    found = run_all({n: partial(meeting.wait, 5) for n in (1, 2)}, _deadline())
    assert sorted(map(str, found.values())) == ["0", "1"]


def test_a_bug_is_raised() -> None:
    """An error that is not ours is not taken for a broker's."""
    with pytest.raises(ZeroDivisionError):
        run_all({1: _bug}, _deadline())
    with pytest.raises(ZeroDivisionError):
        run_first([_bug], _deadline(), 1.0)


def test_the_first_success_counts_and_the_rest_is_not_started() -> None:
    """A task that succeeds at once prevents the others from being tried."""
    tried: list[int] = []
    assert run_first([lambda: "first", lambda: str(tried.append(2))], _deadline(), 5.0) == "first"
    assert tried == []


def test_a_failure_starts_the_next_at_once() -> None:
    """A server that refuses does not cost the head start."""
    assert run_first([partial(_fail, "a"), lambda: "second"], _deadline(), 60.0) == "second"


def test_a_slow_bootstrap_server_is_raced_by_the_next() -> None:
    """After the head start the next one is tried as well, and wins."""
    never = threading.Event()
    assert run_first([lambda: str(never.wait()), lambda: "second"], _deadline(), 0.02) == "second"
    never.set()


def test_all_failures_come_back_in_order() -> None:
    """If nothing succeeds, every error is returned."""
    failures = run_first([partial(_fail, "a"), partial(_fail, "b")], _deadline(), 1.0)
    assert [error.message for error in failures] == ["a", "b"]  # type: ignore[union-attr]
