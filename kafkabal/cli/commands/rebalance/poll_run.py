"""Wait until the process that works on a run has followed ``rebalance pause`` or ``rebalance cancel``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkabal.executor import FoundRun, RunEnvironment

LONGEST_ANSWER_S: Final = 60.0
"""A run looks for requests every 5 s, and obeys once the brokers have cancelled what is in flight."""
_POLL_S: Final = 1.0
"""Reads a file or a small record; people wait for it."""


def poll_run(
    environment: RunEnvironment, run_id: str, wait_s: float, journal: Path | None = None
) -> Iterator[FoundRun | None]:
    """Yield the state of the run every second until the time is over; None as the last one once the run has ended."""
    from kafkabal.executor import find_run

    give_up_at_s = environment.clock.monotonic() + wait_s
    while environment.clock.monotonic() < give_up_at_s:
        found = find_run(environment, journal)
        if found is None or found.record.run_id != run_id or found.state.is_clean:
            yield None
            return
        yield found
        environment.clock.sleep(_POLL_S)
