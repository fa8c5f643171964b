"""``kafkabal produce``: produce records to the least loaded brokers."""

import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkabal.atomic_files import parse_path
from kafkabal.cli.commands.produce_command_options import SendingOptions, SourceOptions
from kafkabal.cli.framework.cluster_access import await_broker, expect_live_cluster, live_connection, open_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.open_transfer_textfile import open_textfile
from kafkabal.cli.framework.repeated_options import each_key_once
from kafkabal.cli.framework.selected_scores import check_scores_route, profile_watcher, unchecked_scores
from kafkabal.cli.framework.shared_options import Forms, TransferOutput, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import DEFAULT_REFRESH_S, DEFAULT_ROUTED_SCORES, Settings, parse_topic
from kafkabal.errors import ExitCode, InputFileError, InterruptedRunError, PartialFailureError, UsageError
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkabal.clusters import Cluster
    from kafkabal.clusters.kafka import KafkaCluster
    from kafkabal.config import ClientSetting
    from kafkabal.producer import ProduceOrder, ProduceResult, SendOutcome, TopicFacts
    from kafkabal.reporting.delivery_display import DeliveryDisplay
    from kafkabal.scoring import WeightedScore
    from kafkabal.sources import FileStore, RemoteFile, Source, Transform

_STDIN = "-"
_SENDS_ALL_HINT = "without a manifest, the same command sends everything again"
_ID_BITS = 64
"""Two runs of all time get the same id with a chance of one in 10^19."""


def produce(
    context: CommandContext,
    settings: Annotated[Settings, Uses("bootstrap_servers", "command_config", "profile", "routed_scores")],
    output: Annotated[TransferOutput, Forms("table", "json", "yaml", "csv")],
    source_options: SourceOptions,
    sending: SendingOptions,
    measurements: MeasurementOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", parser=parse_topic, help="Existing topic.")],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Folder, file of rows, URL of either, or - for rows on stdin.")
    ],
) -> ExitCode:
    """Produce files or rows to the least loaded brokers.

    Every file of a folder is one record, with its path, checksum and label (the first sub-folder) as headers. A
    manifest records what has been sent: the same command sends new files, continues after an interruption, and sends
    nothing twice. Scores from a profile are reloaded when its file changes. Without --telemetry, produce latencies are
    those of this producer.

    Examples:

      kafkabal produce images ./imagenet --chunk 1MB

      kafkabal produce events events.jsonl --key user --policy key-hash

      kafkabal produce images train-0000.parquet --value image.bytes --label class

      kafkabal produce images s3://bucket/imagenet --include '*.jpg' --read-ahead 64

      zcat clicks.gz | kafkabal produce clicks - --policy power-of-d:d=2
    """
    expect_live_cluster(settings, "produce")
    written = [sending.manifest, output.textfile, output.output_file, context.state_dir]
    chosen, prometheus = _source(source, source_options, written, context), measurements.query()
    is_plain = (sending, measurements, settings.scores) == (SendingOptions(), MeasurementOptions(), ())
    if not is_plain:
        _check_routing(sending, settings, measurements, context)
    with open_cluster(settings, context) as cluster:
        if is_plain:  # no check needs numpy: contact a broker before importing it
            _await_broker(cluster, topic, chosen, sending, context)
        order = _order(topic, chosen, settings, sending, context)
        if not is_plain and measurements.telemetry is None:
            _await_broker(cluster, topic, chosen, sending, context)
        return _produce(order, cluster, settings, measurements, prometheus, output, context)


def _check_routing(
    sending: SendingOptions, settings: Settings, measurements: MeasurementOptions, context: CommandContext
) -> None:
    """Refuse scores and measurements on the command line that the policy does not use."""
    from kafkabal.routing import load_policy

    policy = load_policy(sending.policy)
    check_scores_route([policy], context)
    measurements.check_scores(settings, context, policy, rates=True, latency=True)


def _await_broker(
    cluster: "Cluster", topic: str, source: "Source", sending: SendingOptions, context: CommandContext
) -> None:
    try:
        await_broker(cluster, context)
    except KeyboardInterrupt as signal:
        raise _interrupted(0, topic, signal, is_remembered=_has_manifest(source, sending)) from signal


