"""``kafkabal rebalance throttle``: another rate for a run that is going on."""

from typing import Annotated

import typer

from kafkabal.cli.cluster import open_cluster
from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import CLUSTER, Uses
from kafkabal.cli.rebalance.flags import RunOutput
from kafkabal.config.settings import Settings
from kafkabal.units import format_rate, parse_rate


def throttle(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    rate: Annotated[
        int, typer.Argument(metavar="RATE", parser=parse_rate, help="Bytes a second for each broker, such as 50MB.")
    ],
) -> None:
    """Give the run that is going on another throttle, from any host.

    The run takes it within seconds, and keeps it when it is resumed. A run that is interrupted takes it when it is
    resumed. Where the cluster could not keep a record of the run, this works on the host of the run only.

    Examples:

      kafkabal rebalance throttle 50MB
    """
    from kafkabal.cli.rebalance.running import make_workplace
    from kafkabal.executor.control import request_rate

    with open_cluster(settings, context) as cluster:
        workplace = make_workplace(cluster, settings, context, RunOutput(), "rebalance throttle")
        run_id = request_rate(workplace, rate)
    context.say(f"run {run_id} goes on with {format_rate(rate)} a broker within seconds")
