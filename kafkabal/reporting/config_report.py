"""The report of ``config show``: settings, and where each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafkabal.config import KEYS, Settings
from kafkabal.reporting.report import Column, Report, Table


def config_report(settings: Settings) -> Report:
    """List the settings that are set, in the order in which they are documented."""
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
                    Column(
                        key="value", title="value", values=[setting_text(getattr(settings, key.field)) for key in given]
                    ),
                    Column(key="origin", title="from", values=[settings.origin(key.field) for key in given]),
                ),
            ),
        ),
    )


def setting_text(value: Any) -> str:
    """A value as one line, in base units."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {setting_text(inner)}" for key, inner in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if not isinstance(value, Path) else value.as_posix()
