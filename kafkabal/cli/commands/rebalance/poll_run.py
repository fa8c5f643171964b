"""Ask the process that works on a run, as ``rebalance pause`` and ``cancel`` do, and wait until it has followed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkabal.errors import BusyError, KafkabalError, OperationError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkabal.executor import FoundRun, RunEnvironment

LONGEST_ANSWER_S: Final = 60.0
"""A run looks for requests every 5 s, and obeys once the brokers have cancelled what is in flight."""
_POLL_S: Final = 1.0
"""Reads a file or a small record; people wait for it."""


def announcement(run_id: str, kept_out: KafkabalError, request: str, wait_s: float) -> str:
    """What is asked of a run whose lock could not be taken: another process has it, or it cannot be reached."""
    if isinstance(kept_out, BusyError):
        return f"run {run_id} is active in another process: asked it to {request}, waiting up to {wait_s:g} s"
    return f"{kept_out.message}: asked run {run_id} to {request}, if a process works on it, waiting up to {wait_s:g} s"


def unanswered(message: str, kept_out: KafkabalError) -> KafkabalError:
    """The error of a request that was not followed in time; it stays, and may be followed later."""
    if isinstance(kept_out, BusyError):
        return BusyError(message, hint="see 'kafkabal rebalance status', or wait longer with --wait")
    hint = "'kafkabal inspect' shows which brokers are dead; try again once they are back"
    return UnreachableError(f"{message}, if a process works on it: {kept_out.message}", hint=hint)


def poll_run(
    environment: RunEnvironment, run_id: str, wait_s: float, journal: Path | None = None
) -> Iterator[FoundRun | None]:
    """Yield the state of the run every second until the time is over; None as the last one once the run has ended."""
    from kafkabal.executor import find_run

    give_up_at_s = environment.clock.monotonic() + wait_s
    while environment.clock.monotonic() < give_up_at_s:
        # the run has been asked: that it cannot be seen while brokers are replaced ends nothing
        with suppress(OperationError):
            found = find_run(environment, journal)
            if found is None or found.record.run_id != run_id or found.state.is_clean:
                yield None
                return
            yield found
        environment.clock.sleep(_POLL_S)
