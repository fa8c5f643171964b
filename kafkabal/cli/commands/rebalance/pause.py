"""``kafkabal rebalance pause``: pause the active run."""

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
from kafkabal.cli.commands.rebalance.run_command_options import AnswerOption
from kafkabal.cli.framework.cluster_access import expect_live_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import LIVE_CLUSTER, Uses
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, KafkabalError, UsageError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession


def pause(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*LIVE_CLUSTER)],
    wait_s: AnswerOption = None,
) -> ExitCode:
    """Pause the active run, from any host.

    Moves in flight are cancelled or finish, as the run's --on-interrupt says; its throttles are restored, and nothing
    more is moved until 'kafkabal rebalance resume', on any host. The run keeps the lock of the cluster meanwhile.
    Waits until it is paused (60 s, or --wait).

    Examples:

      kafkabal rebalance pause

      kafkabal rebalance pause --wait 10m
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import request_pause

    expect_live_cluster(settings, "rebalance pause")
    with open_run_session("rebalance pause", settings, context) as command:
        with command.saying_if_slow():
            kept_out = why_lock_is_kept(command)
            if kept_out is None:
                raise _no_run_to_pause()
            with refusing_before_run(kept_out):
                run_id = request_pause(command.environment, is_paused=True)
        return _await_pause(command, run_id, LONGEST_ANSWER_S if wait_s is None else wait_s, kept_out)


def _no_run_to_pause() -> UsageError:
    return UsageError("no active run to pause", hint="an interrupted run moves nothing more until it is resumed")


def _await_pause(command: "RunSession", run_id: str, wait_s: float, kept_out: KafkabalError) -> ExitCode:
    from kafkabal.executor import Phase

    environment, context = command.environment, command.context
    context.say(announcement(run_id, kept_out, "pause", wait_s))
    for found in poll_run(environment, run_id, wait_s):
        if found is None:
            context.say(f"run {run_id} ended before it paused")
            return ExitCode.DONE
        if found.state.phase is Phase.PAUSED:
            context.say(f"run {run_id} is paused; continue with 'kafkabal rebalance resume'")
            return ExitCode.DONE
        if takes_lock_of_dead(command):
            raise _no_run_to_pause()
    raise unanswered(
        f"run {run_id} is not paused yet: it lets copies in flight finish, or pauses as soon as it reads the request",
        kept_out,
    )
