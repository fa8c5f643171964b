"""``kafkabal rebalance repair``: restore or list leftover throttles."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.commands.rebalance.run_command_options import (
    LIVE_RUN_CLUSTER,
    JournalOption,
    RunFormat,
    RunOutput,
    WaitOption,
)
from kafkabal.cli.framework.cluster_access import expect_live_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Uses, YesOption
from kafkabal.config import Settings
from kafkabal.errors import ExitCode
from kafkabal.printable import printable
from kafkabal.wording import counted_noun, first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import LeftoverThrottle, ThrottleSearch


def repair(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*LIVE_RUN_CLUSTER)],
    output: RunOutput,
    journal: JournalOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Also delete throttles that no known run has set.")] = False,
    yes: YesOption = False,
    wait_s: WaitOption = None,
) -> ExitCode:
    """Restore throttles that earlier runs left; list those of unknown origin.

    Throttles of a known run are restored to their earlier values; reassignments in flight continue and keep theirs.
    Throttles of unknown origin may be intended: they are listed, and only deleted with --remove.

    Examples:

      kafkabal rebalance repair

      kafkabal rebalance repair --remove --yes
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import DamagedRunRecordError, find_leftover_throttles, find_run, throttles_after_end
    from kafkabal.reporting.runs.result_report import OtherThrottles

    expect_live_cluster(settings, "rebalance repair")
    with open_run_session("rebalance repair", settings, context, output, wait_s=wait_s, journal=journal) as command:
        context = command.context
        command.take_lock()
        environment = command.environment
        try:
            with command.saying_if_slow():
                found = find_run(environment, journal)
        except DamagedRunRecordError as damaged:
            # its throttles are of unknown origin then, but can be listed and removed
            context.warn(damaged.message)
            found = None
        restored = None
        cluster = command.cluster
        # a broker that hung may have executed a request of the run after its end
        if found and (found.is_open or throttles_after_end(cluster, found, only_unanswered=False)):
            from kafkabal.executor import repair_run

            restored = repair_run(environment, journal=journal, lock=command.take_lock())
            if restored.pending:
                return command.end(restored, only_restores=True, others=OtherThrottles())
        search = find_leftover_throttles(command.cluster)
        unread = [f"{resource}: {fault}" for resource, fault in sorted(search.unread.items())]
        if unread:
            context.warn(f"cannot read the throttles of {first_of(unread, separator='; ')}")
        code, left = _remove_or_list(command, search, remove=remove, yes=yes)
        others = OtherThrottles([_in_words(throttle) for throttle in left], unread)
        if restored is not None:
            command.end(restored, only_restores=True, others=others)
        else:
            command.report_nothing("no run to repair", others=others)
        return code


def _remove_or_list(
    command: "RunSession", search: "ThrottleSearch", *, remove: bool, yes: bool
) -> "tuple[ExitCode, Sequence[LeftoverThrottle]]":
    """List the throttles that no known run has set, and delete them if requested; returns those that are left."""
    from kafkabal.executor import remove_leftover_throttles

    context, leftovers = command.context, search.found
    # what is not known must not pass for repaired
    code_if_none = ExitCode.FINDINGS if search.unread else ExitCode.DONE
    _list(leftovers, command, is_all_known=not search.unread)
    if not leftovers:
        return code_if_none, ()
    if not remove:
        context.say("not set by the latest run, so kept; delete them with --remove")
        return ExitCode.FINDINGS, leftovers
    if not command.confirm(f"remove {counted_noun(len(leftovers), 'throttle')}?", yes=yes):
        return ExitCode.FAILED, leftovers
    kept = remove_leftover_throttles(command.environment, leftovers, lock=command.take_lock())
    context.say(f"removed {counted_noun(len(leftovers) - len(kept), 'throttle')}")
    if kept:
        context.say(f"kept {counted_noun(len(kept), 'throttle')}, changed meanwhile by another tool")
        return ExitCode.FINDINGS, kept
    return code_if_none, ()


def _list(leftovers: "Sequence[LeftoverThrottle]", command: "RunSession", *, is_all_known: bool) -> None:
    lines = [printable(_in_words(leftover)) for leftover in leftovers]
    if command.output.output is RunFormat.TABLE:
        # a closed pipe or a full disk must not keep the throttles on the cluster
        command.context.show_result("".join(f"{line}\n" for line in lines))
    else:
        for line in lines:
            command.context.say(line)
    if not leftovers:
        command.context.say("no leftover throttles" if is_all_known else "no leftover throttles found elsewhere")


def _in_words(throttle: "LeftoverThrottle") -> str:
    return f"{throttle.key} of {throttle.resource}: {throttle.value}"
