"""Names of topics and ids of brokers for the completion of shells: two plain files, which the shell itself reads.

Every command that reads a cluster refreshes them, so completion never waits for one. They hold the names of the
cluster that was read last.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkabal.errors import OutputError
from kafkabal.files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkabal.model.cluster_state import ClusterState

TOPICS_FILE: Final = "topics"
BROKERS_FILE: Final = "brokers"
# a shell that is offered more is no help, and gets slow
_MOST_NAMES: Final = 10_000


def remember_names(cluster: ClusterState, folder: Path) -> None:
    """Write the two files; that this is not possible is no reason to fail."""
    topics = (name for name, internal in zip(cluster.topics.name, cluster.topics.internal, strict=True) if not internal)
    with suppress(OSError, OutputError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / TOPICS_FILE, topics)
        _write(folder / BROKERS_FILE, map(str, cluster.brokers.id.tolist()))


def _write(path: Path, names: Iterable[str]) -> None:
    lines = [f"{name}\n" for name, _ in zip(names, range(_MOST_NAMES), strict=False)]
    with replacing(path) as file:
        file.write("".join(lines).encode())
