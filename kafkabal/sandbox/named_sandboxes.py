"""Creates and finds the sandboxes of this user by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkabal.errors import InputFileError, UsageError
from kafkabal.input_files import exists
from kafkabal.sandbox.create_sandbox import bring_up
from kafkabal.sandbox.free_ports import is_listening
from kafkabal.sandbox.sandbox import PROFILE_FILE, Sandbox, remove_sandbox
from kafkabal.sandbox.sandbox_home import default_cache, default_home, make_folder
from kafkabal.sandbox.sandbox_record import RECORD_FILE, read_record, readable_records, recorded_folders
from kafkabal.sandbox.sandbox_spec import SandboxSpec
from kafkabal.sandbox.wait_limit import WaitLimit

DEFAULT_NAME: Final = "default"
_SHOWN: Final = 40
"""Characters of an invalid name that an error shows, so that the message stays one line."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


def up(
    spec: SandboxSpec | None = None,
    name: str = DEFAULT_NAME,
    *,
    home: Path | None = None,
    cache_folder: Path | None = None,
    wait_limit: WaitLimit = WaitLimit(),  # noqa: B008 - frozen
    on_step: Callable[[str], None] = lambda _step: None,
) -> Sandbox:
    """Start a sandbox, and return it once every broker is registered and responds.

    If it exists, only the nodes that are not running are started. If the start fails, its processes are killed, but its
    files are kept for inspection until it is taken down.

    Parameters
    ----------
    spec
        Its specification; None for that of the existing sandbox, or else the defaults.
    name
        Its name among the sandboxes of this user.
    home, cache_folder
        Where sandboxes and jars are stored, if not in the usual places.
    wait_limit
        How long to wait for its nodes.
    on_step
        Called with a few words about each step.

    Raises
    ------
    UsageError
        If a sandbox of that name has another specification, or the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be fetched, or a node does not start.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"invalid sandbox name: {name!r}", hint="use up to 40 lower-case letters, digits, '-', '_' and '.'"
        )
    make_folder(home or default_home())
    folder = _resolved(home) / name
    return bring_up(folder, spec, cache_folder or default_cache(), wait_limit=wait_limit, on_step=on_step)


def find_sandbox(name: str = DEFAULT_NAME, *, home: Path | None = None, cache_folder: Path | None = None) -> Sandbox:
    """The sandbox of that name, whatever its state.

    Raises
    ------
    UsageError
        If the name is unknown.
    """
    folder = _folder_of(name, home)
    return Sandbox(folder, read_record(folder), cache_folder or default_cache())


def take_down(name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """Kill all processes of a sandbox and remove all its files, whatever its state.

    Raises
    ------
    UsageError
        If the name is unknown.
    OutputError
        If a file cannot be removed.
    """
    remove_sandbox(_folder_of(name, home))


def list_sandboxes(
    *, home: Path | None = None, on_damaged: Callable[[InputFileError], None] | None = None
) -> list[Sandbox]:
    """All sandboxes of this user by name, whatever their state.

    With ``on_damaged``, those whose record is damaged are passed to it and left out; without it, the first is raised.

    Raises
    ------
    InputFileError
        If the record of one is damaged.
    """
    found = []
    for folder in recorded_folders(_resolved(home)):
        try:
            found.append(Sandbox(folder, read_record(folder), default_cache()))
        except InputFileError as error:
            if on_damaged is None:
                raise
            on_damaged(error)
    return found


def sandboxes_up(*, home: Path | None = None) -> list[Path]:
    """Profiles of the sandboxes that accept connections, the newest first.

    Called by commands without a given cluster, so this inspects no processes and loads no Kafka library.
    """
    recorded = readable_records(_resolved(home))
    return [
        folder / PROFILE_FILE
        for folder, record in sorted(recorded, key=lambda pair: pair[1].created_at_s, reverse=True)
        if any(is_listening(node.main_port) for node in record.brokers)
    ]


def _resolved(home: Path | None) -> Path:
    # Path.resolve raises RuntimeError for circular links
    return Path(os.path.realpath(home or default_home()))


def _folder_of(name: str, home: Path | None) -> Path:
    folder = _resolved(home) / name
    # any other name could point outside the home
    if not _NAME.fullmatch(name) or not exists(folder / RECORD_FILE):
        known = ", ".join(path.name for path in recorded_folders(_resolved(home)))
        raise UsageError(
            f"unknown sandbox: {name[:_SHOWN]}",
            hint=f"choose from: {known}" if known else "start one with 'kafkabal sandbox up'",
        )
    return folder
