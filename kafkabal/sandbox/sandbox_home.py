"""Where sandboxes and their jars are stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkabal.errors import OutputError
from kafkabal.input_files import absolute_path
from kafkabal.user_folders import user_folder
from kafkabal.wording import system_fault

HOME_VARIABLE: Final = "KAFKABAL_SANDBOX_HOME"


def home_of(environ: Mapping[str, str], state_folder: Path) -> Path:
    """Folder of all sandboxes: ``$KAFKABAL_SANDBOX_HOME``, else a folder in kafkabal's state folder."""
    override = environ.get(HOME_VARIABLE)
    return absolute_path(override) if override else state_folder / "sandboxes"


def cache_of(cache_folder: Path) -> Path:
    """Folder in kafkabal's cache for what is fetched or computed once for all sandboxes."""
    return cache_folder / "sandbox"


def default_home() -> Path:
    """Folder of all sandboxes of the user of this process, see :func:`home_of`."""
    return home_of(os.environ, user_folder("state"))


def default_cache() -> Path:
    """Cache folder for all sandboxes of the user of this process, see :func:`cache_of`."""
    return cache_of(user_folder("cache"))


def make_folder(folder: Path) -> Path:
    """Create a folder and its parents, readable by the owner only.

    Raises
    ------
    OutputError
        If it cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the folder {folder}: {system_fault(error)}") from error
    return folder
