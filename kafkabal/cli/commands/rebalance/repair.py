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

    from kafkabal.executor.throttle.leftover_throttles import Stray


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
    from kafkabal.cli.commands.rebalance.run_command import end, make_workplace
    from kafkabal.executor.state.find_run import find_run
    from kafkabal.executor.throttle.leftover_throttles import find_strays, remove_strays, repair_run

    command = "rebalance repair"
    with open_cluster(settings, context) as cluster:
        workplace = make_workplace(cluster, settings, context, output, command)
        found = find_run(workplace, journal)
        if found is not None and found.is_open:
            end(repair_run(workplace, journal=journal), output, context, command)
        strays = find_strays(cluster)
        _list(strays, context)
        if strays and not remove:
            context.say("they stay, since somebody may want them; delete them with --remove")
            return ExitCode.FINDINGS
        if strays:
            remove_strays(workplace, strays)
            context.say(f"removed {len(strays)} throttles")
    return ExitCode.DONE


def _list(strays: "Sequence[Stray]", context: CommandContext) -> None:
    for stray in strays:
        context.stdout.write(f"{stray.key} of {stray.resource}: {stray.value}\n")
    if not strays:
        context.say("no throttle is left over")
