"""Folders of the user of this process, and the folder of a cluster in one of them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal

from kafkabal.errors import ConfigError

_PROGRAM = "kafkabal"
_PLAIN_ID = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_HINT = "set HOME, or XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_CACHE_HOME, to absolute paths"


def user_folder(kind: Literal["config", "state", "cache"]) -> Path:
    """Where the profiles, what must be kept, or what can be regenerated is on this system.

    Raises
    ------
    ConfigError
        If the user has no home, as a container's user without a name.
    """
    import platformdirs

    try:
        found = Path(getattr(platformdirs, f"user_{kind}_dir")(_PROGRAM))
    except RuntimeError:
        found = Path()
    if not found.is_absolute():  # earlier versions of platformdirs return '~/...'
        raise ConfigError(
            f"cannot find the {kind} folder: HOME is not an absolute path, and this user has no home", hint=_HINT
        )
    return found


def cluster_folder(parent: Path, cluster_id: str) -> Path:
    """Folder for the files of one cluster; named by a hash if the id, which comes from outside, is not a plain name."""
    if _PLAIN_ID.fullmatch(cluster_id):
        return parent / cluster_id
    return parent / hashlib.sha256(cluster_id.encode(errors="surrogatepass")).hexdigest()