def _produce(
    order: "ProduceOrder",
    cluster: "Cluster",
    settings: Settings,
    measurements: MeasurementOptions,
    prometheus: "Callable[[], Mapping[int, float]] | None",
    output: TransferOutput,
    context: CommandContext,
) -> ExitCode:
    from kafkabal.reporting.delivery_display import DeliveryDisplay

    with open_textfile(output.textfile, "produce", order.topic, cluster, settings, context) as written:
        with DeliveryDisplay(context, partial(context.progress, "sending"), written) as display:
            try:
                delivery = _deliver(order, cluster, settings, measurements, prometheus, display, context)
            except KeyboardInterrupt as signal:
                is_remembered = order.manifest_path is not None
                raise _interrupted(display.sent, order.topic, signal, is_remembered=is_remembered) from signal
            except InputFileError as error:
                _count_sent(error, display.sent)
                raise
        from kafkabal.reporting.produce_report import production_report

        written.update(delivery.outcome.sent, sum(delivery.outcome.bytes_by_partition.values()))
        report = production_report(delivery.outcome, delivery.view)
        show_report(report, output, context, has_changed=bool(delivery.outcome.sent))
        _expect_complete(delivery.outcome, is_remembered=order.manifest_path is not None)
    return ExitCode.DONE


def _expect_complete(outcome: "SendOutcome", *, is_remembered: bool) -> None:
    """Check that every record is in the topic, which is what exit code 0 means.

    Parameters
    ----------
    is_remembered
        Whether the same command would send only the rest.

    Raises
    ------
    PartialFailureError
        If files were left out, or changed since they were sent, or the last row is not complete.
    """
    if outcome.is_complete:
        return
    if outcome.unfinished:
        raise PartialFailureError(
            f"{outcome.unfinished}; {counted_noun(outcome.sent, 'record')} sent",
            hint="run the same command again once the row is complete" if is_remembered else _SENDS_ALL_HINT,
        )
    changed = [(name, "changed since it was sent; the topic holds the earlier version") for name in outcome.changed]
    what = []
    if outcome.failures:
        what.append(f"{counted_noun(len(outcome.failures), 'file')} not sent")
    if changed:
        what.append(f"{counted_noun(len(changed), 'file')} changed since sending")
    again = "run the same command again once they can be read, or leave them out with --exclude"
    raise PartialFailureError(
        f"{' and '.join(what)}; {counted_noun(outcome.sent, 'record')} sent",
        [*outcome.failures, *changed],
        hint="add --resend to send the changed files again" if changed else again if is_remembered else _SENDS_ALL_HINT,
    )


def _deliver(
    order: "ProduceOrder",
    cluster: "Cluster",
    settings: Settings,
    measurements: MeasurementOptions,
    prometheus: "Callable[[], Mapping[int, float]] | None",
    display: "DeliveryDisplay",
    context: CommandContext,
) -> "ProduceResult":
    from kafkabal.producer import ClusterWithDisks, produce_source

    with (
        _brokers(settings) as brokers,
        measurements.latencies(cluster, live_connection(settings, "produce"), order.refresh_s, context) as latency,
    ):
        return produce_source(
            order,
            ClusterWithDisks(cluster, settings),
            brokers,
            latency=latency,
            prometheus=prometheus,
            listener=display,
            new_scores=profile_watcher(settings, context, default=DEFAULT_ROUTED_SCORES).new_scores,
            clock=context.monotonic,
            sleep=context.sleep,
            new_id=lambda: f"{random.getrandbits(_ID_BITS):016x}",
        )


def _source(name: str, options: SourceOptions, written: "Iterable[Path | None]", context: CommandContext) -> "Source":
    from kafkabal.input_files import exists
    from kafkabal.sources import RemoteFile, RemoteFolder, is_url

    if name == _STDIN:
        return _row_source(None, options, context)
    if is_url(name):
        file = RemoteFile(name)
        return (
            _folder_source(RemoteFolder(name), name, options)
            if file.is_folder()
            else _row_source(file, options, context)
        )
    path = parse_path(name)
    if not exists(path):
        raise InputFileError(path, "no such file or folder")
    if not path.is_dir():
        return _row_source(path, options, context)
    return _folder_source(path, name, options, own_files_below(path, written))


def own_files_below(folder: Path, written: "Iterable[Path | None]") -> list[str]:
    """Patterns of what a run itself writes in the folder that it sends: it would change while it is sent."""
    from glob import escape

    root = folder.resolve()
    inside = [path.resolve() for path in written if path is not None and path.resolve().is_relative_to(root)]
    return [f"./{escape(str(path.relative_to(root)))}" for path in inside]


def _folder_source(
    store: "Path | FileStore", name: str, options: SourceOptions, own_files: "Sequence[str]" = ()
) -> "Source":
    from kafkabal.sources import FolderSource

    if options.row_format or options.value or options.label:
        raise UsageError(
            f"--format, --value and --label apply to rows only: {name} is a folder",
            hint="name a file of rows, or leave these options out: each file of a folder is a record",
        )
    return FolderSource(
        store,
        key=options.key,
        chunk_bytes=options.chunk_bytes,
        read_ahead=options.read_ahead,
        include=options.include or (),
        exclude=[*(options.exclude or ()), *own_files],
        transform=_transform(options),
    )


