"""``kafkabal produce``: produce records to the least loaded brokers."""

import random
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkabal.cli.framework.chosen_scores import named_scores
from kafkabal.cli.framework.cluster_access import await_broker
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import settle
from kafkabal.cli.framework.latency_source import open_http_intake, open_topic_intake
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import Forms, OutputOptions, Uses
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import Settings
from kafkabal.errors import ConfigError, ExitCode, InputFileError, InterruptedRunError, PartialFailureError, UsageError
from kafkabal.files import parse_path
from kafkabal.producer import DeliveryListener, Progress
from kafkabal.units import parse_bytes, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kafkabal.clusters import Cluster, Reading, ReadRequest
    from kafkabal.clusters.kafka import KafkaCluster
    from kafkabal.config import ClientSetting, ConnectionSettings
    from kafkabal.errors import KafkabalError
    from kafkabal.producer import Delivery, Order, Outcome, TopicFacts
    from kafkabal.reporting.transfer_progress import Progress as Bar
    from kafkabal.routing import PolicyChoice
    from kafkabal.scoring import WeightedScore
    from kafkabal.sources import Source
    from kafkabal.telemetry import LatencySource

_STDIN = "-"
_SECTION = "Source"
_MEASUREMENTS = "Measurements"
_TOPIC = "topic"
_TELEMETRY_AGE_S = 60.0
_ID_BITS = 64
_LEAST_REFRESH_S = 0.1
_MOST_REFRESH_S = 86_400.0
_MOST_READERS = 256


