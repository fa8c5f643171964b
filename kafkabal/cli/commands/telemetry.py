"""``kafkabal telemetry``: collect client metrics for latency-aware routing (KIP-714)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.atomic_files import check_replaceable, target_name
from kafkabal.cli.framework.cluster_access import saying_if_cluster_is_slow
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_label
from kafkabal.cli.framework.options_without_effect import refuse_beside
from kafkabal.cli.framework.shared_options import Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.telemetry_intake import open_http_intake, open_topic_intake
from kafkabal.config import Settings
from kafkabal.errors import (
    MissingCapabilityError,
    NotAuthorizedError,
    RefusedByClusterError,
    UsageError,
)
from kafkabal.model import CLEANUP_POLICY, MAX_MESSAGE_BYTES, RETENTION_MS, SEGMENT_MS
from kafkabal.telemetry import (
    DEFAULT_INTERVAL_S,
    DEFAULT_METRICS,
    DEFAULT_NAME,
    KEYS,
    Subscription,
    parse_matches,
    validate_subscription,
)
from kafkabal.units import parse_duration, parse_positive_duration
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from kafkabal.clusters import Cluster, ConfigResource, Fault
    from kafkabal.clusters.kafka import KafkaCluster
    from kafkabal.config import ConnectionSettings
    from kafkabal.telemetry import HttpIntake, PushReceiver, TopicIntake

_CLUSTER = ("bootstrap_servers", "command_config", "profile", "broker_timeout")
_COLLECT_S = 15.0
"""Clients push every 10 s by default, so that each is seen once."""
_BEFORE_S = 60.0
"""Clients push every 10 s by default, and a subscription may set a longer interval: some pushes of each are seen."""
_PARTITIONS = 3
"""Spreads the forwarder's load over brokers; a push is some kB, so more would be useless."""
_REPLICAS = 3
"""At most a minute of metrics may be lost; three survive a restart with a dead broker, as for other topics."""
_TOPIC_CONFIGS = {
    CLEANUP_POLICY: "delete",
    RETENTION_MS: "600000",
    SEGMENT_MS: "600000",
    MAX_MESSAGE_BYTES: "2097152",
}
_TOPIC_EXISTS = "TOPIC_ALREADY_EXISTS"

LiveSettings = Annotated[Settings, Uses(*_CLUSTER)]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Subscription name.")]
TopicName = Annotated[
    str | None,
    typer.Option(
        "--topic", metavar="TOPIC", help="Topic to which brokers forward metrics. [default: __kafkabal_telemetry]"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """Where metrics are taken from, and for how long."""

    topic: TopicName = None
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="[HOST:]PORT",
            help="Receive OTLP/HTTP posts on this address instead of reading the topic.",
        ),
    ] = None
    for_s: Annotated[
        float | None,
        typer.Option("--for", metavar="TIME", parser=parse_positive_duration, help="Time to collect. [default: 15s]"),
    ] = None
    last_s: Annotated[
        float | None,
        typer.Option(
            "--last",
            metavar="TIME",
            parser=parse_duration,
            help="Also include metrics of the preceding TIME. [default: 1m]",
        ),
    ] = None

    def check(self, context: CommandContext) -> None:
        """Check that the options can be combined.

        Raises
        ------
        UsageError
            If one of the topic is given with --listen.
        """
        if self.listen is not None:
            refuse_beside("--listen", ("--topic", "--last"), context)

    @property
    def collect_s(self) -> float:
        """How long to collect."""
        return _COLLECT_S if self.for_s is None else self.for_s

    @property
    def before_s(self) -> float:
        """How many seconds of earlier pushes count."""
        return _BEFORE_S if self.last_s is None else self.last_s