def _row_source(file: "Path | RemoteFile | None", options: SourceOptions, context: CommandContext) -> "Source":
    from kafkabal.sources import RowFormat, RowSource

    for option, given in (
        ("--chunk", options.chunk_bytes is not None),
        ("--read-ahead", bool(options.read_ahead)),
        ("--include", bool(options.include)),
        ("--exclude", bool(options.exclude)),
    ):
        if given:
            raise UsageError(
                f"{option} applies to folders only, not to rows", hint=f"name a folder, or leave out {option}"
            )
    known = {f.value: f for f in RowFormat}
    if options.row_format is not None and options.row_format not in known:
        raise UsageError(f"--format: unknown format: {options.row_format!r}", hint=f"choose from: {', '.join(known)}")
    stream: Any = getattr(context.stdin, "buffer", None)
    if file is None and stream is None:
        raise UsageError("standard input is closed", hint="pipe rows to it, or name a file")
    return RowSource(
        file,
        stream=stream if file is None else None,
        row_format=known[options.row_format] if options.row_format else None,
        key_field=options.key,
        value_field=options.value,
        label_field=options.label,
        transform=_transform(options),
    )


def _transform(options: SourceOptions) -> "Transform | None":
    from kafkabal.sources import load_transform

    return None if options.transform is None else load_transform(options.transform)


def _order(
    topic: str, source: "Source", settings: Settings, sending: SendingOptions, context: CommandContext
) -> "ProduceOrder":
    from kafkabal.config import librdkafka_settings
    from kafkabal.producer import ProduceOrder
    from kafkabal.routing import load_policy

    if sending.manifest is not None and sending.no_manifest:
        raise UsageError("--manifest and --no-manifest cannot be combined")
    if sending.resend and sending.no_manifest:
        raise UsageError(
            "--resend and --no-manifest cannot be combined",
            hint="without a manifest everything is sent: leave out --resend",
        )
    if sending.resend and source.is_stream:
        raise UsageError(
            "--resend needs a source that can be read twice",
            hint="to send everything, name another file with --manifest",
        )
    return ProduceOrder(
        topic=topic,
        source=source,
        policy=load_policy(sending.policy).checked(),
        client={
            **librdkafka_settings(live_connection(settings, "produce")),
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


def _has_manifest(source: "Source", sending: SendingOptions) -> bool:
    return not sending.no_manifest and (sending.manifest is not None or source.name != "standard input")


def _manifest_path(source: "Source", sending: SendingOptions, context: CommandContext) -> Any:
    if not _has_manifest(source, sending):
        return None

    def path(facts: "TopicFacts") -> Path:
        from kafkabal.producer import default_manifest_path

        return sending.manifest or default_manifest_path(facts, source, context.state_dir / "produce")

    return path


def _producer_settings(given: list[str] | None, context: CommandContext) -> "Mapping[str, ClientSetting]":
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, value in pairs:
        if not (name and equals):
            raise UsageError(
                f"--producer-config: not NAME=VALUE: {name + equals + value!r}",
                hint="write it like compression.type=lz4",
            )
    settings = each_key_once("--producer-config", ((name, value) for name, _, value in pairs))
    if settings:
        from kafkabal.producer import broken_promises, check_own_settings

        try:
            check_own_settings(settings)
        except UsageError as error:
            raise UsageError(f"--producer-config {error.message}") from error
        for broken in broken_promises(settings):
            context.warn(f"--producer-config {broken}")
    return settings


def _brokers(settings: Settings) -> "KafkaCluster":
    from kafkabal.clusters.kafka import KafkaCluster

    return KafkaCluster(live_connection(settings, "produce"))


def _scores(settings: Settings) -> "tuple[WeightedScore, ...]":
    return unchecked_scores(settings, default=DEFAULT_ROUTED_SCORES)


def _count_sent(error: InputFileError, sent: int) -> None:
    """Say what was sent before a file turned out to be bad, or changed."""
    if sent:
        error.message += f"; {counted_noun(sent, 'record')} sent before"


def _interrupted(sent: int, topic: str, signal: KeyboardInterrupt, *, is_remembered: bool) -> InterruptedRunError:
    return InterruptedRunError(
        f"interrupted: {counted_noun(sent, 'record')} sent to topic {topic}",
        terminated=isinstance(signal, Terminated),
        hint="run the same command again to continue" if is_remembered else None,
    )
