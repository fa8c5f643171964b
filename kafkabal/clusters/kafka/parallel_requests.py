"""Requests to several servers in parallel; none can delay the others or the exit of the program."""

from __future__ import annotations

import _thread
import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from kafkabal.clusters.clock import Deadline
from kafkabal.errors import KafkabalError, NoResponseError

_K = TypeVar("_K")
_V = TypeVar("_V")
# how long a task that ends itself at the deadline may overrun it (in a DNS lookup, which cannot be bounded)
_GRACE_S = 1.0
# a thread runs within milliseconds, or never if memory is short
_LONGEST_START_S = 1.0


def run_all(
    tasks: Mapping[_K, Callable[[], _V]], deadline: Deadline, *, grace_s: float = _GRACE_S
) -> dict[_K, _V | KafkabalError]:
    """Run every task in its own thread; returns each result, or the error that it raised.

    A task that is not done by the deadline or ``grace_s`` seconds later is abandoned and counts as one without a
    response.
    """
    threads: _Threads[_K, _V] = _Threads()
    for key, task in tasks.items():
        threads.start(key, task)
    outcomes: dict[_K, _V | KafkabalError] = {}
    while len(outcomes) < len(tasks):
        try:
            key, outcome = threads.next_done(deadline.remaining_s + grace_s)
        except queue.Empty:
            break
        outcomes[key] = outcome
    missing = NoResponseError(f"no response within {deadline}")
    return {key: outcomes.get(key, missing) for key in tasks}


def run_first(tasks: Sequence[Callable[[], _V]], deadline: Deadline, head_start_s: float) -> _V | list[KafkabalError]:
    """Return the result of the first task that succeeds, or the errors of all of them in order.

    Parameters
    ----------
    head_start_s
        A task is started when the previous ones have failed, or after this delay.
    """
    threads: _Threads[int, _V] = _Threads()
    failures: dict[int, KafkabalError] = {}
    for started, task in enumerate(tasks, 1):
        threads.start(started, task)
        while len(failures) < started:
            is_last = started == len(tasks)
            try:
                task_number, outcome = threads.next_done(deadline.remaining_s + _GRACE_S if is_last else head_start_s)
            except queue.Empty:
                break
            if not isinstance(outcome, KafkabalError):
                return outcome
            failures[task_number] = outcome
    return [failures[number] for number in sorted(failures)] or [NoResponseError(f"no response within {deadline}")]


class _Threads(Generic[_K, _V]):
    """Threads that do not prevent the program from exiting, and a queue of their results.

    A task whose thread does not run soon is run by the caller. ``threading.Thread.start`` waits without a limit until
    the thread runs: one that died before that for lack of memory made a run hang that held a lock and throttles.
    """

    def __init__(self) -> None:
        self._done: queue.SimpleQueue[tuple[_K, _V | BaseException]] = queue.SimpleQueue()
        self._not_begun: dict[_K, Callable[[], _V]] = {}

    def start(self, key: _K, task: Callable[[], _V]) -> None:
        self._not_begun[key] = task
        with suppress(RuntimeError, MemoryError):
            _thread.start_new_thread(self._run, (key,))

    def next_done(self, timeout_s: float) -> tuple[_K, _V | KafkabalError]:
        """The next result; an error that is not one of ours is a bug and is raised."""
        try:
            key, outcome = self._done.get(timeout=min(timeout_s, _LONGEST_START_S))
        except queue.Empty:
            for waiting in list(self._not_begun):
                self._run(waiting)
            key, outcome = self._done.get(timeout=max(timeout_s - _LONGEST_START_S, 0.0))
        if isinstance(outcome, BaseException) and not isinstance(outcome, KafkabalError):
            raise outcome
        return key, outcome

    def _run(self, key: _K) -> None:
        task = self._not_begun.pop(key, None)
        if task is None:
            return
        try:
            self._done.put((key, task()))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self._done.put((key, error))