def subscribe(
    context: CommandContext,
    settings: LiveSettings,
    name: Name = DEFAULT_NAME,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="PREFIX", help="Metrics to push, by prefix. Repeatable."),
    ] = None,
    interval_s: Annotated[
        float | None,
        typer.Option(
            "--interval", metavar="TIME", parser=parse_positive_duration, help="Push interval. [default: 10s]"
        ),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match", metavar="KEY=REGEX", help="Only clients whose attribute KEY matches a pattern. Repeatable."
        ),
    ] = None,
    topic: TopicName = None,
) -> None:
    """Make clients push metrics to the brokers.

    Without --metric, subscribes to what the score 'latency' and 'telemetry errors' need. Also creates the topic to
    which brokers forward. Clients push only while a broker has a plug-in that receives metrics; see 'kafkabal telemetry
    plugin'.

    Examples:

      kafkabal telemetry subscribe -b broker1:9092 --interval 5s

      kafkabal telemetry subscribe --metric org.apache.kafka.producer. --match 'client_id=trainer-.*'
    """
    subscription = validate_subscription(
        Subscription(
            name=name,
            metrics=tuple(metric or DEFAULT_METRICS),
            interval_s=DEFAULT_INTERVAL_S if interval_s is None else interval_s,
            match=parse_matches(match or ()),
        )
    )
    if subscription.is_longer_than_brokers_allow:
        context.warn("clients push at least every 5 minutes, whatever the interval of the subscription")
    from kafkabal.clusters import ConfigChange

    with _live(settings, context) as cluster, saying_if_cluster_is_slow(settings, context):
        _make_topic(cluster, topic, context)
        resource = _resource(name)
        _expect_done(
            cluster.alter_configs(
                [ConfigChange(resource, key, value) for key, value in subscription.as_configs().items()]
            )
        )
    context.say(f"subscription {name}: {', '.join(subscription.metrics)} every {subscription.interval_s:g} s")


def list_subscriptions(
    context: CommandContext,
    settings: LiveSettings,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
) -> None:
    """List subscriptions: which clients push which metrics, and how often."""
    from kafkabal.reporting.client_telemetry_reports import subscriptions_report

    with _live(settings, context) as cluster, saying_if_cluster_is_slow(settings, context):
        resources = [_resource(name) for name in cluster.client_metrics_subscriptions()]
        found, faults = cluster.configs(resources, KEYS) if resources else ({}, {})
    _expect_done(faults, "DescribeConfigs on the cluster")
    subscriptions = [
        Subscription.from_configs(resource.name, {key: value.value or "" for key, value in found[resource].items()})
        for resource in resources
    ]
    show_report(subscriptions_report(subscriptions), output, context)


def remove(
    context: CommandContext,
    settings: LiveSettings,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Subscription names.")],
) -> None:
    """Remove subscriptions; metrics already forwarded expire by retention."""
    from kafkabal.clusters import ConfigChange

    names = list(dict.fromkeys(names))
    with _live(settings, context) as cluster, saying_if_cluster_is_slow(settings, context):
        known = cluster.client_metrics_subscriptions()
        for name in names:
            if name not in known:
                hint = f"choose from: {', '.join(known)}" if known else "the cluster has no subscriptions"
                raise UsageError(f"unknown subscription: {name!r}", hint=hint)
        _expect_done(
            cluster.alter_configs([ConfigChange(_resource(name), key, None) for name in names for key in KEYS])
        )
    context.say(f"removed: {', '.join(names)}")


def plugin(
    context: CommandContext,
    libs: Annotated[
        list[Path], typer.Option("--libs", metavar="PATH", help="Kafka's libs folder, or jars from it. Repeatable.")
    ],
    jar: Annotated[
        Path,
        typer.Option("--out", metavar="FILE.jar", parser=check_replaceable, help="Path of the jar to write."),
    ],
) -> None:
    """Build the broker plug-in that forwards client metrics to a topic.

    Put the jar into the libs folder of every broker and set metric.reporters=kafkabal.telemetry.TelemetryForwarder in
    server.properties. Requires Kafka 3.7 or later in KRaft mode. Building needs 'kafkabal[sandbox]' and no JDK.

    Examples:

      kafkabal telemetry plugin --libs /opt/kafka/libs --out kafkabal-telemetry.jar
    """
    from kafkabal.sandbox import cache_of, ensure_java_compiler, java_binary
    from kafkabal.telemetry import REPORTER_CLASS, build_plugin, kafka_jars

    class_path = kafka_jars(libs)
    compiler = ensure_java_compiler(cache_of(context.cache_dir), on_step=context.say)
    build_plugin(jar, class_path, java=java_binary(), compiler=compiler)
    context.say(
        f"wrote the jar to {target_name(jar)}: add it to the class path of every broker and set "
        f"metric.reporters={REPORTER_CLASS}"
    )


