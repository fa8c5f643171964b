"""``kafkabal route``: show and publish the weights that Java producers route by."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.cluster_access import live_connection, open_cluster, saying_if_cluster_is_slow
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.nonblocking_lines import no_longer_written
from kafkabal.cli.framework.nonblocking_output import nonblocking_streams
from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.cli.framework.selected_scores import profile_watcher, unchecked_scores
from kafkabal.cli.framework.shared_options import Format, Forms, OutputOptions, Uses, parse_interval
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.systemd_notify import notify_ready
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import DEFAULT_POLICY, DEFAULT_REFRESH_S, DEFAULT_ROUTED_SCORES, Settings, parse_topic
from kafkabal.errors import BusyError, ExitCode, InterruptedRunError, KafkabalError, UsageError
from kafkabal.units import format_duration, parse_positive_duration

if TYPE_CHECKING:
    from kafkabal.clusters import Cluster
    from kafkabal.producer import ProfileWatcher, TopicWeights, WeighedTopic, WeightPublisher
    from kafkabal.reporting.report import Report

_VALID_S = 60.0
"""After a minute without a reading the cluster may have changed: clients then go back to their own routing."""
# one failed reading and a late one must not cost clients their weights
_REFRESHES_VALID = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """Whether, how often and for how long weights are published."""

    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the weights, for producers with kafkabal-routing.jar.")
    ] = False
    once: Annotated[bool, typer.Option("--once", help="Publish once and exit, for cron.")] = False
    refresh_s: Annotated[
        float | None,
        typer.Option(
            "--refresh",
            metavar="TIME",
            parser=parse_interval,
            help="Interval for re-reading the cluster and publishing again. [default: 5s]",
        ),
    ] = None
    valid_s: Annotated[
        float | None,
        typer.Option(
            "--valid-for",
            metavar="TIME",
            parser=parse_positive_duration,
            help="How long producers follow weights that are not renewed. [default: 1m, or three times --refresh]",
        ),
    ] = None

    @property
    def is_kept(self) -> bool:
        """Whether weights are published until the command is stopped."""
        return self.publish and not self.once

    @property
    def interval_s(self) -> float:
        """Seconds between two readings."""
        return DEFAULT_REFRESH_S if self.refresh_s is None else self.refresh_s

    @property
    def validity_s(self) -> float:
        """Seconds."""
        return max(_VALID_S, _REFRESHES_VALID * self.interval_s) if self.valid_s is None else self.valid_s


def route(
    context: CommandContext,
    settings: Annotated[
        Settings, Uses("bootstrap_servers", "command_config", "profile", "snapshot", "broker_timeout", "routed_scores")
    ],
    output: Annotated[OutputOptions, Forms("table", "json", "jsonl", "yaml", "csv")],
    publishing: PublishOptions,
    measurements: MeasurementOptions,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", parser=parse_topic, help="Existing topics.")],
    policy: Annotated[
        str, typer.Option("--policy", metavar="score[:OPTION=VALUE,...]", help="Options of the policy 'score'.")
    ] = DEFAULT_POLICY,
) -> ExitCode:
    """Show routing weights, and publish them for Java producers.

    Weights are the fractions of a topic's records that each broker and partition should get, so that brokers become and
    stay balanced. With --publish they are published in the topic __kafkabal_weights until the command is stopped, and
    producers with the partitioner of 'kafkabal routing plugin' follow them. Producers whose weights are too old spread
    records evenly, as Kafka does. One publisher works on a topic at a time; others stand by. Scores from a profile are
    reloaded when its file changes.

    Examples:

      kafkabal route images

      kafkabal route images events --publish --refresh 5s

      kafkabal route images --publish --once --valid-for 3m
    """
    _check(publishing, output, context)
    measurements.check_scores(settings, context, rates=True)
    if publishing.publish:
        _check_live(settings)
    names = list(dict.fromkeys(topics))
    with ExitStack() as at_end:
        if publishing.is_kept:
            # producers depend on the weights: a slow reader of this output must not delay them
            context = at_end.enter_context(nonblocking_streams(context))
        cluster = at_end.enter_context(open_cluster(settings, context))
        if policy == DEFAULT_POLICY and measurements == MeasurementOptions():
            # no check needs numpy: contact a broker before importing it
            with saying_if_cluster_is_slow(settings, context):
                cluster.cluster_id()
        weights = _weights(cluster, names, policy, settings, publishing, measurements, context, at_end)
        if not publishing.publish:
            show_report(_report(_weigh_all(weights), published=False), output, context)
            return ExitCode.DONE
        publisher = _publisher(settings, context, at_end)
        if publishing.once:
            weighed = _weigh_all(weights)
            for fault in publisher.publish(weighed).values():
                raise fault
            show_report(_report(weighed, published=True), output, context, has_changed=True)
            return ExitCode.DONE
        watcher = profile_watcher(settings, context, default=DEFAULT_ROUTED_SCORES)
        service = _Publishing(weights, publisher, watcher, context, output)
        try:
            service.keep(publishing.interval_s)
        except KeyboardInterrupt as signal:
            validity = format_duration(publishing.validity_s)
            raise InterruptedRunError(
                f"stopped: producers follow the last weights for {validity}" if service.published else "stopped",
                terminated=isinstance(signal, Terminated),
            ) from signal
    return ExitCode.DONE


def _check_live(settings: Settings) -> None:
    if settings.snapshot is not None:
        raise UsageError("--publish requires a live cluster", hint="give --bootstrap-server HOST:PORT")


def _check(publishing: PublishOptions, output: OutputOptions, context: CommandContext) -> None:
    if not publishing.publish:
        refuse_without("--publish", ["--once", "--refresh", "--valid-for"], context)
    is_kept = publishing.is_kept
    if is_kept and output.output not in (Format.TABLE, Format.JSONL):
        raise UsageError(
            f"-o {output.output} requires --once", hint="for a line each time weights are published: -o jsonl"
        )
    if is_kept and output.output_file is not None:
        raise UsageError("--output-file requires --once", hint="to keep every line: -o jsonl > FILE")
    if not is_kept and output.output is Format.JSONL:
        raise UsageError("-o jsonl requires --publish without --once", hint="for one document: -o json")
    if is_kept and publishing.validity_s < 2 * publishing.interval_s:
        raise UsageError(
            f"--valid-for {format_duration(publishing.validity_s)} must be at least twice --refresh "
            f"{format_duration(publishing.interval_s)}",
            hint="raise --valid-for: otherwise one late reading leaves producers without weights",
        )


def _weights(
    cluster: "Cluster",
    topics: Sequence[str],
    policy: str,
    settings: Settings,
    publishing: PublishOptions,
    measurements: MeasurementOptions,
    context: CommandContext,
    at_end: ExitStack,
) -> "TopicWeights":
    from kafkabal.producer import ClusterWithDisks, TopicWeights, ViewReader
    from kafkabal.routing import load_policy
    from kafkabal.telemetry import LatencyTable

    scores = unchecked_scores(settings, default=DEFAULT_ROUTED_SCORES)
    latency = None
    if measurements.telemetry is not None:
        source = measurements.latencies(cluster, live_connection(settings, "route"), publishing.interval_s, context)
        latency = at_end.enter_context(source)
    views = ViewReader(
        ClusterWithDisks(cluster, settings),
        latency=latency or LatencyTable(max_age_s=publishing.interval_s, clock=context.monotonic),
        prometheus=measurements.query(),
        clock=context.monotonic,
        sleep=context.sleep,
    )
    return TopicWeights(
        views,
        topics,
        load_policy(policy),
        scores,
        valid_s=publishing.validity_s,
        clock=context.monotonic,
        now=lambda: datetime.fromtimestamp(context.wall_clock(), UTC),
        publisher=f"kafkabal on {socket.gethostname()} (process {os.getpid()})",
    )


def _weigh_all(weights: "TopicWeights") -> "list[WeighedTopic]":
    weighed, faults = weights.compute()
    for fault in faults.values():
        raise fault
    return weighed


def _report(weighed: "Sequence[WeighedTopic]", *, published: bool) -> "Report":
    from kafkabal.reporting.route_report import route_report

    return route_report(weighed, published=published)


def _publisher(settings: Settings, context: CommandContext, at_end: ExitStack) -> "WeightPublisher":
    """Publish over separate connections, so that no reading of the cluster delays it."""
    from kafkabal.clusters.kafka import KafkaCluster
    from kafkabal.producer import WEIGHTS_CONFIGS, WeightPublisher
    from kafkabal.routing import WEIGHTS_TOPIC

    cluster = at_end.enter_context(KafkaCluster(live_connection(settings, "route")))
    publisher = WeightPublisher(cluster, cluster.records_in(WEIGHTS_TOPIC, WEIGHTS_CONFIGS), context.alert)
    at_end.callback(publisher.release)
    publisher.check_topic()
    return publisher


class _Publishing:
    """Publishes until it is stopped; a problem is reported once, and again when it changes."""

    def __init__(
        self,
        weights: "TopicWeights",
        publisher: "WeightPublisher",
        profile: "ProfileWatcher",
        context: CommandContext,
        output: OutputOptions,
    ) -> None:
        self._weights, self._publisher, self._profile, self._context = weights, publisher, profile, context
        self._has_lines = output.output is Format.JSONL
        self._said: dict[str, str] = {}
        self.published: set[str] = set()
        """Topics whose weights are published from here; others are published elsewhere."""

    def keep(self, interval_s: float) -> None:
        """Publish now, and then at each interval.

        Raises
        ------
        KafkabalError
            If the first reading fails, no topic can be routed, or one is unknown: later on all that may happen.
        """
        self._publish(*self._first())
        notify_ready(self._context.environ)
        while True:
            self._context.sleep(interval_s)
            scores = self._profile.new_scores()
            if scores is not None:
                self._weights.use_scores(scores)
            try:
                self._publish(*self._weights.compute())
            except KafkabalError as error:
                self._say("", f"cannot publish, trying again: {error.in_one_line}")
            else:
                self._recovered("", "publishing again")

    def _first(self) -> "tuple[list[WeighedTopic], Mapping[str, KafkabalError]]":
        weighed, faults = self._weights.compute()
        for fault in faults.values():
            if not weighed or isinstance(fault, UsageError):
                raise fault
        return weighed, faults

    def _publish(self, weighed: "list[WeighedTopic]", faults: "Mapping[str, KafkabalError]") -> None:
        unpublished = self._publisher.publish(weighed)
        for topic, error in {**faults, **unpublished}.items():
            self._say(topic, f"{error.message}; standing by" if isinstance(error, BusyError) else error.in_one_line)
            self.published.discard(topic)
        for each in weighed:
            topic = each.record.topic
            if topic in unpublished:
                continue
            self._said.pop(topic, None)
            if topic not in self.published:
                self.published.add(topic)
                self._context.say(f"publishing weights of topic {topic}")
            if self._has_lines:
                self._show(each.record.to_json().decode() + "\n")

    def _show(self, line: str) -> None:
        try:
            self._context.stdout.write(line)
        except (OSError, ValueError) as error:  # of the line before; further ones are dropped
            self._context.alert(no_longer_written("weights", "publishing", error))

    def _say(self, about: str, text: str) -> None:
        if self._said.get(about) != text:
            self._said[about] = text
            self._context.alert(text)

    def _recovered(self, about: str, text: str) -> None:
        if self._said.pop(about, None) is not None:
            self._context.say(text)
