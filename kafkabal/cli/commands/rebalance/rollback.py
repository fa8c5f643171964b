"""``kafkabal rebalance rollback``."""

from typing import Annotated

from kafkabal.cli.commands.rebalance.run_flags import RUN_CLUSTER, JournalOption, RunOutput
from kafkabal.cli.framework.cluster_access import open_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Uses
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode


def rollback(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER)],
    output: RunOutput,
    journal: JournalOption = None,
) -> ExitCode:
    """Undo the latest run.

    Every partition, leader and config is brought back to what it was. What is in flight is cancelled first. Leaders
    are those of before when the command ends; the cluster may elect others later.

    Examples:

      kafkabal rebalance rollback

      kafkabal rebalance rollback --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.run_command import end, make_environment, work
    from kafkabal.executor.run_actions import roll_back as go

    command = "rebalance rollback"
    with open_cluster(settings, context) as cluster:
        environment = make_environment(cluster, settings, context, output, command)
        result = work(environment, context, lambda: go(environment, journal=journal))
        assert result is not None
        return end(result, output, context, command)
