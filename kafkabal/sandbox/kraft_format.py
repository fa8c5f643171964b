"""Formats KRaft storage without starting a JVM for each node.

In each formatted dir ``meta.properties`` names the cluster, the node and the dir. Beside that of the metadata is a
checkpoint of the records that a new cluster starts with (its feature levels); it is the same for every cluster of a
version, so the one that Kafka's own tool wrote once is reused.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

_CHECKPOINTS: Final = ("bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint")
"""Where Kafka's tool writes the checkpoint: the first until 4.3, the second from 4.4 on (KIP-1170)."""


class BootstrapCheckpoint(NamedTuple):
    """The records that a new KRaft cluster of a version starts with."""

    path: str
    """Below the dir of the metadata: one of :data:`_CHECKPOINTS`."""
    records: bytes


def new_kafka_uuid() -> str:
    """A random id in Kafka's format: 22 characters, without a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not text.startswith("-"):
            return text


def checkpoint_in(metadata: Path) -> BootstrapCheckpoint | None:
    """The checkpoint in a formatted dir of metadata; None if there is none."""
    path = next((path for path in _CHECKPOINTS if (metadata / path).is_file()), None)
    return None if path is None else BootstrapCheckpoint(path, (metadata / path).read_bytes())


def format_dirs(
    metadata: Path, log_dirs: Iterable[Path], cluster_id: str, node_id: int, checkpoint: BootstrapCheckpoint
) -> None:
    """Create the dirs of a node, formatted so that its broker or controller accepts them."""
    for folder in (metadata, *log_dirs):
        folder.mkdir(parents=True)
        (folder / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_kafka_uuid()}\n",
            encoding="ascii",
        )
    target = metadata / checkpoint.path
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(checkpoint.records)
