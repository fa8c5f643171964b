"""How long a failing call is retried: backing off, and given up after refusals or after minutes."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import (
    BusyError,
    NotAuthorizedError,
    OperationError,
    RefusedByClusterError,
    TemporaryRefusalError,
    UnreachableError,
)
from kafkabal.executor.run_events import Trouble
from kafkabal.executor.run_options import Timeouts
from kafkabal.executor.safety.retry import RetryBudget

_TIMEOUTS = Timeouts(poll_s=1.0, unreachable_s=60.0, refusals=3)


class Attempts:
    """An action that raises these errors in turn and then succeeds; a listener that stores events."""

    def __init__(self, *errors: OperationError) -> None:
        self.clock = FakeClock()
        self.at_s: list[float] = []
        self.reported: list[Trouble] = []
        self.budget = RetryBudget(self.clock, _TIMEOUTS, self)
        self._errors = list(errors)

    def on_event(self, event: Any) -> None:
        """Keep it."""
        self.reported.append(event)

    def __call__(self) -> str:
        """One attempt."""
        self.at_s.append(self.clock.monotonic())
        if self._errors:
            raise self._errors.pop(0)
        return "done"


def test_pauses_double_up_to_a_quarter_of_a_minute() -> None:
    """Each is announced, with the error and since when it lasts."""
    attempts = Attempts(*[UnreachableError("gone")] * 7)
    assert attempts.budget.until_success(attempts) == "done"
    assert attempts.at_s == [0.0, 1.0, 3.0, 7.0, 15.0, 30.0, 45.0, 60.0]
    assert [t.next_try_s for t in attempts.reported] == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    assert [t.since_s for t in attempts.reported] == attempts.at_s[:-1]
    assert {(t.error, t.give_up_s) for t in attempts.reported} == {("gone", 60.0)}


def test_a_cluster_that_stays_away_is_given_up() -> None:
    """At the first failure after the time is up; a success restarts the time."""
    attempts = Attempts(*[UnreachableError("gone")] * 8)
    with pytest.raises(UnreachableError, match="gone"):
        attempts.budget.until_success(attempts)
    assert attempts.at_s[-1] == 60.0
    assert attempts.budget.until_success(attempts) == "done"
    attempts._errors = [UnreachableError("again")]
    assert attempts.budget.until_success(attempts) == "done"
    assert attempts.reported[-1].since_s == 0.0
    assert attempts.reported[-1].next_try_s == 1.0


def test_refusals_are_given_up_after_a_few_in_a_row() -> None:
    """The third is raised; a success in between resets the count, also for a new error."""
    refusal = RefusedByClusterError("no")
    attempts = Attempts(refusal, refusal)
    assert attempts.budget.until_success(attempts) == "done"
    attempts._errors = [refusal, UnreachableError("gone"), refusal, refusal]
    with pytest.raises(RefusedByClusterError):
        attempts.budget.until_success(attempts)
    assert len(attempts.at_s) == 3 + 4
    attempts._errors = [refusal, refusal]
    assert attempts.budget.until_success(attempts) == "done"


def test_what_is_refused_until_brokers_are_back_is_waited_for_like_them() -> None:
    """However often; it does not count as one of the few refusals either."""
    attempts = Attempts(*[TemporaryRefusalError("too few replicas")] * 6, RefusedByClusterError("no"))
    assert attempts.budget.until_success(attempts) == "done"
    attempts._errors = [TemporaryRefusalError("too few replicas")] * 8
    with pytest.raises(TemporaryRefusalError):
        attempts.budget.until_success(attempts)


@pytest.mark.parametrize("error", [NotAuthorizedError("denied"), BusyError("locked")])
def test_permanent_errors_are_raised_at_once(error: OperationError) -> None:
    """A missing permission, and a lock held by another."""
    attempts = Attempts(error)
    with pytest.raises(type(error)):
        attempts.budget.until_success(attempts)
    assert (attempts.at_s, attempts.reported) == ([0.0], [])
