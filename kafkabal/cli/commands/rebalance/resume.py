"""``kafkabal rebalance resume``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kafkabal.cli.commands.rebalance.run_flags import RUN_CLUSTER, RUN_SETTINGS, JournalOption, RunFlags, RunOutput
from kafkabal.cli.framework.cluster_access import open_cluster_to_change
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import OverwriteOption, SaveOptions, Uses
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from kafkabal.executor.run_environment import RunEnvironment
    from kafkabal.executor.run_options import RunOptions


def resume(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *RUN_SETTINGS)],
    flags: RunFlags,
    output: RunOutput,
    saving: SaveOptions,
    journal: JournalOption = None,
    yes: OverwriteOption = False,
) -> ExitCode:
    """Resume the latest interrupted run.

    Finished moves are not repeated. A run that was being rolled back or cancelled continues to do so. With --throttle,
    the other speed and safety options are also taken from this command instead of the original one.

    Examples:

      kafkabal rebalance resume

      kafkabal rebalance resume --throttle 100MB --max-runtime 2h

      kafkabal rebalance resume --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.run_command import end, make_environment, work
    from kafkabal.executor.run_actions import resume as go

    command = "rebalance resume"
    with open_cluster_to_change(settings, saving, context, yes=yes) as cluster:
        environment = make_environment(cluster, settings, context, output, command)
        options = _options(settings, flags, environment, context, journal)
        result = work(environment, context, lambda: go(environment, journal=journal, options=options))
        assert result is not None
        return end(result, output, context, command)


def _options(
    settings: Settings, flags: RunFlags, environment: "RunEnvironment", context: CommandContext, journal: Path | None
) -> "RunOptions | None":
    """Options given here override those of the run; without any it keeps its options and its last rate."""
    from kafkabal.cli.commands.rebalance.run_command import measured_load, run_options
    from kafkabal.executor.observe.cluster_load import moves_of_run
    from kafkabal.executor.state.find_run import find_run

    if settings.source("throttle") != "--throttle":
        return None
    if settings.throttle != "auto":
        return run_options(settings, flags, environment.cluster)
    found = find_run(environment, journal)
    moves = moves_of_run(found.record.partitions) if found is not None else {}
    load = measured_load(settings, environment, context, moves)
    return run_options(settings, flags, environment.cluster, load, moves)
