"""The reports of ``profiles``: the profiles, the settings of one, and which clusters respond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkabal.config import KEYS, Profile, ProfilesFile, Settings, YamlNode
from kafkabal.reporting.config_report import setting_text, shown_setting
from kafkabal.reporting.report import Column, Report, Table, Tone, ValueKind
from kafkabal.wording import counted_noun, first_of

_CLUSTER_KEYS = ("bootstrap_servers", "zookeeper", "snapshot", "command_config")
_HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCheck:
    """The result of connecting to the cluster of a profile."""

    name: str
    cluster: str | None = None
    cluster_id: str | None = None
    brokers: int | None = None
    elapsed_s: float | None = None
    problem: str | None = None


def profiles_report(file: ProfilesFile) -> Report:
    """One row per profile, in file order."""
    profiles, in_use, path = file.profiles, file.in_use, file.path
    names = list(profiles)
    clusters = [_cluster(profile) for profile in profiles.values()]
    problems = {name: profile.problem.in_one_line for name, profile in profiles.items() if profile.problem is not None}
    count = f"{counted_noun(len(names), 'profile')} in {path}"
    return Report(
        command="profiles list",
        headline=count if names else f"No profiles: {path} {'is empty' if file.is_there else 'does not exist'}.",
        tables=(
            Table(
                key="profiles",
                columns=(
                    Column(key="profile", title="profile", values=names, label=True),
                    Column(key="in_use", title="in use", values=[name == in_use for name in names]),
                    Column(key="cluster", title="cluster", values=clusters),
                    Column(
                        key="settings",
                        title="settings",
                        kind=ValueKind.NUMBER,
                        values=[len(p.settings) for p in profiles.values()],
                    ),
                    Column(key="problem", title="", values=[problems.get(name) for name in names]),
                ),
            ),
        ),
        notes=tuple(f"{name} cannot be used: {problem}" for name, problem in problems.items())
        if names
        else ("next: kafkabal profiles add NAME -b HOST:PORT",),
    )


def profile_report(
    profile: Profile,
    settings: Settings,
    config: Path | None,
    properties: Sequence[tuple[str, str | None, int | None]],
) -> Report:
    """Every setting of a profile, then every key of its client.properties; ``None`` stands for a hidden value."""
    own = [key for key in KEYS if key.field in settings.places]
    rows: list[tuple[str, str | None, str, bool, str]] = [
        (
            key.name,
            setting_text(getattr(settings, key.field)),
            settings.origin(key.field),
            False,
            shown_setting(key, settings),
        )
        for key in own
    ]
    rows += [(key, value, f"{config}, line {line}", value is None, value or _HIDDEN) for key, value, line in properties]
    return Report(
        command="profiles show",
        headline=f"Profile {profile.name} of {profile.path}.",
        tables=(
            Table(
                key="settings",
                columns=(
                    Column(key="setting", title="setting", values=[row[0] for row in rows], label=True),
                    Column(key="value", title="", values=[row[1] for row in rows]),
                    Column(key="shown", title="value", for_people=True, values=[row[4] for row in rows]),
                    Column(key="hidden", title="", values=[row[3] for row in rows]),
                    Column(key="origin", title="from", values=[row[2] for row in rows]),
                ),
            ),
        ),
    )


def check_report(checks: Sequence[ProfileCheck], in_use: str) -> Report:
    """One row per profile, unresponsive clusters first."""
    rows = sorted(checks, key=lambda each: (each.problem is None, each.name))
    failed = [each.name for each in rows if each.problem]
    counted = counted_noun(len(rows), "profile")
    return Report(
        command="profiles check",
        headline=f"{counted}: {len(failed)} failed ({first_of(failed)})."
        if failed
        else f"{counted}: all clusters respond.",
        tone=Tone.BAD if failed else Tone.GOOD,
        tables=(
            Table(
                key="profiles",
                columns=(
                    Column(key="profile", title="profile", values=[each.name for each in rows], label=True),
                    Column(key="in_use", title="", values=[each.name == in_use for each in rows]),
                    Column(
                        key="responds",
                        title="responds",
                        values=[each.problem is None for each in rows],
                        tones=[Tone.BAD if each.problem else Tone.GOOD for each in rows],
                    ),
                    Column(key="cluster", title="cluster", values=[each.cluster for each in rows], dispensable=2),
                    Column(
                        key="cluster_id", title="cluster id", values=[each.cluster_id for each in rows], dispensable=3
                    ),
                    Column(
                        key="brokers", title="brokers", kind=ValueKind.NUMBER, values=[each.brokers for each in rows]
                    ),
                    Column(
                        key="elapsed_s",
                        title="took",
                        kind=ValueKind.DURATION,
                        values=[each.elapsed_s for each in rows],
                        dispensable=1,
                    ),
                    Column(key="problem", title="", values=[each.problem for each in rows]),
                ),
            ),
        ),
        notes=tuple(f"{each.name}: {each.problem}" for each in rows if each.problem),
    )


def _cluster(profile: Profile) -> str | None:
    """The cluster of a profile, as written."""
    node = next((profile.settings[key] for key in _CLUSTER_KEYS if key in profile.settings), None)
    return None if node is None else _written(node)


def _written(node: YamlNode) -> str:
    if isinstance(node.content, tuple):
        return ",".join(_written(item) for item in node.content)
    return str(node.content)
