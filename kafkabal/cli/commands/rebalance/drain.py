"""``kafkabal rebalance --drain ID --check``: whether brokers can be drained."""

from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import Format, OutputOptions
from kafkabal.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_flags import RunOutput
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config.settings import Settings


def check_of_drain(
    context: "CommandContext", settings: "Settings", brokers: frozenset[int] | None, output: "RunOutput"
) -> ExitCode:
    """Show whether brokers can be drained; exit 4 where they cannot."""
    from kafkabal.cli.commands.rebalance.run_flags import RunFormat
    from kafkabal.clusters.protocol import ReadRequest
    from kafkabal.executor.throttle.auto_rate import FIRST_LEAST_BYTES_PER_S
    from kafkabal.planner.drain_check import check_drain
    from kafkabal.reporting.drain_report import drain_report

    if not brokers:
        raise UsageError("--check needs brokers to drain", hint="add --drain ID")
    if output.output is RunFormat.JSONL:
        raise UsageError("--check has no -o jsonl", hint="use -o json")
    with open_cluster(settings, context) as cluster:
        state = read_cluster(cluster, settings, context, ReadRequest(configs=True)).state
    given = settings.throttle if isinstance(settings.throttle, int) else None
    rate = given or FIRST_LEAST_BYTES_PER_S
    found = check_drain(state, brokers, throttle_bytes_per_s=rate, excluded=settings.exclude_brokers)
    if output.output is RunFormat.JSON or not context.quiet:
        report = drain_report(found, rate, is_assumed=given is None)
        show(report, OutputOptions(output=Format(output.output.value)), context)
    return ExitCode.DONE if found.may_go else ExitCode.UNSAFE
