"""Resolves each setting: flags, then environment variables, then the profile, then defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kafkabal.config.profiles import ProfilesFile, load_profile
from kafkabal.config.settings import KEYS, Key, Profile, Settings
from kafkabal.config.yaml_document import Place, YamlNode
from kafkabal.errors import UsageError

Given: TypeAlias = "str | bool | Sequence[str] | None"

PROFILE_VARIABLE = "KAFKABAL_PROFILE"
_LIVE_KEYS = ("bootstrap_servers", "zookeeper")
_CONNECTION_KEYS = ("command_config", "bootstrap_controllers", "broker_timeout")


def resolve(flags: Mapping[str, Given], *, environ: Mapping[str, str], profiles_file: Path | ProfilesFile) -> Settings:
    """Merge flags, environment variables and profile.

    Parameters
    ----------
    flags
        Values from the command line, as text, by key (``tolerance``, ``scores``, ...) or as ``profile``; None and an
        empty list stand for a flag that was not given.
    environ
        Environment variables; an empty one of ours is refused.
    profiles_file
        The user's profiles file, see :func:`~kafkabal.config.profiles.default_profiles_file`, or what was read of it.

    Raises
    ------
    UsageError
        If a value is wrong, naming its origin; if a profile is unknown; or if one origin names both a snapshot and a
        live cluster.
    """
    chosen, place = flags.get("profile"), Place("--profile")
    if chosen is None:
        chosen, place = environ.get(PROFILE_VARIABLE), Place(PROFILE_VARIABLE)
    assert chosen is None or isinstance(chosen, str)
    if chosen is not None:
        _expect_something(YamlNode(chosen, place))
    profile = load_profile(chosen, profiles_file)
    levels = (_from_profile(profile), _from_environment(environ), _from_flags(flags))
    nodes: dict[str, YamlNode] = {}
    for node in (node for level in levels for node in level.values()):
        _expect_something(node)
    for level in levels:
        nodes = {key: node for key, node in nodes.items() if not _is_hidden(key, level)} | dict(level)
    settings = _settings(nodes, profile)
    for level in levels:
        check_one_cluster(level)
    return settings


def _from_profile(profile: Profile | None) -> Mapping[str, YamlNode]:
    found = profile.settings if profile else {}
    return {key: node for key, node in found.items() if node.content is not None}


def _from_environment(environ: Mapping[str, str]) -> Mapping[str, YamlNode]:
    return {key.name: YamlNode(environ[key.variable], Place(key.variable)) for key in KEYS if key.variable in environ}


def _from_flags(flags: Mapping[str, Given]) -> Mapping[str, YamlNode]:
    return {key.name: node for key in KEYS if (node := _flag(key, flags.get(key.name))) is not None}


def _flag(key: Key, given: Given) -> YamlNode | None:
    place = Place(key.option)
    if isinstance(given, str):
        return YamlNode(given, place)
    if isinstance(given, bool):
        return YamlNode(str(given).lower(), place)
    return YamlNode(tuple(YamlNode(item, place) for item in given), place) if given else None


def _expect_something(node: YamlNode) -> None:
    """Refuse an empty value, often an unset shell variable: treating it as not given would widen the scope."""
    content = node.content
    if isinstance(content, tuple):
        for item in content:
            _expect_something(item)
    if not (content.strip() if isinstance(content, str) else content):
        raise node.error("empty value", hint="leave it out, or see whether a variable in it is set")


def check_one_cluster(level: Mapping[str, YamlNode]) -> None:
    """Refuse settings of one origin that name both a snapshot and a live cluster, or how to connect to a snapshot."""
    live = next((key for key in _LIVE_KEYS if key in level), None)
    unused = next((key for key in _CONNECTION_KEYS if key in level), None)
    if live is None and unused is not None and "snapshot" in level:
        names = [_origin(key, level[key].place) for key in (unused, "snapshot")]
        raise UsageError(f"{names[0]} has no effect: {names[1]} names a snapshot", hint="give only one of them")
    if live is not None and "snapshot" in level:
        raise UsageError(
            f"both a snapshot ({level['snapshot'].place}) and a live cluster ({level[live].place}) given",
            hint="give only one of them",
        )


def _origin(key: str, place: Place) -> str:
    """An option or variable, which names the key, or the key and its line in a profile."""
    return str(place) if place.line is None else f"{key} ({place})"


def _is_hidden(key: str, stronger: Mapping[str, YamlNode]) -> bool:
    """Whether a stronger origin hides this key: a snapshot hides live clusters of weaker origins, and vice versa."""
    if key == "snapshot":
        return any(live in stronger for live in _LIVE_KEYS)
    return key in _LIVE_KEYS and "snapshot" in stronger


def _settings(nodes: Mapping[str, YamlNode], profile: Profile | None) -> Settings:
    found: dict[str, Any] = {key.field: key.read(nodes[key.name]) for key in KEYS if key.name in nodes}
    places = {key.field: nodes[key.name].place for key in KEYS if key.name in nodes}
    return Settings(**found, profile=profile, places=places)
