"""A search that is continued by another process, such as the next hour of a machine that has other work too."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

from kafkabal.atomic_files import replacing
from tools.model_check.search import Progress

_CODE = ("kafkabal/executor", "kafkabal/clusters/simulated", "kafkabal/model", "kafkabal/plan", "tools/model_check")
"""What a state is made of: a function that stands in another line is in another state."""
_TOP = Path(__file__).parents[2]


class OtherCodeError(Exception):
    """The search was begun with other code, whose states cannot be compared with these."""


def load(path: Path, budget: int) -> Progress:
    """The search that a file holds, or a new one.

    Raises
    ------
    OtherCodeError
        If the executor has changed since, or the number of disturbances is another.
    """
    if not path.exists():
        return Progress.at_first(budget)
    with path.open("rb") as file:
        code, known, progress = pickle.load(file)
    if (code, known) != (_code(), budget):
        raise OtherCodeError(
            f"{path}: begun with other code or another number of disturbances; delete it to begin again"
        )
    found: Progress = progress
    return found


def save(path: Path, budget: int, progress: Progress) -> None:
    """Write down how far a search is."""
    with replacing(path) as file:
        pickle.dump((_code(), budget, progress), file, pickle.HIGHEST_PROTOCOL)


def _code() -> str:
    """A digest of the sources."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in _CODE for path in (_TOP / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
