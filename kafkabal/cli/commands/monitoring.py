"""``kafkabal monitoring``: the files that Prometheus, Alertmanager, Grafana and systemd need."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer

from kafkabal.atomic_files import parse_folder
from kafkabal.cli.framework.chosen_clusters import all_profile_names, matching_profile_names
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import PROFILES_FILE
from kafkabal.config import PORTS
from kafkabal.errors import ExitCode, OutputError, UsageError
from kafkabal.units import parse_percent, parse_positive_duration
from kafkabal.wording import counted_noun, first_of, system_fault

_THRESHOLDS = "Thresholds"
_ADDRESSES = "Addresses"
_ADDRESS: Final = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
"""What Prometheus takes as a target: no URL, and an IPv6 address in brackets."""
_PROFILES_OF_UNITS: Final = Path("/etc/kafkabal/profiles.yaml")


def _parse_full(text: str) -> float:
    fraction = parse_percent(text)
    if not 0 < fraction < 1:
        raise UsageError(f"must be above 0% and below 100%: {text!r}")
    return fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdOptions:
    """When alerts fire."""

    full: Annotated[
        float | None,
        typer.Option(
            "--full",
            metavar="PERCENT",
            parser=_parse_full,
            help="Alert when a broker's disks are fuller than PERCENT. [default: 85%]",
            rich_help_panel=_THRESHOLDS,
        ),
    ] = None
    full_within_s: Annotated[
        float | None,
        typer.Option(
            "--full-within",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Alert when a broker will be full within TIME. [default: 3d]",
            rich_help_panel=_THRESHOLDS,
        ),
    ] = None
    blind_s: Annotated[
        float | None,
        typer.Option(
            "--blind-after",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Alert when a cluster has not been read for TIME. [default: 10m]",
            rich_help_panel=_THRESHOLDS,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressOptions:
    """Where everything runs."""

    webhook: Annotated[
        str,
        typer.Option("--webhook", metavar="URL", help="Receiver of alerts.", rich_help_panel=_ADDRESSES),
    ] = "http://localhost:8080/alerts"
    exporters: Annotated[
        list[str] | None,
        typer.Option(
            "--exporter",
            metavar="HOST:PORT",
            help="Node exporter of a host that reads clusters. Repeatable. [default: localhost:9100]",
            rich_help_panel=_ADDRESSES,
        ),
    ] = None
    alertmanagers: Annotated[
        list[str] | None,
        typer.Option(
            "--alertmanager",
            metavar="HOST:PORT",
            help="Alertmanager. Repeatable. [default: localhost:9093]",
            rich_help_panel=_ADDRESSES,
        ),
    ] = None
    textfiles: Annotated[
        str,
        typer.Option(
            "--textfiles",
            metavar="DIR",
            help="Folder of the node exporter's textfile collector.",
            rich_help_panel=_ADDRESSES,
        ),
    ] = "/var/lib/node_exporter"


def monitoring(
    context: CommandContext,
    thresholds: ThresholdOptions,
    addresses: AddressOptions,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", parser=parse_folder, help="Folder for the files.")],
    profiles: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Profile of a cluster to monitor, or a pattern such as 'prod-*'. Repeatable. [default: all]",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that differ.")] = False,
) -> ExitCode:
    """Write monitoring files for Prometheus and Grafana.

    Writes alert rules, a scrape config, alert routes, a dashboard, and systemd units that read each cluster once a
    minute. Nothing is installed or started; the last lines say how.

    Examples:

      kafkabal monitoring --out monitoring

      kafkabal monitoring --profile 'prod-*' --full 80% --webhook http://alerts:8080/kafka --out monitoring
    """
    from kafkabal.reporting.monitoring.monitoring_files import MonitoringSetup, Thresholds, monitoring_files
    from kafkabal.reporting.notifications.notifier import check_url

    chosen = _profiles(profiles, context)
    given = {"full": thresholds.full, "full_within_s": thresholds.full_within_s, "blind_s": thresholds.blind_s}
    check_url(addresses.webhook)
    files = monitoring_files(
        MonitoringSetup(
            profiles=chosen,
            thresholds=Thresholds(**{name: value for name, value in given.items() if value is not None}),
            webhook=addresses.webhook,
            exporters=[_address("--exporter", text) for text in addresses.exporters or ["localhost:9100"]],
            alertmanagers=[_address("--alertmanager", text) for text in addresses.alertmanagers or ["localhost:9093"]],
            textfiles=addresses.textfiles,
        )
    )
    _write(out, files, overwrite=overwrite)
    context.say(f"{counted_noun(len(files), 'file')} written to {out}")
    context.say("next, as root on the host that reads the clusters:")
    for step in _steps(out, addresses.textfiles, chosen, context.config_dir / PROFILES_FILE):
        context.say(f"  {step}")
    context.say(f"and start its node exporter with --collector.textfile.directory={addresses.textfiles}")
    return ExitCode.DONE


def _steps(out: Path, textfiles: str, profiles: tuple[str, ...], profiles_file: Path) -> Iterator[str]:
    """Commands that make all that the units need, and start them."""
    folder = quote(str(out))
    yield "useradd --system --user-group kafkabal"
    yield f"install -d -o kafkabal -g kafkabal {quote(textfiles)}"
    if profiles_file != _PROFILES_OF_UNITS:
        yield f"install -D -m 640 -g kafkabal {quote(str(profiles_file))} {_PROFILES_OF_UNITS}"
    yield f"cp {folder}/*.service {folder}/*.timer /etc/systemd/system/"
    yield f"systemctl enable --now {' '.join(f'kafkabal-metrics@{name}.timer' for name in profiles)}"


def _profiles(given: list[str] | None, context: CommandContext) -> tuple[str, ...]:
    from kafkabal.config import read_profiles

    known = read_profiles(context.config_dir / PROFILES_FILE)
    every = all_profile_names(known)
    chosen = matching_profile_names(given, known) if given else every
    for name in chosen:
        if name not in every:  # a file: units are named by profiles
            raise UsageError(f"--profile: unknown profile: {name!r}", hint=f"choose from: {first_of(every)}")
    return chosen


def _address(option: str, text: str) -> str:
    if not _ADDRESS.fullmatch(text) or int(text.rpartition(":")[2]) not in PORTS:
        raise UsageError(f"{option}: invalid address: {text!r}", hint="write it like host:9100")
    return text


def _write(folder: Path, files: dict[str, str], *, overwrite: bool) -> None:
    """Write all files, or none if one would be overwritten."""
    from kafkabal.atomic_files import replacing

    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [name for name, text in files.items() if _differs(folder / name, text)]
    except OSError as error:
        raise OutputError(f"{folder}: cannot write: {system_fault(error)}") from error
    if others and not overwrite:
        raise UsageError(f"{folder}: files differ: {', '.join(others)}", hint="add --overwrite, or name another folder")
    for name, text in files.items():
        with replacing(folder / name) as file:
            file.write(text.encode())


def _differs(path: Path, text: str) -> bool:
    return path.exists() and path.read_bytes() != text.encode()
