"""``kafkabal create``: create topics on the least loaded brokers."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.cluster_access import open_cluster_to_change, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.repeated_options import each_key_once
from kafkabal.cli.framework.selected_scores import selected_scores
from kafkabal.cli.framework.shared_options import (
    CLUSTER,
    OUTPUT_SECTION,
    Format,
    Forms,
    OutputOptions,
    OverwriteOption,
    SaveOptions,
    Uses,
)
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, InterruptedRunError, OperationError, UsageError
from kafkabal.units import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkabal.clusters import Cluster
    from kafkabal.config import TopicSpec
    from kafkabal.model import ClusterState
    from kafkabal.placement import PlacementPolicy, TopicToCreate
    from kafkabal.reporting.create_report import Creation

_TOPIC = "Topic"
_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Pauses before the plan is made again if the controller knows topics that the brokers do not list, as after an
interrupted run: brokers that had to create 10,000 partitions at once listed them a minute later (2026-11)."""
_LATER = "run the same command again later: topics that exist are compared, not changed"


def parse_config(text: str) -> tuple[str, str]:
    """Read ``key=value``.

    Raises
    ------
    UsageError
        If it is malformed.
    """
    key, given, value = text.partition("=")
    if not given or not key.strip():
        raise UsageError(f"invalid config: {text!r}", hint="write it like retention.ms=604800000")
    return key.strip(), value.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOptions:
    """The topic, or a file of topics."""

    topic: Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="Topic name.")] = None
    partitions: Annotated[
        int | None,
        typer.Option("-p", "--partitions", metavar="N", min=1, help="Number of partitions.", rich_help_panel=_TOPIC),
    ] = None
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "-r", "--replication-factor", metavar="N", min=1, help="Replication factor.", rich_help_panel=_TOPIC
        ),
    ] = None
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="PRESET",
            help="'training': 10 partitions, factor 3, lz4, 168 h, messages up to 10 MiB. Other options override it.",
            rich_help_panel=_TOPIC,
        ),
    ] = None
    config: Annotated[
        list[tuple[str, str]] | None,
        typer.Option(
            "--config",
            metavar="KEY=VALUE",
            parser=parse_config,
            help="Topic config. Repeatable.",
            rich_help_panel=_TOPIC,
        ),
    ] = None
    partition_bytes: Annotated[
        int | None,
        typer.Option(
            "--partition-bytes",
            metavar="SIZE",
            parser=parse_bytes,
            help="Expected size of a partition. [default: mean of the cluster]",
            rich_help_panel=_TOPIC,
        ),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "-f",
            "--file",
            metavar="FILE",
            help="Create the topics in a topics.yaml. Existing topics are compared, not changed.",
            rich_help_panel=_TOPIC,
        ),
    ] = None

    def specs(self) -> "tuple[TopicSpec, ...]":
        """The requested topics.

        Raises
        ------
        UsageError
            If no topic or contradictory options are given, or a topic is invalid.
        """
        from kafkabal.config import read_topics, topic_spec

        if self.file is not None:
            if any(
                (
                    self.topic,
                    self.partitions,
                    self.replication_factor,
                    self.preset,
                    self.config,
                    self.partition_bytes is not None,
                )
            ):
                raise UsageError("--file cannot be combined with TOPIC or with options that describe a topic")
            return read_topics(self.file)
        if self.topic is None:
            raise UsageError("no topic given", hint="kafkabal create TOPIC -p 12 -r 3, or -f topics.yaml")
        spec = topic_spec(
            self.topic,
            preset=self.preset,
            partitions=self.partitions,
            replication_factor=self.replication_factor,
            configs=each_key_once("--config", self.config or ()),
            partition_bytes=self.partition_bytes,
        )
        return (spec,)


def create(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, "scores", "tolerance", "exclude_brokers")],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    topics: TopicOptions,
    saving: SaveOptions,
    measurements: MeasurementOptions,
    placement: Annotated[
        str,
        typer.Option(
            "--placement",
            metavar="HOW",
            help="How leaders are spread: score, even, brokers+2[:SEED] or binomial:P[:SEED].",
        ),
    ] = "score",
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Skip topics that exist; report how they differ.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the assignment and the resulting scores; create nothing.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit 3 if a topic is missing or differs.")
    ] = False,
    all_rows: Annotated[
        bool,
        typer.Option("--all", help="List all topics and partitions, not only 20.", rich_help_panel=OUTPUT_SECTION),
    ] = False,
    yes: OverwriteOption = False,
) -> ExitCode:
    """Create topics on the least loaded brokers.

    Every replica goes where it raises the scores least, over as many racks as possible, with leaders spread; dead,
    cordoned and full brokers receive none. All topics are validated by the controller first: if it rejects one, none
    is created. --placement brokers+2 and binomial:P place unevenly on purpose, for experiments.

    Examples:

      kafkabal create images --preset training

      kafkabal create clicks -p 12 -r 3 --config retention.ms=86400000 --dry-run

      kafkabal create -f topics.yaml

      kafkabal create skewed -p 12 -r 2 --placement binomial:0.3:7
    """
    from kafkabal.clusters import ReadRequest
    from kafkabal.placement import check_specs, parse_policy

    if dry_run:
        refuse_beside("--dry-run", ["--save"], context)
    else:
        refuse_without("--dry-run", ["--exit-code"], context)
    measurements.check_scores(settings, context)
    specs, policy = topics.specs(), parse_policy(placement)
    tolerated = if_not_exists or topics.file is not None
    if not tolerated:  # of topics that exist, only what is given is compared
        check_specs(specs, policy)
    with open_cluster_to_change(settings, saving, context, dry_run=dry_run, yes=yes) as cluster:

        def plan() -> "Creation":
            state = read_cluster(cluster, settings, context, ReadRequest(configs=tolerated)).state
            state = measurements.completed(state, cluster, settings, context)
            return _place(state, specs, settings, policy, tolerated=tolerated, dry_run=dry_run)

        creation = _create(cluster, plan, context, tolerated=tolerated, dry_run=dry_run)
    has_created = not dry_run and bool(creation.placed.topics)
    with _reporting_interruption(has_created=has_created):
        _show(creation, output, context, has_created=has_created, all_rows=all_rows)
    return ExitCode.FINDINGS if exit_code and (creation.placed.topics or creation.differences) else ExitCode.DONE


