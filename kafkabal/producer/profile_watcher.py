"""The scores of a profile that may be edited while records are sent."""

from collections.abc import Callable
from pathlib import Path

from kafkabal.errors import UsageError
from kafkabal.scoring import WeightedScore


class ProfileWatcher:
    """Reloads the scores of a profile whenever its file changes.

    Parameters
    ----------
    path
        The file; None if no profile is used, so that nothing ever changes.
    load
        Reads the scores; raises UsageError if the file is invalid.
    changed, ignored
        Called with the new scores, or with the error of an invalid file.
    """

    def __init__(
        self,
        path: Path | None,
        load: Callable[[], tuple[WeightedScore, ...]],
        *,
        changed: Callable[[tuple[WeightedScore, ...]], None],
        ignored: Callable[[UsageError], None],
    ) -> None:
        self._path = path
        self._load = load
        self._changed = changed
        self._ignored = ignored
        self._modified_ns = self._modification_time_ns()

    def new_scores(self) -> tuple[WeightedScore, ...] | None:
        """The scores of the profile if its file has changed since the last call and is valid; else None."""
        modified_ns = self._modification_time_ns()
        if modified_ns == self._modified_ns:
            return None
        self._modified_ns = modified_ns
        try:
            scores = self._load()
        except UsageError as error:
            self._ignored(error)
            return None
        self._changed(scores)
        return scores

    def _modification_time_ns(self) -> int:
        try:
            return self._path.stat().st_mtime_ns if self._path else 0
        except OSError:
            return 0  # an editor is replacing the file right now
