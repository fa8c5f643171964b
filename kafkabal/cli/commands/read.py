"""``kafkabal read``: how fast a topic can be read, its files on disk again, or its records as they come."""

import io
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kafkabal.atomic_files import check_replaceable, parse_folder
from kafkabal.cli.framework.cluster_access import live_connection, saying_if_cluster_is_slow
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_options
from kafkabal.cli.framework.open_transfer_textfile import open_textfile
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.shared_options import Format, Forms, OutputOptions, TransferOutput, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import Settings, parse_topic
from kafkabal.errors import ExitCode, InterruptedRunError, PartialFailureError, UsageError, unknown_topic
from kafkabal.printable import printable
from kafkabal.units import format_duration, parse_duration, parse_positive_bytes
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kafkabal.config import ConnectionSettings
    from kafkabal.reader import Manifest, Measurement, RestoreResult, Sample
    from kafkabal.reporting.transfer_progress import TransferProgress
    from kafkabal.reporting.transfer_textfile import TransferTextfile

T = TypeVar("T")

_MEASURING = "Measuring"
_MOST_READERS = 256
"""Processes; a typing error must not start a million."""
_DEFAULT_S = 30.0
"""Long enough that opening connections and filling caches, a few seconds, changes the rate little."""


def _parse_seconds(text: str) -> float:
    seconds = parse_duration(text)
    if seconds <= 0:
        raise UsageError(f"duration must be above 0: {text!r}")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What is done with the records."""

    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="DIR",
            parser=parse_folder,
            help="Restore the files that 'produce' sent from a folder into DIR.",
        ),
    ] = None
    follow: Annotated[bool, typer.Option("--follow", help="Print new records as they arrive.")] = False
    from_start: Annotated[
        bool, typer.Option("--from-start", help="With --follow: begin with the first record of the topic.")
    ] = False
    seconds: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="TIME",
            parser=_parse_seconds,
            help="How long to measure or follow. [default: 30s to measure, no limit to follow]",
        ),
    ] = None
    rack: Annotated[
        str | None,
        typer.Option("--rack", metavar="RACK", help="Prefer in-sync replicas in this rack."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How a topic is measured."""

    readers: Annotated[
        int,
        typer.Option(
            "--readers",
            metavar="N",
            min=1,
            max=_MOST_READERS,
            help="Processes that share the topic.",
            rich_help_panel=_MEASURING,
        ),
    ] = 1
    prefetch_bytes: Annotated[
        int | None,
        typer.Option(
            "--prefetch",
            metavar="SIZE",
            parser=parse_positive_bytes,
            help="Memory of each reader for blocks. [default: 256MiB]",
            rich_help_panel=_MEASURING,
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="DIR",
            parser=parse_folder,
            help="Keep blocks in this folder.",
            rich_help_panel=_MEASURING,
        ),
    ] = None
    cache_bytes: Annotated[
        int | None,
        typer.Option(
            "--cache-bytes",
            metavar="SIZE",
            parser=parse_positive_bytes,
            help="Limit of the cache. [default: 100GB]",
            rich_help_panel=_MEASURING,
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=check_replaceable,
            help="Write rates and record size to FILE, for 'route-simulate --storage measured --training FILE'.",
            rich_help_panel=_MEASURING,
        ),
    ] = None