def _parse_refresh(text: str) -> float:
    refresh_s = parse_duration(text)
    if refresh_s < _LEAST_REFRESH_S:
        raise UsageError(f"refresh interval too short: {text!r}", hint="the minimum is 100ms")
    if refresh_s > _MOST_REFRESH_S:
        raise UsageError(f"refresh interval too long: {text!r}", hint="the maximum is 1d")
    return refresh_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How records are read from the source."""

    row_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of rows: jsonl, text, csv or parquet. [default: by the file name]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="FIELD",
            help="Record key: a field of the row; for files, 'path' or 'label'.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="FIELD",
            help="Send only this field of each row. [default: the whole row]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    chunk_bytes: Annotated[
        int | None,
        typer.Option(
            "--chunk",
            metavar="SIZE",
            parser=parse_bytes,
            help="Split files into records of this size, headers and key excluded.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    read_ahead: Annotated[
        int,
        typer.Option(
            "--read-ahead",
            metavar="N",
            min=0,
            max=_MOST_READERS,
            help="Threads that read and hash files ahead of sending, for slow file systems. [default: 0, local disk]",
            rich_help_panel=_SECTION,
            show_default=False,
        ),
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingOptions:
    """How records are sent."""

    policy: Annotated[
        str,
        typer.Option("--policy", metavar="NAME[:OPTION=VALUE,...]", help="Routing policy; see 'kafkabal policies'."),
    ] = "score"
    refresh_s: Annotated[
        float | None,
        typer.Option(
            "--refresh",
            metavar="TIME",
            parser=_parse_refresh,
            help="Interval for re-reading the cluster. [default: 5s]",
        ),
    ] = None
    producer_config: Annotated[
        list[str] | None,
        typer.Option("--producer-config", metavar="NAME=VALUE", help="librdkafka producer setting. Repeatable."),
    ] = None
    any_key_order: Annotated[
        bool, typer.Option("--any-key-order", help="Allow policies that spread one key over several partitions.")
    ] = False
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="File that records what has been sent. [default: one per topic and source]",
        ),
    ] = None
    no_manifest: Annotated[
        bool, typer.Option("--no-manifest", help="Keep no manifest: a repeated run sends everything again.")
    ] = False
    resend: Annotated[bool, typer.Option("--resend", help="Send files again that changed since they were sent.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementOptions:
    """Sources of broker metrics that Kafka itself does not report."""

    telemetry: Annotated[
        str | None,
        typer.Option(
            "--telemetry",
            metavar="SOURCE",
            help="Source of produce latencies: 'topic' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver). "
            "[default: this producer's own]",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL",
            help="Prometheus server for the score 'prometheus'.",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus_query: Annotated[
        str | None,
        typer.Option(
            "--prometheus-query",
            metavar="PROMQL",
            help="PromQL query that returns one series per broker.",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus_label: Annotated[
        str,
        typer.Option(
            "--prometheus-label",
            metavar="LABEL",
            help="Label whose value ends in the broker id.",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = "broker"

    def query(self) -> "Callable[[], Mapping[int, float]] | None":
        """The Prometheus query, if one is given.

        Raises
        ------
        UsageError
            If only the URL or only the query is given.
        """
        if (self.prometheus is None) != (self.prometheus_query is None):
            raise UsageError("--prometheus and --prometheus-query must be given together")
        if self.prometheus is None or self.prometheus_query is None:
            return None
        from kafkabal.telemetry import PrometheusSource

        return PrometheusSource(self.prometheus, self.prometheus_query, self.prometheus_label)

    @contextmanager
    def latencies(
        self, cluster: "Cluster", connection: "ConnectionSettings", refresh_s: float, context: CommandContext
    ) -> "Iterator[LatencySource | None]":
        """Wait for a broker, and collect latencies as long as the block lasts; None leaves it to the producer.

        Raises
        ------
        UsageError
            If nothing forwards telemetry, or the address cannot be listened on.
        UnreachableError
            If no broker answers.
        """
        if self.telemetry is None:
            await_broker(cluster, context)
            yield None
            return
        from kafkabal.telemetry import LatencyTable

        table = LatencyTable(max_age_s=max(_TELEMETRY_AGE_S, 6 * refresh_s), clock=context.monotonic)
        if self.telemetry == _TOPIC:
            # which waits for a broker itself
            with open_topic_intake(cluster, connection, None, table, context, before_s=_TELEMETRY_AGE_S):
                yield table
        else:
            with open_http_intake(self.telemetry, table):
                await_broker(cluster, context)
                yield table


def produce(
    context: CommandContext,
    settings: Annotated[Settings, Uses("bootstrap_servers", "command_config", "profile", "scores")],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    source_options: SourceOptions,
    sending: SendingOptions,
    measurements: MeasurementOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Existing topic.")],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Folder, file of rows, or - for rows on stdin.")],
) -> ExitCode:
    """Produce files or rows to the least loaded brokers.

    Every file of a folder is one record, with its path, checksum and label (the first sub-folder) as headers. A
    manifest records what has been sent: the same command sends new files, continues after an interruption, and sends
    nothing twice. Scores from a profile are reloaded when its file changes.

    Examples:

      kafkabal produce images ./imagenet --chunk 1MB

      kafkabal produce events events.jsonl --key user --policy key-hash

      zcat clicks.gz | kafkabal produce clicks - --policy power-of-d:d=2
    """
    order = _order(topic, _source(source, source_options, context), settings, sending, context)
    with _Screen(context, settings) as screen:
        try:
            delivery = _deliver(order, settings, measurements, screen, context)
        except KeyboardInterrupt as signal:
            raise _interrupted(screen, order, signal) from signal
    from kafkabal.reporting.produce_report import production_report

    show(production_report(delivery.outcome, delivery.view), output, context)
    _expect_complete(delivery.outcome)
    return ExitCode.DONE


def _expect_complete(outcome: "Outcome") -> None:
    """See that exit code 0 may say that every record of the source is in the topic.

    Raises
    ------
    PartialFailureError
        If files were left out, or changed since they were sent.
    """
    if outcome.is_complete:
        return
    changed = [(name, "changed since it was sent; the topic holds the earlier version") for name in outcome.changed]
    what = []
    if outcome.failures:
        what.append(f"{len(outcome.failures)} files not sent")
    if changed:
        what.append(f"{len(changed)} files changed since they were sent")
    raise PartialFailureError(
        f"{' and '.join(what)}; {outcome.sent} records sent",
        [*outcome.failures, *changed],
        hint="add --resend to send the changed files again"
        if changed
        else "run the same command again to send the rest",
    )


def _deliver(
    order: "Order", settings: Settings, measurements: MeasurementOptions, screen: "_Screen", context: CommandContext
) -> "Delivery":
    from kafkabal.producer import deliver

    prometheus = measurements.query()
    with (
        _cluster(settings, context) as cluster,
        _brokers(settings) as brokers,
        measurements.latencies(cluster, _connection(settings), order.refresh_s, context) as latency,
    ):
        return deliver(
            order,
            _Completed(cluster, settings),
            brokers,
            latency=latency,
            prometheus=prometheus,
            listener=screen,
            clock=context.monotonic,
            sleep=context.sleep,
            new_id=lambda: f"{random.getrandbits(_ID_BITS):016x}",
        )


def _source(name: str, options: SourceOptions, context: CommandContext) -> "Source":
    path = parse_path(name)
    if name != _STDIN and not path.exists():
        raise InputFileError(path, "no such file or folder")
    if name != _STDIN and path.is_dir():
        from kafkabal.sources import FolderSource

        if options.row_format or options.value:
            raise UsageError(f"--format and --value apply to rows only: {name} is a folder")
        if options.chunk_bytes == 0:
            raise UsageError("--chunk must be above 0")
        return FolderSource(path, key=options.key, chunk_bytes=options.chunk_bytes, read_ahead=options.read_ahead)
    from kafkabal.sources import RowFormat, RowSource

    if options.chunk_bytes is not None:
        raise UsageError("--chunk applies to folders only, not to rows")
    if options.read_ahead:
        raise UsageError("--read-ahead applies to folders only, not to rows")
    known = {f.value: f for f in RowFormat}
    if options.row_format is not None and options.row_format not in known:
        raise UsageError(f"--format: unknown format: {options.row_format!r}", hint=f"choose from: {', '.join(known)}")
    stream: Any = getattr(context.stdin, "buffer", None)
    if name == _STDIN and stream is None:
        raise UsageError("standard input is closed", hint="feed rows to it, or name a file")
    return RowSource(
        None if name == _STDIN else path,
        stream=stream if name == _STDIN else None,
        row_format=known[options.row_format] if options.row_format else None,
        key_field=options.key,
        value_field=options.value,
    )


def _order(
    topic: str, source: "Source", settings: Settings, sending: SendingOptions, context: CommandContext
) -> "Order":
    from kafkabal.config import librdkafka_settings
    from kafkabal.producer import DEFAULT_REFRESH_S, Order

    if sending.manifest is not None and sending.no_manifest:
        raise UsageError("--manifest and --no-manifest cannot be combined")
    if sending.resend and sending.no_manifest:
        raise UsageError("--resend and --no-manifest cannot be combined")
    if sending.resend and source.is_stream:
        raise UsageError(
            "--resend needs a source that can be read twice",
            hint="to send everything, name another file with --manifest",
        )
    return Order(
        topic=topic,
        source=source,
        policy=_policy(sending.policy),
        client={
            **librdkafka_settings(_connection(settings)),
            "log_level": 2,
            **_producer_settings(sending.producer_config, context),
        },
        scores=_scores(settings),
        refresh_s=DEFAULT_REFRESH_S if sending.refresh_s is None else sending.refresh_s,
        manifest_path=_manifest_path(source, sending, context),
        may_break_key_order=sending.any_key_order,
        resend=sending.resend,
        seed=random.getrandbits(32),
    )


def _policy(text: str) -> "PolicyChoice":
    """The policy, created once to validate its options."""
    from kafkabal.routing import Context, load_policy

    choice = load_policy(text)
    choice.create(Context())
    return choice


def _manifest_path(source: "Source", sending: SendingOptions, context: CommandContext) -> Any:
    if sending.no_manifest or (sending.manifest is None and source.name == "standard input"):
        return None

    def path(facts: "TopicFacts") -> Path:
        return sending.manifest or _default_manifest(facts, source, context.state_dir / "produce")

    return path


def _default_manifest(facts: "TopicFacts", source: "Source", folder: Path) -> Path:
    """One manifest per topic, source and set of options that change the records.

    Raises
    ------
    UsageError
        If the only manifest is of an older version that does not record its options.
    """
    from kafkabal.producer import keeps_options_quiet

    options = [f"{name} {value}" for name, value in source.options.items()]
    own = folder / _manifest_name(facts, source.name, *options)
    older = folder / _manifest_name(facts, source.name)
    if options and not own.exists() and keeps_options_quiet(older):
        raise UsageError(
            f"{older}: manifest of an older version does not record its options (given {' '.join(options)})",
            hint="to continue it, name it with --manifest; to send everything, name a new file",
        )
    return own


def _manifest_name(facts: "TopicFacts", *made_of: str) -> str:
    from hashlib import sha256

    digest = sha256("\0".join(made_of).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{facts.topic}-{facts.topic_id}-{digest}.jsonl"


def _producer_settings(given: list[str] | None, context: CommandContext) -> "Mapping[str, ClientSetting]":
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise UsageError(f"--producer-config: not NAME=VALUE: {name!r}", hint="write it like compression.type=lz4")
    settings = {name: value for name, _, value in pairs}
    if settings:
        from kafkabal.producer import broken_promises, check_own_settings

        try:
            check_own_settings(settings)
        except UsageError as error:
            raise UsageError(f"--producer-config {error.message}") from error
        for broken in broken_promises(settings):
            context.warn(f"--producer-config {broken}")
    return settings


def _connection(settings: Settings) -> "ConnectionSettings":
    from kafkabal.config import ConnectionSettings, cluster_address

    address = cluster_address(settings)
    if not isinstance(address, ConnectionSettings):
        raise ConfigError("produce requires a live cluster", hint="give --bootstrap-server HOST:PORT")
    return address


def _cluster(settings: Settings, context: CommandContext) -> "Cluster":
    from kafkabal.cli.framework.cluster_access import open_cluster

    return open_cluster(settings, context)


def _brokers(settings: Settings) -> "KafkaCluster":
    from kafkabal.clusters.kafka import KafkaCluster

    return KafkaCluster(_connection(settings))


def _scores(settings: Settings) -> "tuple[WeightedScore, ...]":
    return named_scores(settings, default=("disk",))


def _interrupted(screen: "_Screen", order: "Order", signal: KeyboardInterrupt) -> InterruptedRunError:
    forgotten = order.manifest_path is None
    return InterruptedRunError(
        f"interrupted: {screen.sent} records sent to topic {order.topic}",
        terminated=isinstance(signal, Terminated),
        hint=None if forgotten else "run the same command again to continue",
    )


@dataclass(frozen=True, slots=True)
class _Completed:
    """The cluster, with volumes and capacities from the profile."""

    cluster: "Cluster"
    settings: Settings

    def read(self, request: "ReadRequest") -> "Reading":
        """The whole state."""
        from dataclasses import replace

        reading = self.cluster.read(request)
        from kafkabal.config import with_stated_disks

        return replace(reading, state=with_stated_disks(reading.state, self.settings))


class _Screen(DeliveryListener):
    """Shows progress and watches the profile."""

    def __init__(self, context: CommandContext, settings: Settings) -> None:
        self.sent = 0
        """Records sent by this run."""
        self._context = context
        self._settings = settings
        self._bar: Bar | None = None
        self._total_bytes = 0
        self._profile_time_ns = self._profile_time()
        self._warned: set[str] = set()

    def __enter__(self) -> "_Screen":
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)

    def starts(self, *, total_bytes: int, total_records: int | None) -> None:
        """All checks have passed."""
        if total_records is not None:
            self._context.detail(f"{total_records} records")
        self._total_bytes = total_bytes

    def measures(self) -> None:
        """Explain the delay before the first record."""
        self._context.say("validating all rows before sending")

    def reads_back(self) -> None:
        """Explain the delay before the first record."""
        self._context.say("the previous run crashed; looking for its records in the topic")

    def progressed(self, progress: Progress) -> None:
        """Show progress once there is something to send; records of earlier runs do not count for the rate."""
        self.sent = progress.sent
        if not progress.handed_over:
            return
        bar = self._bar or self._context.progress("sending", self._total_bytes or None)
        bar.update(progress.bytes, skipped_bytes=progress.skipped_bytes, note=f"{progress.records} records")
        if self._bar is None:
            self._bar = bar.__enter__()  # only now: a continued run does not start at 0

    def refresh_failed(self, error: Exception) -> None:
        """Warn, but not about the same error every few seconds."""
        text = f"cannot refresh cluster metadata, routing by the last known state: {error}"
        self._warn_once(text, text)

    def topic_unseen(self, error: "KafkabalError") -> None:
        """Warn once: sending continues, and fails if the brokers refuse the records."""
        doubt = "cannot verify the topic id, continuing"
        self._warn_once(doubt, f"{doubt}: {error.message}")

    def new_scores(self) -> "tuple[WeightedScore, ...] | None":
        """The scores of the profile, if its file changed and is still valid."""
        time_ns = self._profile_time()
        if time_ns == self._profile_time_ns:
            return None
        self._profile_time_ns = time_ns
        try:
            scores = _scores(self._settings_now())
        except UsageError as error:
            self._context.warn(f"changed profile ignored: {error.message}")
            return None
        self._context.say(f"profile changed; scores: {', '.join(s.score.name for s in scores)}")
        return scores

    def _warn_once(self, what: str, text: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self._context.warn(text)

    def _settings_now(self) -> Settings:
        profile = self._settings.profile
        assert profile is not None
        flags: dict[str, Any] = {"profile": f"{profile.path}#{profile.name}"}
        if self._settings.source("scores") == "--score":
            flags["scores"] = list(self._settings.scores)
        return settle(flags, self._context)

    def _profile_time(self) -> int:
        profile = self._settings.profile
        try:
            return profile.path.stat().st_mtime_ns if profile else 0
        except OSError:
            return 0  # the file is being replaced at this moment
