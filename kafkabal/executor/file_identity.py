"""Tells whether a file that this process has open is still the one of its name: other programs may delete it."""

from __future__ import annotations

import os
from pathlib import Path


def is_missing(path: Path) -> bool:
    """Whether no file has this name; False if that cannot be known, as in a folder that may not be searched."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def is_still_named(path: Path, opened: os.stat_result) -> bool:
    """Whether a name still stands for the file that was opened by it; True if that cannot be known."""
    try:
        return os.path.samestat(path.stat(), opened)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
