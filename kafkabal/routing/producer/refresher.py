"""A thread that does one thing every few seconds, and survives its failures."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSING_S = 10.0


class Refresher:
    """Calls ``refresh`` every ``interval_s`` seconds until it is closed.

    Parameters
    ----------
    refresh
        What to do; runs in a thread of its own.
    failed
        Told of each error that it raised, those of a plug-in included; what was there before stays in force.
    """

    def __init__(self, refresh: Callable[[], None], interval_s: float, *, failed: Callable[[Exception], None]) -> None:
        self._refresh = refresh
        self._interval_s = interval_s
        self._failed = failed
        self._stop = Event()
        self._wake = Event()
        self._thread = Thread(target=self._run, name="kafkabal-refresher", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Refresh now instead of at the end of the interval."""
        self._wake.set()

    def close(self) -> None:
        """Stop; waits for a refresh that is under way, though not for ever."""
        self._stop.set()
        self._wake.set()
        self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._interval_s)
            self._wake.clear()
            if not self._stop.is_set():
                self._refresh_once()

    def _refresh_once(self) -> None:
        try:
            self._refresh()
        except Exception as error:  # noqa: BLE001 - records must go on whatever a plug-in does
            self._failed(error)
