"""``kafkabal rebalance repair``: throttles that were left behind."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.commands.rebalance.run_flags import RUN_CLUSTER, JournalOption, RunOutput
from kafkabal.cli.framework.cluster_access import open_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Uses
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.executor.throttle.leftover_throttles import LeftoverThrottle


def repair(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER)],
    output: RunOutput,
    journal: JournalOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Delete throttles that no known run has set.")] = False,
) -> ExitCode:
    """Put back throttles that a run has left behind, and list others that nothing uses.

    Those of a known run are put back as they were found; what it has in flight goes on, and keeps its throttle.
    Throttles of unknown origin may be somebody's intention: they are listed, and only deleted with --remove.

    Examples:

      kafkabal rebalance repair

      kafkabal rebalance repair --remove
    """
    from kafkabal.cli.commands.rebalance.run_command import end, make_environment
    from kafkabal.executor.state.find_run import find_run
    from kafkabal.executor.throttle.leftover_throttles import find_leftovers, remove_leftovers, repair_run

    command = "rebalance repair"
    with open_cluster(settings, context) as cluster:
        environment = make_environment(cluster, settings, context, output, command)
        found = find_run(environment, journal)
        if found is not None and found.is_open:
            end(repair_run(environment, journal=journal), output, context, command)
        leftovers = find_leftovers(cluster)
        _list(leftovers, context)
        if leftovers and not remove:
            context.say("they stay, since somebody may want them; delete them with --remove")
            return ExitCode.FINDINGS
        if leftovers:
            remove_leftovers(environment, leftovers)
            context.say(f"removed {len(leftovers)} throttles")
    return ExitCode.DONE


def _list(leftovers: "Sequence[LeftoverThrottle]", context: CommandContext) -> None:
    for leftover in leftovers:
        context.stdout.write(f"{leftover.key} of {leftover.resource}: {leftover.value}\n")
    if not leftovers:
        context.say("no throttle is left over")
