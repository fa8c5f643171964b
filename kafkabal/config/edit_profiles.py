"""Edits the user's profiles file as text, so that comments and order are kept.

The new text is parsed before it replaces the old one. If the layout of the file does not allow the change, the file
stays unchanged and the error shows the lines to add by hand.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from kafkabal.atomic_files import make_folder_of, replacing
from kafkabal.config.profiles import has_profiles_file, parse_profiles
from kafkabal.config.resolve_settings import check_one_cluster
from kafkabal.config.settings import KEYS, Profile
from kafkabal.config.value_parsers import check_keys
from kafkabal.config.yaml_document import Place, YamlNode
from kafkabal.errors import ConfigError, UsageError
from kafkabal.input_files import read_text
from kafkabal.wording import first_of

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEAD: Final = re.compile(r"^profiles:[ \t]*(#.*)?\r?$", re.MULTILINE)
_SHOWN: Final = 40
"""Characters of an invalid text that an error shows, so that the message stays one line."""
_USE_LINE: Final = re.compile(r"^use:.*$", re.MULTILINE)
_FIRST_NAME: Final = re.compile(r"^(?P<indent> +)[^\s#-]", re.MULTILINE)
# needs no quotes in YAML, and looks like plain text to people
_PLAIN: Final = re.compile(r"(?!(?i:null)$)[A-Za-z0-9/][A-Za-z0-9_./:%,@+=-]*(?<!:)")


def add_profile(profiles_file: Path, name: str, settings: Mapping[str, str]) -> None:
    """Add a profile at the end of the file, which is created if missing.

    Parameters
    ----------
    settings
        Values as text, by key.

    Raises
    ------
    UsageError
        If the name is taken or invalid, a key is unknown, a value is wrong, the settings name a snapshot and a live
        cluster, or the file has another layout.
    OutputError
        If the file cannot be written.
    """
    _check_name(name)
    _check_settings(settings)
    _change(profiles_file, lambda: _with_profile(profiles_file, name, settings))


def use_profile(profiles_file: Path, name: str) -> None:
    """Make a profile the default one.

    Raises
    ------
    UsageError
        If the profile is unknown or has an unknown key, or the file holds a single profile.
    OutputError
        If the file cannot be written.
    """
    _change(profiles_file, lambda: _with_use(profiles_file, name))


def _change(profiles_file: Path, changed: Callable[[], str]) -> None:
    """Replace the file by its changed text, which is read and changed while no other command does the same."""
    from kafkabal.file_locks import held_file_lock

    changed()  # what is refused is refused before a lock is written
    make_folder_of(profiles_file)
    behind = Path(os.path.realpath(profiles_file))
    with held_file_lock(behind.with_name(f".{behind.name}.lock")):
        text = changed()
        with replacing(profiles_file) as file:
            file.write(text.encode())


def _read(profiles_file: Path) -> tuple[str, Mapping[str, Profile]]:
    """The text of the file and its profiles, of one reading: another command may replace the file at any time."""
    text = read_text(profiles_file) if has_profiles_file(profiles_file) else ""
    return text, parse_profiles(text, profiles_file)


def _with_profile(profiles_file: Path, name: str, settings: Mapping[str, str]) -> str:
    text, known = _read(profiles_file)
    if name in known:
        raise UsageError(f"profile already exists: {name!r}", hint=f"edit {profiles_file}, or choose another name")
    head = _HEAD.search(text)
    if text.strip() and head is None and known:
        raise _unfit(profiles_file, name, settings)
    if head is None:
        text = f"{text.rstrip()}\nprofiles:\n".lstrip()
    first = _FIRST_NAME.search(text, head.end()) if head else None
    changed = f"{text.rstrip()}\n{_block(name, settings, first['indent'] if first else '  ')}"
    return _checked(changed, profiles_file, {*known, name}, _unfit(profiles_file, name, settings))


def _with_use(profiles_file: Path, name: str) -> str:
    text, known = _read(profiles_file)
    if name not in known:
        raise ConfigError(
            f"{profiles_file}: unknown profile: {name!r}",
            hint=f"choose from: {first_of(sorted(known))}"
            if known
            else "add one: kafkabal profiles add NAME -b HOST:PORT",
        )
    problem = known[name].problem
    if problem is not None:
        raise problem
    line = f"use: {_scalar(name)}"
    by_hand = ConfigError(f"{profiles_file}: cannot be changed by this command", hint=f"add the line: {line}")
    if _HEAD.search(text) is None:
        raise by_hand
    changed, found = _USE_LINE.subn(lambda _: line, text, count=1)
    return _checked(changed if found else f"{line}\n{text}", profiles_file, {*known}, by_hand)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.endswith((".yaml", ".yml")) or name.lower() == "null":
        raise UsageError(
            f"invalid profile name: {name[:_SHOWN]!r}", hint="use letters, digits, '.', '-' and '_', up to 64 of them"
        )


def _check_settings(settings: Mapping[str, str]) -> None:
    """Parse every value as a profile's, so that nothing is written that would be refused later."""
    for key, value in settings.items():
        try:
            value.encode()
        except UnicodeEncodeError:
            hint = "rename the file: a file of profiles is UTF-8"
            raise ConfigError(f"{key}: not UTF-8 text: {value!r}", hint=hint) from None
    place, readers = Place("profile"), _readers()
    nodes = check_keys(
        YamlNode({key: YamlNode(value, place) for key, value in settings.items()}, place), readers, "a profile"
    )
    for key, node in nodes.items():
        try:
            readers[key](node)
        except UsageError as error:
            message = error.message.removeprefix(f"{place}: ")
            raise ConfigError(f"{key}: {message}", hint=error.hint) from None
    check_one_cluster({key: YamlNode(value, Place(key)) for key, value in settings.items()})


def _readers() -> Mapping[str, Callable[[YamlNode], Any]]:
    return {key.name: key.read for key in KEYS}


def _block(name: str, settings: Mapping[str, str], indent: str) -> str:
    lines = [f"{indent}{name}:", *(f"{indent}{indent}{key}: {_scalar(value)}" for key, value in settings.items())]
    return "".join(f"{line}\n" for line in lines)


def _scalar(value: str) -> str:
    """A value as YAML: quoted if it could be read as something other than text."""
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _unfit(profiles_file: Path, name: str, settings: Mapping[str, str]) -> ConfigError:
    shown = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())
    return ConfigError(
        f"{profiles_file}: its layout cannot be extended by this command",
        hint=f"put its settings under 'profiles:', and add there: {name}: {{{shown}}}",
    )


def _checked(text: str, profiles_file: Path, names: set[str], otherwise: ConfigError) -> str:
    """The text, if these are the profiles in it."""
    try:
        is_right = {*parse_profiles(text, profiles_file)} == names
    except UsageError:
        is_right = False
    if not is_right:
        raise otherwise
    return text