def read(
    context: CommandContext,
    settings: Annotated[Settings, Uses("bootstrap_servers", "command_config", "profile")],
    output: Annotated[TransferOutput, Forms("table", "json", "yaml", "csv")],
    options: ReadOptions,
    measuring: MeasureOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", parser=parse_topic, help="Existing topic.")],
) -> ExitCode:
    """Read a topic: measure the rate, restore its files, or follow it.

    Without --to or --follow it measures: readers share the topic as in training, each in a process of its own, and the
    rates of each reader and of each broker are shown. Only committed records are read, and nothing is committed.

    Examples:

      kafkabal read images --readers 4 --for 30s --out training.yaml

      kafkabal read images --to ./restored

      kafkabal read events --follow -o json | jq .value
    """
    _check(options, measuring, output, context)
    from kafkabal.clusters.kafka import KafkaCluster

    with KafkaCluster(live_connection(settings, "read")) as cluster:
        written = open_textfile(output.textfile, "read", topic, cluster, settings, context)
    with written, _reader_warnings(context):
        if options.follow:
            _follow(topic, settings, options, output, written, context)
        elif options.to is not None:
            _restore(topic, settings, options, options.to, output, written, context)
        else:
            _measure(topic, settings, options, measuring, output, written, context)
    return ExitCode.DONE


def _check(options: ReadOptions, measuring: MeasureOptions, output: OutputOptions, context: CommandContext) -> None:
    if options.follow and options.to is not None:
        raise UsageError("--follow and --to cannot be combined")
    if not options.follow:
        refuse_without("--follow", ["--from-start"], context)
    if options.to is not None and options.seconds is not None:
        raise UsageError("--for cannot be combined with --to, which ends with the topic", hint="leave out --for")
    if options.follow or options.to is not None:
        mode = "--follow" if options.follow else "--to"
        refuse_beside(mode, ("--readers", "--prefetch", "--cache", "--cache-bytes", "--out"), context)
    if measuring.cache is None:
        refuse_without("--cache", ["--cache-bytes"], context)
    if options.follow and (output.output not in (Format.TABLE, Format.JSON) or output.output_file is not None):
        raise UsageError(
            "--follow prints records to standard output, as they are or with -o json",
            hint="leave out --output-file and redirect the output: kafkabal read TOPIC --follow > FILE",
        )


def _measure(
    topic: str,
    settings: Settings,
    options: ReadOptions,
    measuring: MeasureOptions,
    output: OutputOptions,
    written: "TransferTextfile",
    context: CommandContext,
) -> None:
    connection = live_connection(settings, "read")
    with _interruptible("nothing was measured"):
        with saying_if_cluster_is_slow(settings, context):
            _topic_id(connection, topic)
        from kafkabal.reader import DEFAULT_CACHE_BYTES, DEFAULT_PREFETCH_BYTES, MeasureRequest, measure, pin
        from kafkabal.reporting.read_report import measurement_report

        def measured_once(count: bool | None) -> "tuple[Manifest, Measurement]":
            with _counting_shown(topic, context) as counting:
                manifest = pin(topic, connection, readers=measuring.readers, join=False, count=count, counting=counting)
            seconds = options.seconds or _DEFAULT_S
            context.say(f"reading topic {topic} for {format_duration(seconds)} (readers: {measuring.readers})")
            return manifest, measure(
                MeasureRequest(
                    connection=connection,
                    manifest=manifest,
                    readers=measuring.readers,
                    seconds=seconds,
                    prefetch_bytes=measuring.prefetch_bytes or DEFAULT_PREFETCH_BYTES,
                    cache=measuring.cache,
                    cache_bytes=measuring.cache_bytes or DEFAULT_CACHE_BYTES,
                    rack=options.rack,
                )
            )

        manifest, measured = _counting_if_needed(measured_once, context)
    written.update(measured.samples, measured.size_bytes)
    _warn_of_rack(options.rack, measured.racks, context)
    if measured.has_damaged_samples:
        context.warn(
            f"topic {topic} has damaged records, which were read as others are: see 'kafkabal read {topic} --to DIR'"
        )
    for fault in measured.cache_faults:
        context.warn(f"{fault}: no further blocks were cached")
    # first: a file that cannot be written must not cost the measurement
    show_report(measurement_report(topic, manifest, measured), output, context)
    if measuring.out is not None:
        _write_training_file(topic, measured, measuring.out, settings, context)


