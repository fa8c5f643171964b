"""``kafkabal rebalance resume``."""

from typing import Annotated

from kafkabal.cli.cluster import open_cluster
from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import Uses
from kafkabal.cli.rebalance.flags import RUN_CLUSTER, RUN_SETTINGS, JournalOption, RunFlags, RunOutput
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode


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
    from kafkabal.cli.rebalance.running import end, make_workplace, run_options, work
    from kafkabal.executor.runs import resume as go

    command = "rebalance resume"
    with open_cluster(settings, context) as cluster:
        workplace = make_workplace(cluster, settings, context, output, command)
        # whoever says how fast means it; else the run goes on as it was begun
        options = run_options(settings, flags, cluster) if settings.throttle is not None else None
        result = work(workplace, context, lambda: go(workplace, journal=journal, options=options))
        assert result is not None
        return end(result, output, context, command)
