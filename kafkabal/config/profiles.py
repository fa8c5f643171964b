"""Profiles: named sets of cluster settings in a YAML file.

The user's profiles file holds several under ``profiles:``; a file given as ``--profile FILE`` may instead hold the
settings of one. ``FILE#NAME`` picks one of several in another file. ``use: NAME`` next to ``profiles:`` names the
default profile; without it, that is the profile called ``default``.

A profile is checked only when it is used, and so are its values: a mistake in one must not lock an operator out of all
other clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafkabal.config.settings import KEYS, Profile
from kafkabal.config.value_parsers import check_keys, mapping, text
from kafkabal.config.yaml_document import Place, YamlNode, parse_yaml, read_yaml
from kafkabal.errors import ConfigError, UsageError
from kafkabal.input_files import exists, expand_home
from kafkabal.wording import counted_noun, first_of, suggestion

DEFAULT_PROFILE = "default"
_FILE_ENDINGS = (".yaml", ".yml")
_SEVERAL = "profiles"
_USE = "use"


def default_profiles_file() -> Path:
    """Path of the user's profiles file on this system."""
    from platformdirs import user_config_path

    return user_config_path("kafkabal") / "profiles.yaml"


def load_profile(chosen: str | None, profiles_file: Path) -> Profile | None:
    """Read the chosen profile.

    Parameters
    ----------
    chosen
        A name in ``profiles_file``, or another file as ``FILE`` or ``FILE#NAME``. None takes the default one, see
        :func:`profile_in_use`.

    Raises
    ------
    ConfigError
        If the profile is unknown.
    InputFileError
        If the file cannot be read or is malformed, or the profile has an unknown key; the message names the line.
    """
    profile = find_profile(chosen, profiles_file)
    if profile is not None and profile.problem is not None:
        raise profile.problem
    return profile


def find_profile(chosen: str | None, profiles_file: Path) -> Profile | None:
    """Like :func:`load_profile`, but an invalid profile is returned with its problem."""
    if chosen is None:
        return read_profiles(profiles_file).get(profile_in_use(profiles_file))
    if _is_file(chosen):
        file, _, name = chosen.partition("#")
        return _pick(_profiles(expand_home(Path(file))), name or None, file)
    if not _is_there(profiles_file):
        raise ConfigError(
            f"unknown profile: {chosen!r} ({profiles_file} does not exist)",
            hint="add one: kafkabal profiles add NAME -b HOST:PORT",
        )
    return _pick(_profiles(profiles_file), chosen, str(profiles_file))


def profile_names(profiles_file: Path) -> tuple[str, ...]:
    """Names in the user's profiles file, sorted; none if the file does not exist.

    Raises
    ------
    InputFileError
        If the file cannot be read or is malformed.
    """
    return tuple(sorted(read_profiles(profiles_file)))


def read_profiles(profiles_file: Path) -> Mapping[str, Profile]:
    """The profiles in the user's profiles file by name, in file order; none if the file does not exist.

    An invalid profile is included, with its problem.

    Raises
    ------
    InputFileError
        If the file cannot be read or is malformed.
    """
    return _profiles(profiles_file) if _is_there(profiles_file) else {}


def profile_in_use(profiles_file: Path) -> str:
    """Name of the default profile; if it is ``default``, there may be no such profile.

    Raises
    ------
    InputFileError
        If the file cannot be read or is malformed, or ``use`` names no profile in it.
    """
    if not _is_there(profiles_file):
        return DEFAULT_PROFILE
    used = _top(profiles_file).get(_USE)
    if used is None:
        return DEFAULT_PROFILE
    name = text(used)
    if name not in _profiles(profiles_file):
        raise used.error(f"unknown profile: {name!r}", hint="choose one with 'kafkabal profiles use NAME'")
    return name


def parse_profiles(text: str, path: Path) -> Mapping[str, Profile]:
    """Parse a profiles file; returns its profiles by name.

    Raises
    ------
    InputFileError
        If it is malformed.
    """
    return _profiles_of(_checked(parse_yaml(text, str(path))), path)


def _is_there(profiles_file: Path) -> bool:
    return exists(profiles_file, hint="set HOME or XDG_CONFIG_HOME to a folder of this user")


def _is_file(chosen: str) -> bool:
    return "/" in chosen or chosen.partition("#")[0].endswith(_FILE_ENDINGS)


def _profiles(path: Path) -> Mapping[str, Profile]:
    """Profiles of a file by name; a single unnamed one is called ``default``."""
    return _profiles_of(_top(path), path)


def _profiles_of(top: Mapping[str, YamlNode], path: Path) -> Mapping[str, Profile]:
    if not top:
        return {}
    if _SEVERAL not in top:
        return {DEFAULT_PROFILE: _profile(DEFAULT_PROFILE, path, YamlNode(top, Place(str(path), 1)))}
    misplaced = next((node for key, node in top.items() if key not in (_SEVERAL, _USE)), None)
    if misplaced is not None:
        raise misplaced.error(f"setting outside {_SEVERAL!r}: put it into one of the profiles")
    several = mapping(top[_SEVERAL])
    return {name: _profile(name, path, node) for name, node in several.items()}


def _top(path: Path) -> Mapping[str, YamlNode]:
    """The top-level entries of a profiles file, by key."""
    return _checked(read_yaml(path))


def _checked(root: YamlNode) -> Mapping[str, YamlNode]:
    return check_keys(root, {_SEVERAL, _USE} | {key.name for key in KEYS}, "a profile")


def _profile(name: str, path: Path, node: YamlNode) -> Profile:
    known = {key.name for key in KEYS}
    # a text in place of a mapping is a wrongly indented setting: which profile it belongs to is unknown
    written = mapping(node)
    try:
        return Profile(name=name, path=path, settings=check_keys(node, known, f"profile {name!r}"))
    except UsageError as problem:
        settings = {key: value for key, value in written.items() if key in known}
        return Profile(name=name, path=path, settings=settings, problem=problem)


def _pick(profiles: Mapping[str, Profile], name: str | None, file: str) -> Profile:
    if name is None and len(profiles) == 1:
        return next(iter(profiles.values()))
    found = profiles.get(name or DEFAULT_PROFILE)
    if found is not None:
        return found
    if not profiles:
        raise ConfigError(f"{file}: contains no profile")
    if name is None:
        choices = ", ".join(f"{file}#{name}" for name in sorted(profiles))
        raise ConfigError(f"{file}: contains {counted_noun(len(profiles), 'profile')}", hint=f"choose one: {choices}")
    hint = suggestion(name, profiles, likeness=0.5) or f"choose from: {first_of(sorted(profiles))}"
    raise ConfigError(f"{file}: unknown profile: {name!r}", hint=hint)