def _write_training_file(
    topic: str, measured: "Measurement", path: Path, settings: Settings, context: CommandContext
) -> None:
    import yaml

    from kafkabal.atomic_files import STDOUT, replacing, target_name
    from kafkabal.reader import training_file

    with replacing(path) as file:
        file.write(yaml.safe_dump(training_file(measured), sort_keys=False).encode())
    training = "FILE" if path == STDOUT else quote(str(path))
    given = f"--topic {quote(topic)} --storage measured --training {training}"
    use = f"kafkabal route-simulate {given} {cluster_options(settings, context)}".strip()
    context.say(f"wrote the rates to {target_name(path)}, for '{use}'")


def _restore(
    topic: str,
    settings: Settings,
    options: ReadOptions,
    folder: Path,
    output: OutputOptions,
    written: "TransferTextfile",
    context: CommandContext,
) -> None:
    connection = live_connection(settings, "read")
    with _interruptible("run the same command again to restore the missing files"):
        with saying_if_cluster_is_slow(settings, context):
            _topic_id(connection, topic)
        from kafkabal.reporting.read_report import restore_report

        restored, damaged = _counting_if_needed(
            lambda count: _restored_once(topic, connection, options, folder, written, context, count=count), context
        )
    missing = len(restored.failures) + damaged
    if damaged:  # their paths cannot be trusted either
        why = f"{counted_noun(damaged, 'record')} left out: the checksum of the batch is wrong"
        restored = replace(restored, failures=[*restored.failures, (topic, why)])
    show_report(restore_report(topic, folder, restored), output, context)
    if restored.failures or restored.refused_records:
        raise _not_all_restored(restored, missing)


def _not_all_restored(restored: "RestoreResult", missing: int) -> PartialFailureError:
    said = [f"{counted_noun(missing, 'file')} not restored"] if missing else []
    if restored.refused_records:
        said.append(f"{counted_noun(restored.refused_records, 'record')} left out: not files from a folder")
    sent_again = "what is damaged or incomplete can be sent again with 'kafkabal produce'"
    return PartialFailureError(
        f"{'; '.join(said)}; {counted_noun(restored.written + restored.already_there, 'file')} restored",
        [*restored.failures, *restored.refusals],
        hint=sent_again if missing else "--follow prints records of any kind",
    )


def _restored_once(
    topic: str,
    connection: "ConnectionSettings",
    options: ReadOptions,
    folder: Path,
    written: "TransferTextfile",
    context: CommandContext,
    *,
    count: bool | None,
) -> "tuple[RestoreResult, int]":
    """What was restored, and how many records were damaged."""
    from kafkabal.reader import FolderRestore, TopicReader, pin

    with ExitStack() as opened:
        # refuse a folder that cannot be written before the topic is read to pin it
        restore = opened.enter_context(FolderRestore(folder))
        with _counting_shown(topic, context) as counting:
            manifest = pin(topic, connection, join=False, count=count, counting=counting)
        data = TopicReader(
            topic,
            connection=connection,
            tail="keep",
            rack=options.rack,
            join=False,
            manifest=manifest,
            on_error="skip",  # other files are restored
        )
        bar = opened.enter_context(context.progress("restoring", data.manifest.size_bytes))

        def shown() -> "Iterator[Sample]":
            for sample in data:
                yield sample
                written.update(data.metrics.samples, data.metrics.size_bytes)
                bar.update(data.metrics.size_bytes, note=counted_noun(data.metrics.samples, "record"))

        restored = restore.write_all(shown())
        # the metrics count the last sample only at the end
        written.update(data.metrics.samples, data.metrics.size_bytes)
        bar.update(data.manifest.size_bytes, note=counted_noun(data.metrics.samples, "record"))
    return restored, data.metrics.corrupt


@contextmanager
def _counting_shown(topic: str, context: CommandContext) -> "Iterator[Callable[[int, int], None]]":
    """Show how far the reading of a whole topic is, if it has to be read as a whole to be pinned."""
    with ExitStack() as opened:
        bar: TransferProgress | None = None

        def show(done_bytes: int, total_bytes: int) -> None:
            nonlocal bar
            if bar is None:
                context.say(f"topic {topic}: reading all of it once to count its records")
                bar = opened.enter_context(context.progress("counting", total_bytes))
            bar.update(done_bytes)

        yield show


