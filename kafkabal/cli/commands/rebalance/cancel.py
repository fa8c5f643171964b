"""``kafkabal rebalance cancel``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kafkabal.cli.commands.rebalance.poll_run import (
    LONGEST_ANSWER_S,
    announcement,
    poll_run,
    refusing_before_run,
    takes_lock_of_dead,
    unanswered,
    why_lock_is_kept,
)
from kafkabal.cli.commands.rebalance.run_command_options import (
    HOW_TO_CONTINUE,
    HOW_TO_RESTORE,
    RUN_CLUSTER,
    AnswerOption,
    JournalOption,
    RunOutput,
)
from kafkabal.cli.framework.cluster_access import open_cluster_to_change
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import OverwriteOption, SaveOptions, Uses
from kafkabal.config import Settings
from kafkabal.errors import BusyError, ExitCode, KafkabalError, OperationError
from kafkabal.wording import first_of

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import FoundRun


def cancel(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER)],
    output: RunOutput,
    saving: SaveOptions,
    journal: JournalOption = None,
    yes: OverwriteOption = False,
    wait_s: AnswerOption = None,
) -> ExitCode:
    """Cancel the latest run's reassignments in flight and restore its throttles.

    Finished moves are kept. If the run is active in another process, on any host, asks that process to cancel and waits
    for it (60 s, or --wait). A partition whose original replicas are all offline cannot be cancelled and is listed.
    Acts at once, without a prompt: it is the emergency stop.

    Examples:

      kafkabal rebalance cancel

      kafkabal rebalance cancel --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session

    cluster = open_cluster_to_change(settings, saving, context, yes=yes)
    with open_run_session("rebalance cancel", settings, context, output, cluster, journal=journal) as command:
        with command.saying_if_slow():
            kept_out = why_lock_is_kept(command)
            if kept_out is not None:
                run_id = _request_cancel(command, journal, kept_out)
        if kept_out is None:
            return _cancel_here(command, journal)
        return _await_end(command, run_id, journal, LONGEST_ANSWER_S if wait_s is None else wait_s, kept_out)


def _cancel_here(command: "RunSession", journal: Path | None) -> ExitCode:
    """Cancel a run that no process works on."""
    from kafkabal.executor import Goal, RunClosedError, cancel, find_run

    with command.saying_if_slow():
        find_run(command.environment, journal)  # what cannot be read is known before the run is opened, without a word
    try:
        with command.stopping_on_signals():
            result = cancel(command.environment, journal=journal, lock=command.take_lock())
    except RunClosedError as closed:
        command.context.say(closed.message)
        command.report_nothing(closed.message, Goal.CANCEL)
        return ExitCode.DONE
    return command.end(result)


def _request_cancel(command: "RunSession", journal: Path | None, kept_out: KafkabalError) -> str:
    """Ask the process that works on the run to cancel; returns the id of the run."""
    from kafkabal.executor import request_cancel

    try:
        with refusing_before_run(kept_out):
            return request_cancel(command.environment, journal=journal)
    except OperationError as error:
        if not isinstance(kept_out, BusyError):
            raise
        # whatever the brokers can store, the process that is named can be stopped where it runs
        hint = f"{kept_out.message}: SIGTERM stops it on its host; {error.hint}"
        raise OperationError(error.message, hint=hint) from error


def _await_end(
    command: "RunSession", run_id: str, journal: Path | None, wait_s: float, kept_out: KafkabalError
) -> ExitCode:
    """Wait until the process that was asked to cancel a run has ended it; cancel it here if that process has died.

    Raises
    ------
    BusyError, UnreachableError
        If it has not by then; the request stays.
    OperationError
        If it has left something on the cluster.
    """
    from kafkabal.executor import Goal, find_run

    environment, context = command.environment, command.context
    context.say(announcement(run_id, kept_out, "cancel", wait_s))
    for state in poll_run(environment, run_id, wait_s, journal):
        if state is None:
            break
        if takes_lock_of_dead(command):
            return _cancel_here(command, journal)
    else:
        raise unanswered(f"run {run_id} has not ended yet; it cancels as soon as it reads the request", kept_out)
    found = find_run(environment, journal)
    ended = found if found is not None and found.record.run_id == run_id else None
    said, left = _end_in_words(run_id, ended), ended.state.pending if ended is not None else []
    command.show_nothing(said, Goal.CANCEL, left)
    if left:
        is_in_flight = ended is not None and ended.state.not_cancelled
        raise OperationError(said, hint=HOW_TO_CONTINUE if is_in_flight else HOW_TO_RESTORE)
    context.say(said)
    return ExitCode.DONE


def _end_in_words(run_id: str, ended: "FoundRun | None") -> str:
    """How a run ended that was asked to cancel; None if another run has replaced it since."""
    from kafkabal.executor import RunOutcome

    if ended is None:
        return f"run {run_id} has ended"
    state = ended.state
    # a request may come too late
    is_done = state.outcome in (RunOutcome.COMPLETE, RunOutcome.PARTIAL)
    left_out = f", except {first_of(state.not_cancelled)}" if state.not_cancelled else ""
    how = f"{state.outcome} before it read the request" if is_done else f"its reassignments are cancelled{left_out}"
    left = f"still set: {first_of(state.pending)}" if state.pending else "all throttles restored"
    return f"run {run_id} has ended: {how}; {left}"