def latency(
    context: CommandContext,
    settings: LiveSettings,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "prometheus")],
    collecting: CollectOptions,
) -> None:
    """Show the produce latency of each broker, as measured by clients.

    A broker that no client wrote to has an unknown latency, not a low one.

    Examples:

      kafkabal telemetry latency -b broker1:9092

      kafkabal telemetry latency --listen 4318 --for 1m

      kafkabal telemetry latency -o prometheus --output-file /var/lib/node_exporter/produce-latency.prom
    """
    from kafkabal.reporting.client_telemetry_reports import latency_report
    from kafkabal.telemetry import LatencyTable

    collecting.check(context)
    table = LatencyTable(max_age_s=collecting.collect_s + collecting.before_s, clock=context.monotonic)
    with (
        _chosen(collecting, settings, context) as cluster,
        _intake(cluster, table, collecting, settings, context) as intake,
    ):
        # before collecting: a cluster that cannot be reached would cost all that was collected
        brokers = sorted(cluster.broker_ids())
        label = cluster_label(settings, context) or cluster.cluster_id()
        _collect(collecting, context)
    payloads = _payloads(intake, context)
    latencies_s = table.latencies_s()
    show_report(latency_report(latencies_s, brokers, payloads, label), output, context)
    _explain_missing_pushes(payloads, context)
    if not latencies_s and table.first_pushes:
        context.say(
            "hint: the first push of a librdkafka client covers connecting and does not count, so such a producer must "
            "run for two intervals: see 'kafkabal telemetry list'"
        )


def _explain_missing_pushes(payloads: int, context: CommandContext) -> None:
    """Say why there may be clients although none of them has pushed."""
    if not payloads:
        context.say(
            "hint: clients push at the interval of their subscription, and once at their end: see 'kafkabal telemetry "
            "list'"
        )


def errors(
    context: CommandContext,
    settings: LiveSettings,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "prometheus")],
    collecting: CollectOptions,
) -> None:
    """Show the records that producers could not write, by topic.

    Java clients report them. librdkafka does not, so clients based on it are not counted.

    Examples:

      kafkabal telemetry errors -b broker1:9092

      kafkabal telemetry errors --last 5m -o prometheus --output-file /var/lib/node_exporter/produce-errors.prom
    """
    from kafkabal.reporting.client_telemetry_reports import errors_report
    from kafkabal.telemetry import ProduceErrors

    collecting.check(context)
    table = ProduceErrors()
    with (
        _chosen(collecting, settings, context) as cluster,
        _intake(cluster, table, collecting, settings, context) as intake,
    ):
        label = cluster_label(settings, context) or cluster.cluster_id()
        _collect(collecting, context)
    payloads = _payloads(intake, context)
    if table.ignored:
        context.warn(f"{counted_noun(table.ignored, 'figure')} of further topics ignored")
    show_report(errors_report(table.by_topic(), payloads, label), output, context)
    _explain_missing_pushes(payloads, context)


def show_metrics(
    context: CommandContext,
    settings: LiveSettings,
    output: Annotated[OutputOptions, Forms("table", "json", "jsonl", "yaml", "csv")],
    collecting: CollectOptions,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="PREFIX", help="Only metrics whose names begin with PREFIX.")
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", min=0, help="Number of rows to show, 0 for all. [default: 50]")
    ] = None,
) -> None:
    """Show the metrics that clients push, with their latest values.

    With -o jsonl or -o csv, exports all metrics.

    Examples:

      kafkabal telemetry show --metric org.apache.kafka.producer.node

      kafkabal telemetry show --for 1m -o csv --output-file metrics.csv
    """
    from kafkabal.reporting.client_telemetry_reports import metrics_report
    from kafkabal.telemetry import ClientMetrics

    collecting.check(context)
    table = ClientMetrics()
    if collecting.listen is not None:  # posted metrics are shown as they are: no cluster is contacted
        refuse_beside("--listen", ("--bootstrap-server", "--command-config", "--profile", "--broker-timeout"), context)
        with open_http_intake(collecting.listen, table) as receiver:
            _collect(collecting, context)
        payloads = _payloads(receiver, context)
    else:
        with _live(settings, context) as cluster, _intake(cluster, table, collecting, settings, context) as intake:
            _collect(collecting, context)
        payloads = _payloads(intake, context)
    if table.ignored:
        context.warn(f"{counted_noun(table.ignored, 'value')} of further metrics ignored")
    show_report(metrics_report(table.metrics(metric or ""), payloads, shown_rows=top), output, context)
    _explain_missing_pushes(payloads, context)


