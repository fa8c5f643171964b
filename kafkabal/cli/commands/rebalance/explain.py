"""``kafkabal rebalance explain``: explain why a plan moves a partition, or does not."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.commands.rebalance.plan_command_options import PLAN_SETTINGS, PlanCommandOptions
from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_all_without, refuse_without
from kafkabal.cli.framework.selected_scores import check_are_measured, unchecked_scores
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_planning_is_slow
from kafkabal.clusters import FOR_REPORTS
from kafkabal.config import Settings
from kafkabal.errors import UsageError
from kafkabal.wording import suggestion

if TYPE_CHECKING:
    from kafkabal.model import TopicPartition


def explain(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, *PLAN_SETTINGS, "count_capacity", "predicted_throttle")],
    command_options: PlanCommandOptions,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml")],
    first: Annotated[str, typer.Argument(metavar="PLAN", help="Plan file; with --why-not a partition, such as img-3.")],
    second: Annotated[
        str, typer.Argument(metavar="TOPIC-PARTITION", help="Partition, such as img-3; with --why-not a broker id.")
    ],
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Explain why a plan does not move PARTITION to BROKER.")
    ] = False,
) -> None:
    """Explain why a plan moves a partition, or why it does not move one to a broker.

    With --why-not, reads the cluster and makes a plan with the given options, as 'rebalance plan' does.

    Examples:

      kafkabal rebalance explain plan.json img-3

      kafkabal rebalance explain --why-not img-3 4

      kafkabal rebalance explain --why-not img-3 4 --drain 2 --snapshot cluster.jsonl
    """
    if why_not:
        command_options.check(context)
        if settings.max_duration_s is None:
            refuse_without("--max-duration", ["--throttle"], context)
        _explain_why_not(first, second, settings, command_options, output, context)
    else:
        refuse_all_without("--why-not", (), context, hint="a plan file is explained without them")
        _explain(Path(first), second, output, context)


def _explain(plan_file: Path, partition: str, output: OutputOptions, context: CommandContext) -> None:
    from kafkabal.plan import read_plan
    from kafkabal.reporting.explain_report import explanation_report

    plan = read_plan(plan_file)
    name = _partition(partition, "img-3")
    change = next((c for c in plan.partitions if c.name == name), None)
    if change is None:
        topics = {c.name.topic for c in plan.partitions}
        near = None if name.topic in topics else suggestion(name.topic, topics)
        raise UsageError(
            f"{plan_file}: partition not in the plan: {partition}",
            hint=near or "a plan lists only partitions that change",
        )
    show_report(explanation_report(change), output, context)


def _explain_why_not(
    partition: str,
    broker: str,
    settings: Settings,
    command_options: PlanCommandOptions,
    output: OutputOptions,
    context: CommandContext,
) -> None:
    from kafkabal.cli.commands.rebalance.plan_command_options import plan_options
    from kafkabal.planner import why_not
    from kafkabal.reporting.explain_report import why_not_report

    name = _partition(partition, "--why-not img-3 4")
    if not broker.isdecimal():
        raise UsageError(f"invalid broker id: {broker!r}", hint="write it like --why-not img-3 4")
    check_are_measured(unchecked_scores(settings), settings, rates=False)
    options = plan_options(settings, command_options)
    with open_cluster(settings, context) as cluster:
        state = read_cluster(cluster, settings, context, FOR_REPORTS).state
    with saying_if_planning_is_slow(context.say, state):
        found = why_not(state, name, int(broker), options)
    show_report(why_not_report(found), output, context)


def _partition(text: str, example: str) -> "TopicPartition":
    from kafkabal.model import TopicPartition

    topic, dash, number = text.rpartition("-")
    if not dash or not number.isdecimal():
        raise UsageError(f"invalid partition: {text!r}", hint=f"write it like {example}")
    return TopicPartition(topic, int(number))
