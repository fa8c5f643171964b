"""Rules, scrape config, alert routes, dashboard and systemd units, filled in for given clusters."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Final

from jinja2 import Environment, StrictUndefined

from kafkabal.config import DEFAULT_PROFILE
from kafkabal.errors import UsageError
from kafkabal.units import DAY_S, format_duration

# the files contain Prometheus templates, which use {{ }} themselves
_BEGIN: Final = "[["
_END: Final = "]]"
_EXAMPLE: Final = "prod"
_SUFFIX: Final = ".j2"
_UNIT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_FOLDER: Final = re.compile(r"(?:/+(?!\.{1,2}(?:/|$))[A-Za-z0-9_.+@-]+)+/*")
"""systemd ignores a path with ``..``, and making all of ``/`` writable would undo the protection of the units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """When alerts fire."""

    full: float = 0.85
    """Used fraction of a broker's disks, 0 to 1."""
    full_within_s: float = 3 * DAY_S
    blind_s: float = 600.0
    """Age of the last reading of a cluster."""

    @property
    def full_within(self) -> str:
        """Formatted for messages."""
        return format_duration(self.full_within_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSetup:
    """What to monitor, and where everything runs."""

    profiles: Sequence[str] = ()
    """Empty: rules for any cluster, and an example in the units."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    webhook: str = "http://localhost:8080/alerts"
    """Receives alerts from Alertmanager."""
    exporters: Sequence[str] = ("localhost:9100",)
    """Node exporters of the hosts that run the timers, ``host:port``."""
    alertmanagers: Sequence[str] = ("localhost:9093",)
    textfiles: str = "/var/lib/node_exporter"
    """Folder of the node exporter's textfile collector."""


def monitoring_files(setup: MonitoringSetup) -> dict[str, str]:
    """Generate the files: text by file name.

    Returns
    -------
    dict
        ``alerts.yml``, ``alertmanager.yml``, ``prometheus.yml``, ``kafkabal.json`` for Grafana, and the units.

    Raises
    ------
    UsageError
        If a profile name or the textfile folder cannot be used in a unit.
    """
    _expect_unit_names(setup)
    environment = Environment(  # noqa: S701 - YAML and units, not HTML; every value is quoted below or checked
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        variable_start_string=_BEGIN,
        variable_end_string=_END,
        block_start_string="[%",
        block_end_string="%]",
    )
    thresholds, units = setup.thresholds, setup.profiles or [_EXAMPLE]
    values = {
        "thresholds": {
            "full": f"{thresholds.full:g}",
            "full_within": thresholds.full_within,
            "full_within_s": f"{thresholds.full_within_s:g}",
            "blind_s": f"{thresholds.blind_s:g}",
        },
        # JSON strings are YAML strings
        "webhook": json.dumps(setup.webhook),
        "exporters": json.dumps(list(setup.exporters)),
        "alertmanagers": json.dumps(list(setup.alertmanagers)),
        "timers": " ".join(f"kafkabal-metrics@{profile}.timer" for profile in units),
        "watches": " ".join(f"kafkabal-watch@{profile}.service" for profile in units),
        # the metrics of the default profile are labelled with the id of its cluster
        "clusters": [f'{{cluster="{profile}"}}' for profile in setup.profiles if profile != DEFAULT_PROFILE],
        "textfiles": setup.textfiles.rstrip("/"),
    }
    files = {}
    folder = resources.files("kafkabal.reporting.monitoring").joinpath("templates")
    for template in sorted(folder.iterdir(), key=lambda file: file.name):
        text = template.read_text()
        is_template = template.name.endswith(_SUFFIX)
        name = template.name.removesuffix(_SUFFIX)
        files[name] = environment.from_string(text).render(values) if is_template else text
    return files


def _expect_unit_names(setup: MonitoringSetup) -> None:
    """Refuse ``%``, which systemd expands, and ``/`` and blanks, which end a name."""
    for profile in setup.profiles:
        if not _UNIT_NAME.fullmatch(profile):
            raise UsageError(
                f"profile name cannot be that of a systemd unit: {profile!r}",
                hint="use letters, digits, '.', '_' and '-', or 'kafkabal profiles add' under another name",
            )
    if not _FOLDER.fullmatch(setup.textfiles):
        raise UsageError(f"--textfiles: not an absolute path below / without blanks, '.' and '..': {setup.textfiles!r}")
