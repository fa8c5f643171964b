"""Shows a run to people: a line for each change, and a progress display in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from msgspec.structs import replace

from kafkabal.executor import (
    Event,
    Finished,
    Goal,
    LockAwaited,
    PartitionFailed,
    PartitionPostponed,
    Phase,
    PhaseEntered,
    RunProgress,
    Started,
    StopReason,
    StopRequested,
    Submitted,
    ThrottleChanged,
    Trouble,
    Warned,
)
from kafkabal.reporting.transfer_progress import TransferProgress as Display
from kafkabal.units import format_bytes, format_duration, format_stated_rate
from kafkabal.wording import counted_noun, first_of

_DOING = {Goal.APPLY: "moving", Goal.ROLL_BACK: "rolling back", Goal.CANCEL: "cancelling"}
_PHASES = {
    Phase.ELECTING: "electing preferred leaders",
    Phase.CANCELLING: "waiting until no reassignment is in flight",
    Phase.RESTORING: "restoring throttles",
}
_CLEANING_UP = frozenset({Phase.CANCELLING, Phase.RESTORING})
_SHORTEST_PREDICTED_S = 5.0
"""A run takes some seconds besides its copies: a shorter prediction would be wrong."""
_ABORTING = {
    StopReason.INTERRUPT: "press Ctrl-C again to abort and leave reassignments and throttles in place",
    StopReason.TERMINATE: "a second SIGTERM aborts and leaves reassignments and throttles in place",
}


class ProgressMessages:
    """Listener that writes lines.

    Parameters
    ----------
    say, warn
        Write one line.
    open_display
        Opens a display for a number of bytes, given the name of the activity.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        open_display: Callable[[str, int], Display],
    ) -> None:
        self._say = say
        self._warn = warn
        self._open_display = open_display
        self._doing = ""
        self._awaited = ""
        self._has_submitted = False
        self._held_up: dict[PartitionPostponed | PartitionFailed, list[str]] = {}
        """Partitions since the last other event, by the event without its partition: a broker that dies, or another
        tool, holds up thousands at once."""
        self._stack = ExitStack()
        self._display: Display | None = None

    def on_event(self, event: Event) -> None:
        """Show the event."""
        if isinstance(event, PartitionPostponed | PartitionFailed):
            self._held_up.setdefault(replace(event, partition=""), []).append(event.partition)
            return
        self._write_held_up()
        match event:
            case Started():
                self._start(event)
            case PhaseEntered():
                self._enter(event)
            case RunProgress():
                self._show(event)
            case Submitted():
                self._has_submitted = True
            case Finished():
                self.close()
            case _:
                self._write(event)

    def _write(self, event: Event) -> None:
        match event:
            case ThrottleChanged():
                self._say(f"throttle: {_throttle(event)}, {event.reason}")
            case Trouble():
                self._wait(event)
            case LockAwaited():
                self._say(f"{event.holder}; waiting up to {format_duration(event.wait_s)}")
            case StopRequested(reason=StopReason.CANCELLED):
                self._say("cancelled by another command; cancelling reassignments in flight")
            case StopRequested() if event.reason in _ABORTING:
                self._say(f"stopping gracefully; {_ABORTING[event.reason]}")
            case Warned():
                self._warn(event.message)

    def _write_held_up(self) -> None:
        """One line for each reason."""
        held_up, self._held_up = self._held_up, {}
        for event, names in held_up.items():
            if isinstance(event, PartitionFailed):
                self._warn(f"{first_of(names)}: {event.reason}")
            else:
                self._say(f"{first_of(names)} {'waits' if len(names) == 1 else 'wait'}: {event.reason}")

    def _start(self, event: Started) -> None:
        self._doing = _DOING[event.goal]
        if event.goal is Goal.CANCEL:  # the bytes and the time of its plan would read as if it moved them
            self._say(f"run {event.run_id}: cancelling its reassignments in flight; lock: {event.lock_scope}")
            return
        if not event.partitions:  # throttles or leaders at most are left to be restored
            self._say(f"run {event.run_id}: nothing to move; lock: {event.lock_scope}")
            return
        known_s = event.predicted_s or 0.0
        predicted = "" if known_s < _SHORTEST_PREDICTED_S else f", about {format_duration(known_s)}"
        is_within_brokers = event.copy_bytes == 0 and event.log_dir_bytes > 0
        throttle = event.log_dir_throttle_bytes_per_s if is_within_brokers else event.throttle_bytes_per_s
        limit = "without a throttle" if throttle is None else f"at {format_stated_rate(throttle)} per broker"
        within = f" and {format_bytes(event.log_dir_bytes)} between log dirs" if event.log_dir_bytes else ""
        self._say(
            f"run {event.run_id}: {counted_noun(event.partitions, 'partition')}, "
            f"{format_bytes(event.copy_bytes)} between brokers{within}, {limit}{predicted}; lock: {event.lock_scope}"
        )

    def _wait(self, event: Trouble) -> None:
        """Say once what is waited for, and again only if the reason changes: a wait of minutes has many attempts."""
        if event.since_s == 0.0 or event.error != self._awaited:
            self._say(f"{event.error}; retrying for up to {format_duration(event.give_up_s)}")
        self._awaited = event.error

    def _enter(self, event: PhaseEntered) -> None:
        if event.phase is Phase.PAUSED:
            self.close()
            self._say(_paused(event.opens_in_s))
        elif event.phase in _PHASES and (self._has_submitted or event.phase not in _CLEANING_UP):
            self.close()
            self._say(_PHASES[event.phase])

    def _show(self, event: RunProgress) -> None:
        if self._display is None:
            self._display = self._stack.enter_context(self._open_display(self._doing, event.total_bytes))
        waiting = f", {event.postponed:,} postponed" if event.postponed else ""
        note = (
            f"{event.done_partitions:,} of {counted_noun(event.total_partitions, 'partition')}, "
            f"{event.in_flight:,} in flight{waiting}"
        )
        self._display.update(event.done_bytes, total_bytes=event.total_bytes, note=note)

    def close(self) -> None:
        """Write what is held back, and remove the display from the terminal."""
        self._write_held_up()
        self._stack.close()
        self._display = None


def _paused(opens_in_s: float | None) -> str:
    if opens_in_s is None:
        return "paused; continue with 'kafkabal rebalance resume'"
    return f"outside the time window: paused, continues in {format_duration(opens_in_s)}"


def _throttle(event: ThrottleChanged) -> str:
    rates = ((event.bytes_per_s, ""), (event.log_dir_bytes_per_s, " between log dirs"))
    return " and ".join(f"{format_stated_rate(rate)}{where}" for rate, where in rates if rate is not None)
