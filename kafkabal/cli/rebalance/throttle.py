"""``kafkabal rebalance throttle``: another rate for a run that is going on."""

from typing import Annotated

import typer

from kafkabal.cli.cluster import open_cluster
from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import CLUSTER, Uses
from kafkabal.cli.rebalance.flags import RunOutput
from kafkabal.config.settings import Settings
from kafkabal.errors import UsageError
from kafkabal.units import format_rate, parse_rate


def throttle(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    rate: Annotated[
        int, typer.Argument(metavar="RATE", parser=parse_rate, help="Bytes a second for each broker, such as 50MB.")
    ],
) -> None:
    """Give the run that is going on from this host another throttle.

    Examples:

      kafkabal rebalance throttle 50MB
    """
    from kafkabal.cli.rebalance.running import make_workplace
    from kafkabal.executor.control import request_rate
    from kafkabal.executor.finding import find_run

    with open_cluster(settings, context) as cluster:
        found = find_run(make_workplace(cluster, settings, context, RunOutput(), "rebalance throttle"))
    if found is None or found.journal is None or found.state.is_clean:
        raise UsageError(
            "no run of this host is going on",
            hint="use this on the host of the run, or set --throttle when you resume it",
        )
    request_rate(found.journal.path, rate)
    context.say(f"run {found.record.run_id} goes on with {format_rate(rate)} a broker")
