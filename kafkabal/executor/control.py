"""Another rate for a run that is going on: a small file beside its journal, which the run looks at now and then."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kafkabal.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from kafkabal.clusters.clock import Clock

_LOOK_EVERY_S = 1.0


class RateRequests:
    """Rates that were asked for, each taken once."""

    def __init__(self, journal: Path, clock: Clock) -> None:
        self._path = _path(journal)
        self._clock = clock
        self._looked_s = float("-inf")

    def take(self) -> int | None:
        """A rate in bytes per second that was asked for since the last call, if any."""
        now_s = self._clock.monotonic()
        if now_s - self._looked_s < _LOOK_EVERY_S:
            return None
        self._looked_s = now_s
        with suppress(OSError, ValueError):
            rate = int(self._path.read_text())
            self._path.unlink()
            return rate
        return None


def request_rate(journal: Path, bytes_per_s: int) -> None:
    """Ask the run of this journal for another rate.

    Raises
    ------
    OutputError
        If the request cannot be written.
    """
    with replacing(_path(journal)) as file:
        file.write(str(bytes_per_s).encode())


def _path(journal: Path) -> Path:
    return journal.with_suffix(".rate")
