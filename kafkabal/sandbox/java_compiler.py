"""A compiler for Java that runs on the sandbox's Java runtime, which has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkabal.sandbox.jars import ensure_locked
from kafkabal.sandbox.pinned_jars import LockedJar

_COMPILER: Final = LockedJar(
    "org.eclipse.jdt", "ecj", "3.40.0", "05cc22a24e7982970f63a405fc6c820bc80b806f27f3c5a6236fc475f8f7152b"
)


def ensure_java_compiler(cache_folder: Path, *, on_step: Callable[[str], None] = lambda _step: None) -> Path:
    """Return the verified jar of the Eclipse compiler for Java, fetching it if it is not in the cache.

    Raises
    ------
    UsageError
        If the extra ``sandbox`` is not installed.
    OperationError
        If it cannot be fetched, or does not have the checksum that it must have.
    """
    (jar,) = ensure_locked([_COMPILER], cache_folder, on_step=on_step)
    return jar
