"""``kafkabal scores``: list the scores."""

from typing import Annotated

import typer

from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import names_cluster
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings


def scores(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Scores to show, by name or package.module:object. [default: all]"),
    ] = None,
) -> None:
    """List scores: what each measures and needs.

    A score measures how loaded each broker or log dir is. The same scores drive inspect, create, produce and
    rebalance. Use your own as package.module:object, or install a package that offers it in the entry-point group
    kafkabal.scores.

    Examples:

      kafkabal scores

      kafkabal scores -b broker1:9092 -o json

      kafkabal scores mypackage.scores:GpuLocality
    """
    if not names_cluster(settings):
        from kafkabal.reporting.scores_report import scores_report

        show_report(scores_report(names or ()), output, context)
        return
    from kafkabal.clusters import FOR_REPORTS

    with open_cluster(settings, context) as cluster:
        state = read_cluster(cluster, settings, context, FOR_REPORTS).state
    from kafkabal.reporting.scores_report import scores_report  # after reading: it needs numpy

    show_report(scores_report(names or (), state), output, context)
