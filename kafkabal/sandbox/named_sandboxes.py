"""The sandboxes of this user by name: brought up and found."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkabal.errors import UsageError
from kafkabal.sandbox.create_sandbox import bring_up
from kafkabal.sandbox.free_ports import is_listening
from kafkabal.sandbox.sandbox import PROFILE_FILE, Sandbox, remove_sandbox
from kafkabal.sandbox.sandbox_home import default_cache, default_home, make_folder
from kafkabal.sandbox.sandbox_record import RECORD_FILE, read_record, readable_records, recorded_folders
from kafkabal.sandbox.sandbox_spec import SandboxSpec
from kafkabal.sandbox.wait_until import WaitLimit

DEFAULT_NAME: Final = "default"
_SHOWN: Final = 40
"""Characters of a wrong text that an error shows, so that the message stays one line."""
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
    """Bring a sandbox up and return it when every broker is registered and answers.

    An existing one is completed: what is not running is started. If it does not come up its processes are
    ended, and its files are left to be looked at until it is taken down.

    Parameters
    ----------
    spec
        What it is to be made of; None for what an existing one is made of, else for the defaults.
    name
        Its name among the sandboxes of this user.
    home, cache_folder
        Where sandboxes and jars are kept, if not in the usual places.
    wait_limit
        How long to wait for its nodes.
    on_step
        Told what is being done, in a few words.

    Raises
    ------
    UsageError
        If there is one of that name that is made differently, or the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be had, or a node does not start.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"invalid sandbox name: {name!r}", hint="use up to 40 lower-case letters, digits, - _ .")
    make_folder(home or default_home())
    folder = _resolved(home) / name
    return bring_up(folder, spec, cache_folder or default_cache(), wait_limit=wait_limit, on_step=on_step)


def find_sandbox(name: str = DEFAULT_NAME, *, home: Path | None = None, cache_folder: Path | None = None) -> Sandbox:
    """Return the sandbox of that name, whatever its state.

    Raises
    ------
    UsageError
        If there is none.
    """
    return _opened(_folder_of(name, home), cache_folder)


def take_down(name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """Kill every process of a sandbox and remove every file of it, in whatever state it is.

    Raises
    ------
    UsageError
        If there is none of that name.
    OutputError
        If a file cannot be removed.
    """
    remove_sandbox(_folder_of(name, home))


def list_sandboxes(*, home: Path | None = None, cache_folder: Path | None = None) -> list[Sandbox]:
    """Return all sandboxes of this user by name, whatever their state."""
    return [_opened(folder, cache_folder) for folder in recorded_folders(_resolved(home))]


def sandboxes_up(*, home: Path | None = None) -> list[Path]:
    """Return the profiles of the sandboxes that listen, the one that was made last first.

    They are asked for by commands that are given no cluster, so this looks at no process and loads no Kafka library.
    """
    recorded = readable_records(_resolved(home))
    return [
        folder / PROFILE_FILE
        for folder, record in sorted(recorded, key=lambda pair: pair[1].created_at_s, reverse=True)
        if any(is_listening(node.main_port) for node in record.brokers)
    ]


def _resolved(home: Path | None) -> Path:
    # Path.resolve raises a RuntimeError for links that lead back to themselves
    return Path(os.path.realpath(home or default_home()))


def _folder_of(name: str, home: Path | None) -> Path:
    folder = _resolved(home) / name
    # any other name could lead out of the home
    if not _NAME.fullmatch(name) or not (folder / RECORD_FILE).is_file():
        known = ", ".join(path.name for path in recorded_folders(_resolved(home)))
        raise UsageError(
            f"unknown sandbox: {name[:_SHOWN]}",
            hint=f"choose from: {known}" if known else "start one with 'kafkabal sandbox up'",
        )
    return folder


def _opened(folder: Path, cache_folder: Path | None) -> Sandbox:
    return Sandbox(folder, read_record(folder), cache_folder or default_cache())
