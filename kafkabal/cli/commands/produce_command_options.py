"""Options of ``kafkabal produce``: the source, and how it is sent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kafkabal.atomic_files import check_replaceable, parse_path
from kafkabal.cli.framework.shared_options import parse_interval
from kafkabal.config import DEFAULT_POLICY
from kafkabal.errors import UsageError
from kafkabal.input_files import STDIN, exists
from kafkabal.units import parse_positive_bytes

_SECTION = "Source"
_MOST_READERS = 256
"""Threads: object stores answer hundreds at once; a typing error must not start a million."""


def _manifest_file(text: str) -> Path:
    if text == STDIN:
        raise UsageError("cannot be -: it is read again by the next run", hint="name a file")
    path = parse_path(text)
    if not exists(path):
        return check_replaceable(path)
    if path.is_dir():
        raise UsageError(f"is a folder: {text}", hint="name a file in it, which need not exist")
    if not path.is_file():
        raise UsageError(f"is not a regular file: {text}", hint="name a file, which need not exist")
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How records are read from the source."""

    row_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of rows: jsonl, text, csv, parquet, arrow, tfrecord or webdataset. [default: by name]",
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
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="FIELD",
            help="Send this field of each row as the header 'label'.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="GLOB",
            help="Send only files whose path in the folder matches. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="GLOB",
            help="Skip files whose path in the folder matches. Repeatable.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    transform: Annotated[
        str | None,
        typer.Option(
            "--transform",
            metavar="MODULE:FUNCTION",
            help="Function that changes the value and headers of each record before it is sent.",
            rich_help_panel=_SECTION,
        ),
    ] = None
    chunk_bytes: Annotated[
        int | None,
        typer.Option(
            "--chunk",
            metavar="SIZE",
            parser=parse_positive_bytes,
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
            help="Threads that read and hash files ahead of sending, for slow file systems. [default: 0]",
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
    ] = DEFAULT_POLICY
    refresh_s: Annotated[
        float | None,
        typer.Option(
            "--refresh",
            metavar="TIME",
            parser=parse_interval,
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
            parser=_manifest_file,
            help="File that records what has been sent. [default: one per topic and source]",
        ),
    ] = None
    no_manifest: Annotated[
        bool, typer.Option("--no-manifest", help="Keep no manifest: a repeated run sends everything again.")
    ] = False
    resend: Annotated[bool, typer.Option("--resend", help="Send changed files again.")] = False
