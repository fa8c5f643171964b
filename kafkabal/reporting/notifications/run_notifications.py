"""Notifications of a run: its start, its end, and its warnings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

from kafkabal.errors import BusyError, KafkabalError
from kafkabal.executor import Event, Finished, Goal, RunOutcome, Started, Warned
from kafkabal.reporting.notifications.notifier import Notification, Notifier
from kafkabal.units import DAY_S, format_bytes, format_duration
from kafkabal.wording import counted_noun, first_of

_FAILED: Final = "run-failed"
_FAILED_FOR_S: Final = DAY_S
"""A run that fails at night is still an alert in the morning; the next one that completes resolves it."""


class RunNotifications:
    """A listener that posts the start and the end of a run, and an error that ends its ``with`` block.

    Parameters
    ----------
    wall_clock
        Seconds since the epoch.
    """

    def __init__(self, notifier: Notifier, command: str, wall_clock: Callable[[], float]) -> None:
        self._notifier = notifier
        self._command = command
        self._wall_clock = wall_clock
        self._is_active = False
        """A run has started and not ended."""
        self._has_reported_failure = False

    def on_event(self, event: Event) -> None:
        """Post the event, if it is one of these."""
        match event:
            case Started():
                self._is_active, self._has_reported_failure = True, False
                self._post("run-started", f"run {event.run_id} started: {_extent(event)}", event.run_id)
            case Warned():
                self._post("run-warning", event.message)
            case Finished():
                self._is_active = False
                self._finish(event)
            case _:
                return

    def _finish(self, event: Finished) -> None:
        done = (
            f"run {event.run_id} {event.outcome}: {event.done_partitions} of "
            f"{counted_noun(event.total_partitions, 'partition')}, "
            f"{format_bytes(event.done_bytes)} in {format_duration(event.elapsed_s)}"
        )
        if event.pending:
            done += f"; still set: {first_of(event.pending)}"
        if event.outcome is RunOutcome.COMPLETE and not event.pending:
            self._post("run-completed", done, event.run_id, ends=(_FAILED,))
        else:
            self._has_reported_failure = True
            self._post(_FAILED, done, event.run_id, begins=(_FAILED,))

    def _post(
        self,
        event: str,
        message: str,
        run_id: str | None = None,
        begins: tuple[str, ...] = (),
        ends: tuple[str, ...] = (),
    ) -> None:
        at_s = self._wall_clock()
        at, until = (datetime.fromtimestamp(s, UTC).isoformat(timespec="seconds") for s in (at_s, at_s + _FAILED_FOR_S))
        self._notifier.post(
            Notification(at=at, event=event, message=message, run_id=run_id, begins=begins, ends=ends, until=until)
        )

    def __enter__(self) -> RunNotifications:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KafkabalError) and self._is_news(error):
            self._post(_FAILED, f"{self._command}: {error.message}", begins=(_FAILED,))
        self._notifier.close()

    def _is_news(self, error: KafkabalError) -> bool:
        """Whether no event has reported an error: neither a refused run nor what a run cannot repair has one.

        A process that holds the lock reports its own run: being kept out by it is not a failure.
        """
        return not self._has_reported_failure and (self._is_active or not isinstance(error, BusyError))


def _extent(event: Started) -> str:
    if event.goal is Goal.CANCEL:
        return "cancelling its reassignments in flight"
    if not event.partitions:
        return "nothing to move"
    return f"{counted_noun(event.partitions, 'partition')}, {format_bytes(event.copy_bytes)}"