def _collect(collecting: CollectOptions, context: CommandContext) -> None:
    """Let an open intake collect pushes for a while."""
    context.say(f"collecting for {collecting.collect_s:g} s")
    context.sleep(collecting.collect_s)


def _payloads(intake: "HttpIntake | TopicIntake", context: CommandContext) -> int:
    """The number of pushes that an intake has collected; warns of those that it could not decode."""
    if intake.malformed:
        context.warn(f"{counted_noun(intake.malformed, 'payload')} ignored: not OTLP metrics")
    return intake.payloads


def _chosen(collecting: CollectOptions, settings: Settings, context: CommandContext) -> "Cluster":
    """The cluster that the settings name; posts are received from the clients of any, of a snapshot too."""
    from kafkabal.cli.framework.cluster_access import expect_cluster, open_cluster

    if collecting.listen is None:
        return _live(settings, context)
    expect_cluster(settings)
    return open_cluster(settings, context)


def _intake(
    cluster: "Cluster",
    table: "PushReceiver",
    collecting: CollectOptions,
    settings: Settings,
    context: CommandContext,
) -> "AbstractContextManager[HttpIntake | TopicIntake]":
    if collecting.listen is not None:
        return open_http_intake(collecting.listen, table)
    return open_topic_intake(
        cluster, _connection(settings), collecting.topic, table, context, before_s=collecting.before_s
    )


def _default_topic() -> str:
    from kafkabal.telemetry import TELEMETRY_TOPIC

    return TELEMETRY_TOPIC


def _connection(settings: Settings) -> "ConnectionSettings":
    from kafkabal.cli.framework.cluster_access import live_connection

    return live_connection(settings, "telemetry")


def _live(settings: Settings, context: CommandContext) -> "KafkaCluster":
    from kafkabal.cli.framework.cluster_access import expect_live_cluster, open_cluster
    from kafkabal.clusters.kafka import KafkaCluster

    expect_live_cluster(settings, "telemetry")
    cluster = open_cluster(settings, context)
    if not isinstance(cluster, KafkaCluster):
        cluster.close()
        raise MissingCapabilityError(
            f"telemetry not supported: {cluster.name}", hint="give --bootstrap-server HOST:PORT"
        )
    return cluster


def _resource(name: str) -> "ConfigResource":
    from kafkabal.clusters import ConfigResource, ResourceKind

    return ConfigResource(ResourceKind.CLIENT_METRICS, name)


def _make_topic(cluster: "KafkaCluster", given: str | None, context: CommandContext) -> None:
    from kafkabal.clusters import NewTopic

    brokers = sorted(cluster.broker_ids())
    topic = given or _default_topic()
    replicas = min(_REPLICAS, len(brokers))
    assignment = tuple(
        tuple(brokers[(partition + place) % len(brokers)] for place in range(replicas))
        for partition in range(_PARTITIONS)
    )
    faults = cluster.create_topics([NewTopic(name=topic, assignment=assignment, configs=_TOPIC_CONFIGS)])
    fault = faults.get(topic)
    if fault is None:
        context.detail(f"created topic {topic}")
    elif fault.name != _TOPIC_EXISTS:
        raise _refused(f"cannot create topic {topic}", fault, f"CREATE on topic {topic}")


def _expect_done(faults: "Mapping[ConfigResource, Fault]", permission: str = "AlterConfigs on the cluster") -> None:
    for resource, fault in faults.items():
        raise _refused(f"subscription {resource.name}", fault, permission)


def _refused(what: str, fault: "Fault", permission: str) -> RefusedByClusterError:
    """The error for a fault; if a permission is missing, it names the permission."""
    if not fault.name.endswith("AUTHORIZATION_FAILED"):
        return RefusedByClusterError(f"{what}: {fault}")
    return NotAuthorizedError(
        f"{what}: {fault.name}", hint=f"grant {permission}; 'kafkabal help permissions' lists what each command needs"
    )
