"""``kafkabal read``: how fast a topic can be read, its files on disk again, or its records as they come."""

import io
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import Format, Forms, OutputOptions, Uses
from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.config import Settings
from kafkabal.errors import ConfigError, ExitCode, InterruptedRunError, PartialFailureError, UsageError
from kafkabal.files import check_replaceable
from kafkabal.printable import printable
from kafkabal.units import parse_bytes, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkabal.config import ConnectionSettings
    from kafkabal.reader import Sample

_MEASURING = "Measuring"
_MOST_READERS = 256
_DEFAULT_S = 30.0
_DEFAULT_PREFETCH_BYTES = 256 * 2**20
_DEFAULT_CACHE_BYTES = 100 * 10**9


def _parse_seconds(text: str) -> float:
    seconds = parse_duration(text)
    if seconds <= 0:
        raise UsageError(f"duration must be above 0: {text!r}")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What is done with the records."""

    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Write the files that were sent from a folder there.")
    ] = None
    follow: Annotated[bool, typer.Option("--follow", help="Print records as they come, from now on.")] = False
    from_start: Annotated[
        bool, typer.Option("--from-start", help="With --follow: begin with the first record of the topic.")
    ] = False
    seconds: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="TIME",
            parser=_parse_seconds,
            help="Longest time to measure or follow. [default: 30s to measure, without end to follow]",
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
            parser=parse_bytes,
            help="Memory of each reader for blocks. [default: 256MiB]",
            rich_help_panel=_MEASURING,
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep blocks in this folder.", rich_help_panel=_MEASURING),
    ] = None
    cache_bytes: Annotated[
        int | None,
        typer.Option(
            "--cache-bytes",
            metavar="SIZE",
            parser=parse_bytes,
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
            help="Write rates and record size there, for 'route-simulate --training'.",
            rich_help_panel=_MEASURING,
        ),
    ] = None


def read(
    context: CommandContext,
    settings: Annotated[Settings, Uses("bootstrap_servers", "command_config", "profile")],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    options: ReadOptions,
    measuring: MeasureOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="An existing topic.")],
) -> ExitCode:
    """Measure how fast a topic can be read, restore its files, or print its records.

    Without --to or --follow, readers share the topic as in training, each in a process of its own, and what each of
    them and each broker reached is shown. Only committed records are read, and nothing is committed.

    Examples:

      kafkabal read images --readers 4 --for 30s --out training.yaml

      kafkabal read images --to ./restored

      kafkabal read events --follow -o json | jq .value
    """
    _check(options, measuring, output)
    if options.follow:
        _follow(topic, settings, options, output, context)
    elif options.to is not None:
        _restore(topic, settings, options, options.to, output, context)
    else:
        _measure(topic, settings, options, measuring, output, context)
    return ExitCode.DONE


def _check(options: ReadOptions, measuring: MeasureOptions, output: OutputOptions) -> None:
    if options.follow and options.to is not None:
        raise UsageError("--follow and --to cannot be combined")
    if options.from_start and not options.follow:
        raise UsageError("--from-start needs --follow")
    if options.to is not None and options.seconds is not None:
        raise UsageError("--for cannot be combined with --to, which ends with the topic")
    if (options.follow or options.to is not None) and measuring != MeasureOptions():
        raise UsageError(
            "--readers, --prefetch, --cache, --cache-bytes and --out are for measuring",
            hint="leave out --to and --follow",
        )
    if options.follow and (output.output not in (Format.TABLE, Format.JSON) or output.output_file is not None):
        raise UsageError("--follow prints records to standard output, as they are or with -o json")


def _measure(
    topic: str,
    settings: Settings,
    options: ReadOptions,
    measuring: MeasureOptions,
    output: OutputOptions,
    context: CommandContext,
) -> None:
    from kafkabal.reader import MeasureRequest, measure, pin, training_file
    from kafkabal.reporting.read_report import measurement_report

    connection = _connection(settings)
    with _interruptible("nothing was measured"):
        manifest = pin(topic, connection, readers=measuring.readers, join=False)
        seconds = options.seconds or _DEFAULT_S
        context.say(f"reading topic {topic} for {seconds:.0f} s (readers: {measuring.readers})")
        measured = measure(
            MeasureRequest(
                connection=connection,
                manifest=manifest,
                readers=measuring.readers,
                seconds=seconds,
                prefetch_bytes=measuring.prefetch_bytes or _DEFAULT_PREFETCH_BYTES,
                cache=measuring.cache,
                cache_bytes=measuring.cache_bytes or _DEFAULT_CACHE_BYTES,
                rack=options.rack,
            )
        )
    if measuring.out is not None:
        import yaml

        from kafkabal.files import replacing

        with replacing(measuring.out) as file:
            file.write(yaml.safe_dump(training_file(measured), sort_keys=False).encode())
    show(measurement_report(topic, manifest, measured), output, context)


def _restore(
    topic: str, settings: Settings, options: ReadOptions, folder: Path, output: OutputOptions, context: CommandContext
) -> None:
    from kafkabal.reader import FolderRestore, TopicReader
    from kafkabal.reporting.read_report import restore_report

    restore = FolderRestore(folder)
    with _interruptible("run the same command again to restore the missing files"):
        data = TopicReader(topic, connection=_connection(settings), tail="keep", rack=options.rack, join=False)
        with context.progress("restoring", data.manifest.size_bytes) as bar:

            def shown() -> "Iterator[Sample]":
                for sample in data:
                    yield sample
                    bar.update(data.metrics.size_bytes, note=f"{data.metrics.samples} records")

            restored = restore.write_all(shown())
    show(restore_report(topic, folder, restored), output, context)
    if restored.failures:
        raise PartialFailureError(
            f"{len(restored.failures)} files were not restored, {restored.written + restored.already_there} were",
            restored.failures,
            hint="send them again with 'kafkabal produce'",
        )


def _follow(
    topic: str, settings: Settings, options: ReadOptions, output: OutputOptions, context: CommandContext
) -> None:
    from kafkabal.clusters.kafka import RangeFetcher
    from kafkabal.reader import as_json, follow

    connection = _connection(settings)
    end_s = None if options.seconds is None else context.monotonic() + options.seconds
    count = 0
    try:
        fetcher = RangeFetcher(connection, topic, _topic_id(connection, topic), rack=options.rack)
        try:
            for sample in follow(
                fetcher,
                from_start=options.from_start,
                is_over=lambda: end_s is not None and context.monotonic() >= end_s,
                sleep=context.sleep,
            ):
                _print(as_json(sample).encode() if output.output is Format.JSON else sample.value, context)
                count += 1
        finally:
            fetcher.close()
    except KeyboardInterrupt as signal:
        raise _interrupted(f"{count} records were printed", signal) from signal


def _print(line: bytes, context: CommandContext) -> None:
    """To the bytes below stdout where it has any, since a record need not be text."""
    if context.out.animated:  # a terminal, which a record must not steer
        context.stdout.write(printable(line.decode(errors="replace")) + "\n")
        return
    raw: Any = getattr(context.stdout, "buffer", None)
    if isinstance(raw, io.BufferedIOBase):
        raw.write(line + b"\n")
        raw.flush()
    else:
        context.stdout.write(line.decode(errors="replace") + "\n")


def _topic_id(connection: "ConnectionSettings", topic: str) -> str:
    from kafkabal.clusters.kafka import KafkaCluster

    with KafkaCluster(connection) as cluster:
        described = cluster.describe_topic(topic, connection.request_timeout_s)
    if described is None:
        raise UsageError(f"unknown topic: {topic}", hint=f"kafkabal create {topic}")
    return described.topic_id


def _connection(settings: Settings) -> "ConnectionSettings":
    from kafkabal.config import ConnectionSettings, cluster_address

    address = cluster_address(settings)
    if not isinstance(address, ConnectionSettings):
        raise ConfigError("records can only be read from live brokers", hint="give --bootstrap-server HOST:PORT")
    return address


@contextmanager
def _interruptible(left: str) -> "Iterator[None]":
    try:
        yield
    except KeyboardInterrupt as signal:
        raise _interrupted(left, signal) from signal


def _interrupted(left: str, signal: KeyboardInterrupt) -> InterruptedRunError:
    return InterruptedRunError(f"interrupted: {left}", terminated=isinstance(signal, Terminated))
