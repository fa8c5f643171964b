"""``kafkabal rebalance simulate``: simulate a watch over months before trusting it."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.atomic_files import parse_path
from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.clusters import FOR_REPORTS
from kafkabal.config import Settings
from kafkabal.errors import ExitCode
from kafkabal.input_files import naming_file
from kafkabal.wording import counted_noun

_MOST_DAYS = 3650
"""Ten years: assumptions about growth mean nothing by then."""


def simulate(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "jsonl", "yaml", "csv", "markdown")],
    case: Annotated[
        Path,
        typer.Option(
            "--case", metavar="FILE", parser=parse_path, help="YAML file with growth, failures and new brokers."
        ),
    ],
    days: Annotated[int, typer.Option("--days", metavar="N", min=1, max=_MOST_DAYS, help="Simulated days.")] = 90,
    check: Annotated[bool, typer.Option("--check", help="Exit 3 if a promise is broken.")] = False,
) -> ExitCode:
    """Simulate 'kafkabal watch' on this cluster for months: growth, noise, failures and new brokers.

    Reads the cluster once and does not change it. Then the code of 'kafkabal watch' runs on a simulated copy, whose
    clock jumps from change to change. Shows the events, what was healed, and whether the watch kept its promises: it
    moves nothing twice within a day, does nothing at steady state, keeps every score inside its band, and copies hardly
    more bytes than plans made in hindsight.

    Examples:

      kafkabal rebalance simulate --days 90 --case case.yaml --snapshot cluster.jsonl

      kafkabal rebalance simulate --case case.yaml --check -o json
    """
    import tempfile

    from kafkabal.watch import read_case

    found = read_case(case)
    with naming_file(case):
        found.check_random_faults(days)
    late = found.events_after(days)
    if late:
        context.warn(f"{case}: not simulated, after {counted_noun(days, 'day')}: {counted_noun(late, 'event')}")
    with open_cluster(settings, context) as cluster:
        state = read_cluster(cluster, settings, context, FOR_REPORTS).state
    with naming_file(case):
        found.check_brokers(state.brokers.id.tolist())
    from kafkabal.reporting.simulated_healings_report import watch_simulation_report
    from kafkabal.watch import simulate as play

    with tempfile.TemporaryDirectory(prefix="kafkabal-simulate-") as folder:
        result = play(state, found, days, Path(folder))
    show_report(watch_simulation_report(result), output, context)
    is_broken = any(not promise.is_kept for promise in result.promises)
    return ExitCode.FINDINGS if check and is_broken else ExitCode.DONE
