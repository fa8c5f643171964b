"""Saves a search for another process to resume, for example on a machine that has other work too."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

from kafkabal.atomic_files import replacing
from tools.model_check.search import Progress

_CODE = ("kafkabal/executor", "kafkabal/clusters/simulated", "kafkabal/model", "kafkabal/plan", "tools/model_check")
"""The code that states depend on: moving a function to another line changes its states."""
_TOP = Path(__file__).parents[2]


class OtherCodeError(Exception):
    """The search was started with other code, whose states cannot be compared with the current ones."""


def load(path: Path, new: Progress) -> Progress:
    """Load the search from a file, or start this one.

    Raises
    ------
    OtherCodeError
        If the code has changed since, or the number or kinds of disturbances differ.
    """
    if not path.exists():
        return new
    with path.open("rb") as file:
        code, saved = pickle.load(file)
    if (code, _disturbances(saved)) != (_code(), _disturbances(new)):
        raise OtherCodeError(f"{path}: begun with other code or other disturbances; delete it to begin again")
    found: Progress = saved
    return found


def save(path: Path, progress: Progress) -> None:
    """Save the progress of a search."""
    with replacing(path) as file:
        pickle.dump((_code(), progress), file, pickle.HIGHEST_PROTOCOL)


def _disturbances(progress: Progress) -> tuple[int, bool]:
    return len(progress.waiting) - 1, progress.is_ordinary


def _code() -> str:
    """A digest of the sources."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in _CODE for path in (_TOP / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