@contextmanager
def _reader_warnings(context: CommandContext) -> "Iterator[None]":
    """Show warnings of a reader in this process, such as of a rack or of retention, as those of the command."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: context.warn(str(message))
        yield


def _counting_if_needed(read_topic: "Callable[[bool | None], T]", context: CommandContext) -> "T":
    """Run a function with count=None; if the topic has offsets without a record after all, with count=True."""
    from kafkabal.reader import UncountedOffsetsError

    try:
        return read_topic(None)
    except UncountedOffsetsError as error:
        context.warn(f"{error.message}: starting again after counting the records")
        return read_topic(True)


def _follow(
    topic: str,
    settings: Settings,
    options: ReadOptions,
    output: OutputOptions,
    written: "TransferTextfile",
    context: CommandContext,
) -> None:
    connection = live_connection(settings, "read")
    count = size_bytes = 0
    try:
        with saying_if_cluster_is_slow(settings, context):
            topic_id = _topic_id(connection, topic)
        from kafkabal.clusters.kafka import RangeFetcher
        from kafkabal.reader import as_json, ends_after, follow

        fetcher = RangeFetcher(connection, topic, topic_id, rack=options.rack, is_pinned=False)
        try:
            if options.rack is not None:
                _warn_of_rack(options.rack, fetcher.racks(), context)
            for partition, record in follow(
                fetcher,
                from_start=options.from_start,
                is_over=ends_after(options.seconds, context.monotonic),
                sleep=partial(_pause, context),
            ):
                value = record[3] or b""
                _print(as_json(partition, record).encode() if output.output is Format.JSON else value, context)
                count += 1
                size_bytes += len(value)
                written.update(count, size_bytes)
        finally:
            fetcher.close()
    except KeyboardInterrupt as signal:
        raise _interrupted(f"{counted_noun(count, 'record')} printed", signal) from signal


def _pause(context: CommandContext, seconds: float) -> None:
    """Wait for records, unless 'head' has ended: without new ones, no write would fail and reveal that."""
    context.check_stdout()
    context.sleep(seconds)


def _print(line: bytes, context: CommandContext) -> None:
    """Write to the byte stream of stdout if it has one, since a record need not be text."""
    if context.out.animated:  # on a terminal, which a record must not control
        context.stdout.write(printable(line.decode(errors="replace")) + "\n")
        return
    raw: Any = getattr(context.stdout, "buffer", None)
    if isinstance(raw, io.BufferedIOBase):
        raw.write(line + b"\n")
        raw.flush()
    else:
        context.stdout.write(line.decode(errors="replace") + "\n")


def _warn_of_rack(rack: str | None, racks: "Mapping[int, str | None]", context: CommandContext) -> None:
    from kafkabal.reader import rack_fault

    fault = None if rack is None else rack_fault(rack, racks)
    if fault is not None:
        context.warn(fault)


def _topic_id(connection: "ConnectionSettings", topic: str) -> str:
    """Asked before the reader and numpy are imported: a mistyped topic fails at once."""
    from kafkabal.clusters.kafka import KafkaCluster

    with KafkaCluster(connection) as cluster:
        described = cluster.describe_topic(topic, connection.request_timeout_s)
        if described is None:
            raise unknown_topic(topic, cluster.topic_names())
    return described.topic_id


@contextmanager
def _interruptible(left: str) -> "Iterator[None]":
    try:
        yield
    except KeyboardInterrupt as signal:
        raise _interrupted(left, signal) from signal


def _interrupted(left: str, signal: KeyboardInterrupt) -> InterruptedRunError:
    return InterruptedRunError(f"interrupted: {left}", terminated=isinstance(signal, Terminated))
