"""``kafkabal scores``: what evenness can be judged by."""

from typing import Annotated

import typer

from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import names_cluster
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.config.settings import Settings


def scores(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these; package.module:object works too.")
    ] = None,
) -> None:
    """List the scores: what each measures and needs, and whether this cluster supplies it.

    A score says how loaded each broker or log dir is. The same scores are shown by inspect, placed by in create,
    routed by in produce, and evened by rebalance. Your own is used as package.module:object, or offered by an
    installed package through the entry-point group kafkabal.scores.

    Examples:

      kafkabal scores

      kafkabal scores -b broker1:9092 -o json

      kafkabal scores mypackage.scores:GpuLocality
    """
    from kafkabal.reporting.scores_report import scores_report

    if not names_cluster(settings):
        show(scores_report(names or ()), output, context)
        return
    with open_cluster(settings, context) as cluster:
        state = read_cluster(cluster, settings, context).state
    show(scores_report(names or (), state), output, context)
