"""The ledger of a watch that heals: in memory, and in the file from which the next watch continues."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kafkabal.clusters import Clock
from kafkabal.errors import InputFileError, KafkabalError
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger, read_ledger, write_ledger
from kafkabal.watch.watch_event_sender import WatchEventSender
from kafkabal.watch.watch_events import EventKind

_CLOCK_SET_S = 60.0
"""A clock that is only adjusted changes by less between two observations."""


class KeptLedger:
    """Every change of the cluster is written to the file first: a watch that was killed knows what it was doing.

    A file that is damaged or cannot be written is reported once, and suspends healing, but not watching.

    Parameters
    ----------
    is_needed
        False for a watch that only reports: it needs no budgets.

    Attributes
    ----------
    ledger
        May be replaced; :meth:`save` writes it.
    is_loaded
        Whether the file was read, so that what was healed before is known.
    is_saved
        Whether the file could be used the last time.
    has_former_times
        Whether the clock was set since the file was written, so that its times are by the former one.
    """

    def __init__(self, path: Path, clock: Clock, events: WatchEventSender, *, is_needed: bool) -> None:
        self._path, self._clock, self._events = path, clock, events
        self.ledger = HealingLedger()
        self._is_needed = is_needed
        self.is_loaded, self.is_saved, self.has_former_times = not is_needed, True, False
        self._epoch_s = clock.utc_now().timestamp() - clock.monotonic()
        """Time of day at the monotonic time 0."""

    def now_s(self) -> float:
        """Seconds since the epoch; if the clock was set, the ledger follows, or a day of rest and budgets would end."""
        now_s = self._clock.utc_now().timestamp()
        before_s, self._epoch_s = self._epoch_s, now_s - self._clock.monotonic()
        step_s = self._epoch_s - before_s
        if abs(step_s) > _CLOCK_SET_S:
            self.ledger = self.ledger.shifted(step_s)
            self.has_former_times = self._is_needed
        return now_s

    def load(self) -> bool:
        """Read the file for the first time; returns whether that succeeded."""
        try:
            self.ledger = read_ledger(self._path)
        except InputFileError as error:
            self._report(f"nothing is healed while the state folder cannot be read: {error.in_one_line}")
        else:
            self.is_loaded = True
            self._report("")
        return self.is_loaded

    def read_again(self) -> None:
        """Take over what another watch has written since, with times by the clock as it is now."""
        self.now_s()
        self.has_former_times = False
        if self.is_loaded:
            # what this watch could not write is found again in the latest run; a file that cannot be read adds nothing
            with suppress(InputFileError):
                self.ledger = read_ledger(self._path)

    def add(self, entry: HealingEntry) -> bool:
        """Add an entry; drops one that has a plan and cannot be written, and returns False."""
        before, self.ledger = self.ledger, self.ledger.with_entry(entry)
        if entry.plan is not None and not self.save():
            self.ledger = before
        return self.is_saved

    def save(self) -> bool:
        """Write the file; returns whether that succeeded."""
        try:
            write_ledger(self.ledger, self._path)
            self.has_former_times = False
        except (KafkabalError, OSError) as error:
            reason = error.message if isinstance(error, KafkabalError) else str(error)
            self._report(f"nothing is healed while the state folder cannot be written: {reason}")
        else:
            self._report("")
        return self.is_saved

    def _report(self, fault: str) -> None:
        """Report the first fault, and that there is none any more."""
        if fault and self.is_saved:
            self._events.report(EventKind.NOT_SAVED, fault)
        elif not fault and not self.is_saved:
            self._events.report(EventKind.SAVED, f"{self._path} can be used again")
        self.is_saved = not fault
