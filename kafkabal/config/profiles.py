"""Profiles: named sets of cluster settings in a YAML file.

The user's profiles file holds several under ``profiles:``; a file given as ``--profile FILE`` may instead hold the
settings of one. ``FILE#NAME`` picks one of several in another file. ``use: NAME`` next to ``profiles:`` names the
default profile; without it, that is the profile called ``default``.

A profile is checked only when it is used, and so are its values: a mistake in one must not lock an operator out of all
other clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafkabal.config.settings import KEYS, Profile
from kafkabal.config.value_parsers import check_keys, mapping, text
from kafkabal.config.yaml_document import Place, YamlNode, parse_yaml, read_yaml
from kafkabal.errors import ConfigError, UsageError
from kafkabal.input_files import exists, expand_home
from kafkabal.user_folders import user_folder
from kafkabal.wording import counted_noun, first_of, suggestion

DEFAULT_PROFILE = "default"
_FILE_ENDINGS = (".yaml", ".yml")
_SEVERAL = "profiles"
_USE = "use"


@dataclass(frozen=True, slots=True)
class ProfilesFile:
    """The user's profiles file, read once: parsing that of a thousand clusters takes a twentieth of a second."""

    path: Path
    profiles: Mapping[str, Profile]
    """By name, in file order; an invalid one is included, with its problem."""
    use: YamlNode | None
    """The name of the default profile, as written; None if it is not named."""
    is_there: bool
    """Whether the file exists."""

    @property
    def in_use(self) -> str:
        """Name of the default profile; if it is ``default``, there may be no such profile.

        Raises
        ------
        InputFileError
            If ``use`` names no profile.
        """
        if self.use is None:
            return DEFAULT_PROFILE
        name = text(self.use)
        if name not in self.profiles:
            raise self.use.error(f"unknown profile: {name!r}", hint="choose one with 'kafkabal profiles use NAME'")
        return name

    def find(self, chosen: str | None) -> Profile | None:
        """The profile of this name, perhaps with a problem; for None the default one, if there is any.

        Raises
        ------
        ConfigError
            If the profile is unknown.
        """
        if chosen is None:
            return self.profiles.get(self.in_use)
        if not self.is_there:
            raise ConfigError(
                f"unknown profile: {chosen!r} ({self.path} does not exist)",
                hint="add one: kafkabal profiles add NAME -b HOST:PORT",
            )
        return _pick(self.profiles, chosen, str(self.path))


def default_profiles_file() -> Path:
    """Path of the user's profiles file on this system."""
    return user_folder("config") / "profiles.yaml"


def load_profile(chosen: str | None, profiles_file: Path | ProfilesFile) -> Profile | None:
    """Read the chosen profile.

    Parameters
    ----------
    chosen
        A name in ``profiles_file``, or another file as ``FILE`` or ``FILE#NAME``. None takes the default one, see
        :attr:`ProfilesFile.in_use`.
    profiles_file
        Its path, or what was read of it.

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


def find_profile(chosen: str | None, profiles_file: Path | ProfilesFile) -> Profile | None:
    """Like :func:`load_profile`, but an invalid profile is returned with its problem."""
    if isinstance(profiles_file, ProfilesFile) and chosen is not None and chosen in profiles_file.profiles:
        return profiles_file.profiles[chosen]
    if chosen is not None and _is_file(chosen):
        file, _, name = chosen.partition("#")
        path = expand_home(Path(file))
        return _pick(_profiles_of(_checked(read_yaml(path)), path), name or None, file)
    known = read_profiles(profiles_file) if isinstance(profiles_file, Path) else profiles_file
    return known.find(chosen)


def profile_names(profiles_file: Path) -> tuple[str, ...]:
    """Names in the user's profiles file, sorted; none if the file does not exist.

    Raises
    ------
    InputFileError
        If the file cannot be read or is malformed.
    """
    return tuple(sorted(read_profiles(profiles_file).profiles))


def has_profiles_file(profiles_file: Path) -> bool:
    """Whether the user's profiles file exists.

    Raises
    ------
    InputFileError
        If that cannot be known.
    """
    return exists(profiles_file, hint="set HOME or XDG_CONFIG_HOME to a folder of this user")


def read_profiles(profiles_file: Path) -> ProfilesFile:
    """The user's profiles file; without profiles if it does not exist.

    Raises
    ------
    InputFileError
        If the file cannot be read or is malformed.
    """
    if not has_profiles_file(profiles_file):
        return ProfilesFile(profiles_file, {}, use=None, is_there=False)
    top = _checked(read_yaml(profiles_file))
    return ProfilesFile(profiles_file, _profiles_of(top, profiles_file), use=top.get(_USE), is_there=True)


def parse_profiles(text: str, path: Path) -> Mapping[str, Profile]:
    """Parse a profiles file; returns its profiles by name.

    Raises
    ------
    InputFileError
        If it is malformed.
    """
    return _profiles_of(_checked(parse_yaml(text, str(path))), path)


def _is_file(chosen: str) -> bool:
    return "/" in chosen or chosen.partition("#")[0].endswith(_FILE_ENDINGS)


def _profiles_of(top: Mapping[str, YamlNode], path: Path) -> Mapping[str, Profile]:
    """Profiles of a file by name; a single unnamed one is called ``default``."""
    if not top:
        return {}
    if _SEVERAL not in top:
        return {DEFAULT_PROFILE: _profile(DEFAULT_PROFILE, path, YamlNode(top, Place(str(path), 1)))}
    misplaced = next((node for key, node in top.items() if key not in (_SEVERAL, _USE)), None)
    if misplaced is not None:
        raise misplaced.key_error(f"setting outside {_SEVERAL!r}: put it into one of the profiles")
    several = mapping(top[_SEVERAL])
    return {name: _profile(name, path, node) for name, node in several.items()}


def _checked(root: YamlNode) -> Mapping[str, YamlNode]:
    """The top-level entries of a profiles file, by key."""
    return check_keys(root, {_SEVERAL, _USE} | {key.name for key in KEYS}, "a profile")


def _profile(name: str, path: Path, node: YamlNode) -> Profile:
    known = {key.name for key in KEYS}
    # a text in place of a mapping is a wrongly indented setting: which profile it belongs to is unknown
    written = mapping(node)
    try:
        _check_name(name, node)
        return Profile(name=name, path=path, settings=check_keys(node, known, f"profile {name!r}"))
    except UsageError as problem:
        settings = {key: value for key, value in written.items() if key in known}
        return Profile(name=name, path=path, settings=settings, problem=problem)


def _check_name(name: str, node: YamlNode) -> None:
    """Refuse a name that ``--profile`` cannot choose: it would read a file in its place."""
    if _is_file(name):
        raise node.key_error(
            f"invalid profile name: {name!r}", hint="rename it: '--profile' takes this name for a file"
        )


def _pick(profiles: Mapping[str, Profile], name: str | None, file: str) -> Profile:
    if name is None and len(profiles) == 1:
        return next(iter(profiles.values()))
    found = profiles.get(name or DEFAULT_PROFILE)
    if found is not None:
        return found
    if not profiles:
        raise ConfigError(f"{file}: contains no profile", hint="add one under 'profiles:', see 'kafkabal help formats'")
    if name is None:
        choices = ", ".join(f"{file}#{name}" for name in sorted(profiles))
        raise ConfigError(f"{file}: contains {counted_noun(len(profiles), 'profile')}", hint=f"choose one: {choices}")
    hint = suggestion(name, profiles, likeness=0.5) or f"choose from: {first_of(sorted(profiles))}"
    raise ConfigError(f"{file}: unknown profile: {name!r}", hint=hint)
