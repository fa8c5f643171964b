"""Another rate for a run that is going on: asked for on any host, and looked for by the run now and then.

A run that the cluster remembers is asked through its record there; one that it does not, through a small file beside
the journal, and so only on its own host. A request stays where it is: a run takes each one once, and a run that was
interrupted takes the latest when it is resumed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kafkabal.errors import OperationError, UsageError
from kafkabal.executor.finding import find_run, remembered_run
from kafkabal.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from kafkabal.clusters.clock import Clock
    from kafkabal.executor.remembered import RememberedRun
    from kafkabal.executor.workplace import Workplace

LOOK_EVERY_S = 5.0


class RateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody wants another rate."""

    bytes_per_s: int
    asked_at: str
    """Tells it from other requests."""


class RateRequests:
    """The latest request for a run, wherever it is asked for."""

    def __init__(self, journal: Path, remembered: RememberedRun | None, run_id: str, clock: Clock) -> None:
        self._path = _path(journal)
        self._remembered = remembered
        self._run_id = run_id
        self._clock = clock
        self._looked_s = float("-inf")

    def latest(self) -> RateRequest | None:
        """The latest request, taken or not; None where there is none, or it is not yet time to look again."""
        now_s = self._clock.monotonic()
        if now_s - self._looked_s < LOOK_EVERY_S:
            return None
        self._looked_s = now_s
        # a request that cannot be read now is read later: the run itself does not depend on it
        with suppress(OSError, OperationError, msgspec.DecodeError):
            packed = self._path.read_bytes() if self._remembered is None else self._remembered.request(self._run_id)
            return msgspec.json.decode(packed, type=RateRequest) if packed else None
        return None


def request_rate(workplace: Workplace, bytes_per_s: int, *, journal: Path | None = None) -> str:
    """Ask the latest run for another rate: where the cluster remembers it, else beside its journal.

    Returns
    -------
    str
        Id of the run.

    Raises
    ------
    UsageError
        If no run is open, as far as this host and the cluster know.
    OutputError, OperationError
        If the request cannot be written.
    """
    found = find_run(workplace, journal)
    if found is None or not found.is_open:
        raise UsageError(
            "no run is going on, as far as this host and the cluster know",
            hint="a run that the cluster could not keep a record of is known on its own host only",
        )
    run_id = found.record.run_id
    packed = msgspec.json.encode(RateRequest(bytes_per_s=bytes_per_s, asked_at=workplace.clock.utc_now().isoformat()))
    remembered = remembered_run(workplace.cluster)
    if remembered is not None and remembered.run_id() == run_id:
        remembered.put_request(run_id, packed)
    elif found.journal is not None:
        with replacing(_path(found.journal.path)) as file:
            file.write(packed)
    return run_id


def _path(journal: Path) -> Path:
    return journal.with_suffix(".rate")
