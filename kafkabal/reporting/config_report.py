"""The report of ``config show``: settings, and the source of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from kafkabal.config import KEYS, Key, Settings
from kafkabal.reporting.report import Column, Report, Table
from kafkabal.units import duration_as_option, format_stated_bytes, format_stated_rate, percent_as_option

_WRITERS: Final[Mapping[str, Callable[[float], str]]] = {
    "broker_timeout": duration_as_option,
    "tolerance": percent_as_option,
    "capacity": format_stated_bytes,
    "nic_rate": format_stated_rate,
    "throttle": format_stated_rate,
    "log_dir_throttle": format_stated_rate,
    "dead_after": duration_as_option,
    "max_bytes": format_stated_bytes,
    "max_duration": duration_as_option,
}
"""How to format numbers, by setting, for settings with a unit."""


def config_report(settings: Settings) -> Report:
    """List the settings that are set, in the order of their documentation."""
    given = [key for key in KEYS if key.field in settings.places]
    profile = settings.profile
    return Report(
        command="config show",
        headline=f"Profile {profile.name} of {profile.path}." if profile else "No profile is used.",
        tables=(
            Table(
                key="settings",
                columns=(
                    Column(key="setting", title="setting", values=[key.name for key in given], label=True),
                    Column(key="value", title="", values=[setting_text(getattr(settings, key.field)) for key in given]),
                    Column(
                        key="shown",
                        title="value",
                        values=[shown_setting(key, settings) for key in given],
                        for_people=True,
                    ),
                    Column(key="origin", title="from", values=[settings.origin(key.field) for key in given]),
                ),
            ),
        ),
    )


def shown_setting(key: Key, settings: Settings) -> str:
    """The value of a setting as people write it, with its unit."""
    return setting_text(getattr(settings, key.field), _WRITERS.get(key.name, str))


def setting_text(value: Any, write: Callable[[float], str] = str) -> str:
    """A value on one line, numbers in base units unless ``write`` formats them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {setting_text(inner, write)}" for key, inner in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return write(value)
    return str(value) if not isinstance(value, Path) else value.as_posix()
