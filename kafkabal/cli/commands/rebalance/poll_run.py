"""Sends a request to the process that works on a run, as ``rebalance pause`` and ``cancel`` do, and waits for it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from kafkabal.errors import BusyError, KafkabalError, OperationError, UnreachableError, UsageError
from kafkabal.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import FoundRun, RunEnvironment

LONGEST_ANSWER_S: Final = 60.0
"""A run reads requests every 5 s, and has followed one when the brokers have cancelled what is in flight."""
WAIT_LONGER: Final = "see 'kafkabal rebalance status', or wait longer with --wait"
_POLL_S: Final = 1.0
"""Reads a file or a small record; people wait for it."""


def why_lock_is_kept(command: RunSession) -> BusyError | UnreachableError | None:
    """Why the lock of the cluster cannot be taken; None once this process holds it."""
    try:
        command.lock.take()
    except (BusyError, UnreachableError) as kept_out:
        return kept_out
    return None


def announcement(run_id: str, kept_out: KafkabalError, request: str, wait_s: float) -> str:
    """A request to a run whose lock could not be taken: another process has it, or it cannot be reached."""
    limit = format_duration(wait_s)
    if isinstance(kept_out, BusyError):
        return f"run {run_id} is active in another process: asked it to {request}, waiting up to {limit}"
    return f"{kept_out.message}: asked run {run_id} to {request}, if a process works on it, waiting up to {limit}"


def unanswered(message: str, kept_out: KafkabalError) -> KafkabalError:
    """The error for a request that was not followed in time; it stays, and may be followed later."""
    if isinstance(kept_out, BusyError):
        return BusyError(message, hint=WAIT_LONGER)
    hint = "'kafkabal inspect' shows which brokers are dead; try again once they are back"
    return UnreachableError(f"{message}, if a process works on it: {kept_out.message}", hint=hint)


@contextmanager
def refusing_before_run(kept_out: KafkabalError) -> Iterator[None]:
    """Within the block, the process that holds the lock has not begun a run yet if none is found.

    Raises
    ------
    BusyError
        In that case: after a cancel that ends with "no active run", none may begin a second later.
    """
    try:
        yield
    except UsageError as error:
        if not isinstance(kept_out, BusyError):
            raise
        raise BusyError(
            f"{kept_out.message}; it has not begun a run yet", hint="run the same command again in a few seconds"
        ) from error


def poll_run(
    environment: RunEnvironment, run_id: str, wait_s: float, journal: Path | None = None
) -> Iterator[FoundRun | None]:
    """Yield the state of the run every second until the timeout; yield None last once the run has ended."""
    from kafkabal.executor import find_run

    give_up_at_s = environment.clock.monotonic() + wait_s
    while environment.clock.monotonic() < give_up_at_s:
        # the request is stored: not seeing the run while brokers are replaced ends nothing
        with suppress(OperationError):
            found = find_run(environment, journal)
            if found is None or found.record.run_id != run_id or _has_ended(environment, found):
                yield None
                return
            yield found
        environment.clock.sleep(_POLL_S)


def takes_lock_of_dead(command: RunSession) -> bool:
    """Take the lock of the cluster if the process that worked on an open run has died; returns whether it has.

    To another host, or another user, that process seems to hold the lock until its session expires.
    """
    if _is_lock_free(command.environment):
        with suppress(BusyError, UnreachableError):
            command.lock.take()
            return True
    return False


def _is_lock_free(environment: RunEnvironment) -> bool:
    from kafkabal.executor import current_holder

    return current_holder(environment.cluster) == (None, "")


def _has_ended(environment: RunEnvironment, found: FoundRun) -> bool:
    """Whether a run has ended, perhaps with throttles left, and is not just about to be continued."""
    from kafkabal.executor import Phase

    state = found.state
    return state.is_clean or (state.phase is Phase.CLOSED and _is_lock_free(environment))
