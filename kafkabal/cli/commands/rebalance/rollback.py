"""``kafkabal rebalance rollback``."""

from typing import Annotated

from kafkabal.cli.commands.rebalance.run_flags import RUN_CLUSTER, JournalOption, RunOutput
from kafkabal.cli.framework.cluster_access import open_cluster_to_change
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import OverwriteOption, SaveOptions, Uses
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode


def rollback(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER)],
    output: RunOutput,
    saving: SaveOptions,
    journal: JournalOption = None,
    yes: OverwriteOption = False,
) -> ExitCode:
    """Roll back the latest run.

    Cancels what is in flight, then returns every partition, leader and config to its state before the run. The cluster
    may elect other leaders later.

    Examples:

      kafkabal rebalance rollback

      kafkabal rebalance rollback --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.run_command import open_run_command
    from kafkabal.executor.run_actions import roll_back as go

    cluster = open_cluster_to_change(settings, saving, context, yes=yes)
    with open_run_command("rebalance rollback", settings, context, output, cluster) as command:
        result = command.execute(lambda: go(command.environment, journal=journal))
        assert result is not None
        return command.end(result)
