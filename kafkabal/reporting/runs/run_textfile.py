"""A run as a Prometheus textfile that is kept up to date."""

from __future__ import annotations

from typing import Final

from kafkabal.executor import Event, Finished, Phase, PhaseEntered, RunOutcome, RunProgress, Started
from kafkabal.reporting.textfile_writer import TextfileWriter, is_due

_PREFIX: Final = "kafkabal_rebalance"


class RunTextfile:
    """Listener that rewrites a textfile for the node exporter, at most every few seconds."""

    def __init__(self, file: TextfileWriter) -> None:
        self._file = file
        self._written_s = 0.0
        self._values: dict[str, tuple[str, float]] = {}
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the end of a run, or of a command that started none, has been written."""
        return self._has_ended

    def on_event(self, event: Event) -> None:
        """Write the changes of an event."""
        match event:
            case Started():
                self._has_ended = False
                self._set("running", "1 while a run is active.", 1)
                self._set("started_timestamp_seconds", "Start time of the run.", self._file.wall_clock())
                self._set_paused(is_paused=False)
            case PhaseEntered():
                self._set_paused(is_paused=event.phase is Phase.PAUSED)
            case RunProgress():
                self._progress(event)
            case Finished():
                self._finish(event)
            case _:
                return
        if isinstance(event, Finished | PhaseEntered) or is_due(self._file.wall_clock(), self._written_s):
            self._write()

    def end_without_run(self, *, succeeded: bool, left_throttles: int) -> None:
        """Write that a command started no run: an unchanged file would describe an earlier run."""
        self._end(succeeded=succeeded, done_partitions=0, left_throttles=left_throttles, failed_partitions=0)
        self._write()

    def retract_success(self) -> None:
        """Write that the last run did not succeed, of which more became known after its end."""
        self._set_success(is_success=False)
        self._write()

    def _set_success(self, *, is_success: bool) -> None:
        self._set("success", "1 if the last run completed.", is_success)

    def _set_paused(self, *, is_paused: bool) -> None:
        # a paused run is silent under -q: without this, monitoring would take it for stuck
        self._set("paused", "1 while a run waits for its time window, or for 'kafkabal rebalance resume'.", is_paused)

    def _progress(self, event: RunProgress) -> None:
        self._set("done_bytes", "Bytes copied.", event.done_bytes)
        self._set("planned_bytes", "Total bytes to copy.", event.total_bytes)
        self._set("done_partitions", "Partitions placed as planned.", event.done_partitions)
        self._set("planned_partitions", "Partitions of the run.", event.total_partitions)
        self._set("in_flight_partitions", "Partitions being reassigned.", event.in_flight)
        self._set("postponed_partitions", "Partitions that wait, for example for disk space.", event.postponed)
        self._set("copy_bytes_per_second", "Copy rate of the last 30 seconds.", event.bytes_per_s)

    def _finish(self, event: Finished) -> None:
        self._end(
            succeeded=event.outcome is RunOutcome.COMPLETE,
            done_partitions=event.done_partitions,
            left_throttles=len(event.pending),
            failed_partitions=len(event.problems),
        )

    def _end(self, *, succeeded: bool, done_partitions: int, left_throttles: int, failed_partitions: int) -> None:
        self._has_ended = True
        self._set("running", "1 while a run is active.", 0)
        self._set_paused(is_paused=False)
        self._set("done_partitions", "Partitions placed as planned.", done_partitions)
        self._set_success(is_success=succeeded)
        self._set("left_throttles", "Throttles of the run that are still set.", left_throttles)
        self._set("failed_partitions", "Partitions that failed.", failed_partitions)
        self._set("finished_timestamp_seconds", "End time of the last run.", self._file.wall_clock())

    def _set(self, name: str, meaning: str, value: float) -> None:
        self._values[name] = (meaning, float(value))

    def _write(self) -> None:
        self._written_s = self._file.wall_clock()
        self._file.write((f"{_PREFIX}_{name}", meaning, value) for name, (meaning, value) in self._values.items())
