"""A Prometheus textfile that is written again and again by something that must not fail because of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkabal.atomic_files import replacing
from kafkabal.errors import OutputError


class TextfileWriter:
    """Replaces a textfile as a whole; :meth:`write` raises nothing.

    Parameters
    ----------
    path
        Read by the textfile collector of the node exporter.
    warn
        Called once in a row of failures to write the file, which may be writable again the next time.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._path, self._warn, self._is_warned = path, warn, False

    def write(self, metrics: bytes) -> None:
        """Put these metrics in place of the earlier ones, which stay where that fails."""
        try:
            with replacing(self._path) as file:
                file.write(metrics)
        except OutputError as error:
            if not self._is_warned:
                self._warn(error.message)
            self._is_warned = True
        else:
            self._is_warned = False
