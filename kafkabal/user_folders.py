"""Folders of the user of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kafkabal.errors import ConfigError

_PROGRAM = "kafkabal"
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
