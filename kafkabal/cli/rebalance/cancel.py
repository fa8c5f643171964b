"""``kafkabal rebalance cancel``."""

from typing import Annotated

from kafkabal.cli.cluster import open_cluster
from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import Uses
from kafkabal.cli.rebalance.flags import RUN_CLUSTER, JournalOption, RunOutput
from kafkabal.config.settings import Settings
from kafkabal.errors import ExitCode


def cancel(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER)],
    output: RunOutput,
    journal: JournalOption = None,
) -> ExitCode:
    """Stop what the latest run has in flight, and put its throttles back.

    What has finished stays as it is. A partition whose original replicas are offline cannot be cancelled, and is
    named.

    Examples:

      kafkabal rebalance cancel

      kafkabal rebalance cancel --journal run.jsonl
    """
    from kafkabal.cli.rebalance.running import end, make_workplace, work
    from kafkabal.executor.runs import cancel as go

    command = "rebalance cancel"
    with open_cluster(settings, context) as cluster:
        workplace = make_workplace(cluster, settings, context, output, command)
        result = work(workplace, context, lambda: go(workplace, journal=journal))
        assert result is not None
        return end(result, output, context, command)