def _create(
    cluster: "Cluster", plan: "Callable[[], Creation]", context: CommandContext, *, tolerated: bool, dry_run: bool
) -> "Creation":
    """Create the topics of a plan, which is made again if others have created them in the meantime.

    Parameters
    ----------
    tolerated
        Existing topics are not an error.
    """
    pauses = iter(_PAUSES_S)
    while True:
        creation = plan()
        from kafkabal.placement import TopicExistsError, create_all, validate  # after reading: it needs numpy

        topics = _topics_to_create(creation)
        try:
            if topics:
                with saying_if_slow(context.say, "still waiting for the controller to validate the topics"):
                    validate(cluster, topics)
            if topics and not dry_run:
                slow = "still creating topics: waiting for brokers to respond"
                with saying_if_slow(context.say, slow), _reporting_interruption(has_created=True):
                    refused = create_all(cluster, topics)
                creation = replace(creation, placed=creation.placed.without_log_dirs(refused))
        except TopicExistsError as error:
            if not tolerated:
                raise
            pause_s = next(pauses, None)
            if pause_s is None:
                raise OperationError(f"{error.message}, but the brokers do not list it", hint=_LATER) from error
            if pause_s == _PAUSES_S[1]:
                context.say(f"{error.message}, but the brokers do not list it yet; waiting up to 1 min")
            context.sleep(pause_s)
        else:
            return creation


@contextmanager
def _reporting_interruption(*, has_created: bool) -> "Iterator[None]":
    """Say after Ctrl-C that topics may exist: a request that was sent takes effect, whether or not anyone waits."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if not has_created:
            raise
        from kafkabal.placement import AGAIN_AFTER_DOUBT

        raise InterruptedRunError(
            "interrupted: some topics may have been created",
            terminated=isinstance(stopped, Terminated),
            hint=AGAIN_AFTER_DOUBT,
        ) from stopped


def _show(
    creation: "Creation", output: OutputOptions, context: CommandContext, *, has_created: bool, all_rows: bool
) -> None:
    from kafkabal.reporting.create_report import creation_report
    from kafkabal.reporting.plan_moves import FIRST_MOVES
    from kafkabal.reporting.report import first_lines

    shown = None if all_rows else FIRST_MOVES
    show_report(creation_report(creation, shown), output, context, has_changed=has_created)
    if output.output is not Format.TABLE or output.output_file is not None:
        # the table shows the warnings itself
        for warning in first_lines(creation.warnings(), shown):
            context.warn(warning)


def _place(
    state: "ClusterState",
    specs: "Sequence[TopicSpec]",
    settings: Settings,
    policy: "PlacementPolicy",
    *,
    tolerated: bool,
    dry_run: bool,
) -> "Creation":
    """Place the missing topics; ``tolerated``: existing ones are not an error."""
    from kafkabal.config import DEFAULT_PLAN_TOLERANCE, differences
    from kafkabal.placement import place_topics
    from kafkabal.reporting.create_report import Creation

    there = set(state.topics.name) if tolerated else set()
    existing = [spec for spec in specs if spec.name in there]
    scores = selected_scores(settings, state).scores
    tolerance = DEFAULT_PLAN_TOLERANCE if settings.tolerance is None else settings.tolerance
    placed = place_topics(
        state,
        [spec for spec in specs if spec.name not in there],
        policy,
        scores=scores,
        tolerance=tolerance,
        exclude_brokers=settings.exclude_brokers,
    )
    return Creation(
        before=state,
        placed=placed,
        existing=tuple(spec.name for spec in existing),
        differences=tuple(found for spec in existing for found in differences(spec, state)),
        scores=scores,
        tolerance=tolerance,
        dry_run=dry_run,
    )


def _topics_to_create(creation: "Creation") -> "list[TopicToCreate]":
    from kafkabal.clusters import NewTopic
    from kafkabal.placement import TopicToCreate

    return [
        TopicToCreate(NewTopic(name=topic.name, assignment=topic.assignment, configs=topic.configs), topic.log_dirs)
        for topic in creation.placed.topics
    ]
