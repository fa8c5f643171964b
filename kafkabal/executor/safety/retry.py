"""How long failed calls are retried: a minute without a connection ends no run, and no run hangs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkabal.clusters import Clock
from kafkabal.errors import (
    NotAuthorizedError,
    OperationError,
    RefusedByClusterError,
    TemporaryRefusalError,
    UnreachableError,
)
from kafkabal.executor.run_events import RunListener, Trouble
from kafkabal.executor.run_options import Timeouts

_T = TypeVar("_T")
_LONGEST_PAUSE_S = 15.0
"""A controller or coordinator is replaced within seconds: longer pauses would only delay the run, and with it the end
of its throttles; much shorter ones would load a cluster that is in trouble."""

PASSING_ERRORS = (UnreachableError, RefusedByClusterError)
"""Errors of a whole call that a retry may overcome."""


class RetryBudget:
    """Counts failures in a row; any success resets the count."""

    def __init__(self, clock: Clock, timeouts: Timeouts, listener: RunListener) -> None:
        self._clock = clock
        self._timeouts = timeouts
        self._listener = listener
        self._since_s: float | None = None
        self._refusals = 0
        self._tries = 0

    def back_off(self, error: OperationError) -> None:
        """Wait before the next attempt, longer each time; raise the error if it is final or has lasted too long."""
        now = self._clock.monotonic()
        self._since_s = now if self._since_s is None else self._since_s
        self._tries += 1
        # what is refused only until brokers are back is waited for as if they did not respond
        self._refusals += isinstance(error, RefusedByClusterError) and not isinstance(error, TemporaryRefusalError)
        if (
            isinstance(error, NotAuthorizedError)
            or self._refusals >= self._timeouts.refusals
            or now - self._since_s >= self._timeouts.unreachable_s
        ):
            self.reset()
            raise error
        pause_s = min(self._timeouts.poll_s * 2 ** (self._tries - 1), _LONGEST_PAUSE_S)
        self._listener.on_event(
            Trouble(
                error=str(error),
                since_s=now - self._since_s,
                next_try_s=pause_s,
                give_up_s=self._timeouts.unreachable_s,
            )
        )
        self._clock.sleep(pause_s)

    def reset(self) -> None:
        """Note that a call succeeded."""
        self._since_s, self._refusals, self._tries = None, 0, 0

    def until_success(self, action: Callable[[], _T]) -> _T:
        """Retry an action until it succeeds; executing it twice must be harmless."""
        while True:
            try:
                result = action()
            except PASSING_ERRORS as error:
                self.back_off(error)
            else:
                self.reset()
                return result
