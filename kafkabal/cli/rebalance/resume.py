"""``kafkabal rebalance resume``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kafkabal.cli.cluster import open_cluster
from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import Uses
from kafkabal.cli.rebalance.flags import RUN_CLUSTER, RUN_SETTINGS, JournalOption, RunFlags, RunOutput
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from kafkabal.executor.options import RunOptions
    from kafkabal.executor.workplace import Workplace


def resume(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *RUN_SETTINGS)],
    flags: RunFlags,
    output: RunOutput,
    journal: JournalOption = None,
) -> ExitCode:
    """Go on with the latest run, after whatever stopped it.

    What has been done is not done again. A run that was being rolled back or cancelled goes on with that. With
    --throttle, the other options of speed and safety are those given here too.

    Examples:

      kafkabal rebalance resume

      kafkabal rebalance resume --throttle 100MB --max-runtime 2h

      kafkabal rebalance resume --journal run.jsonl
    """
    from kafkabal.cli.rebalance.running import end, make_workplace, work
    from kafkabal.executor.runs import resume as go

    command = "rebalance resume"
    with open_cluster(settings, context) as cluster:
        workplace = make_workplace(cluster, settings, context, output, command)
        options = _options(settings, flags, workplace, context, journal)
        result = work(workplace, context, lambda: go(workplace, journal=journal, options=options))
        assert result is not None
        return end(result, output, context, command)


def _options(
    settings: Settings, flags: RunFlags, workplace: "Workplace", context: CommandContext, journal: Path | None
) -> "RunOptions | None":
    """Whoever says here how fast means it; else the run goes on as it was begun, at the rate that it had last."""
    from kafkabal.cli.rebalance.running import measured_load, run_options
    from kafkabal.executor.carried import moves_of_run
    from kafkabal.executor.finding import find_run

    if settings.source("throttle") != "--throttle":
        return None
    if settings.throttle != "auto":
        return run_options(settings, flags, workplace.cluster)
    found = find_run(workplace, journal)
    moves = moves_of_run(found.record.partitions) if found is not None else {}
    load = measured_load(settings, workplace, context, moves)
    return run_options(settings, flags, workplace.cluster, load, moves)
