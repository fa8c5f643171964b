"""Formats KRaft storage without starting a JVM for each node.

A formatted dir holds two files. ``meta.properties`` names the cluster, the node and the dir. ``bootstrap.checkpoint``
holds the records that a new cluster starts with (its feature levels); it is the same for every cluster of a version, so
the one that Kafka's own tool wrote once is reused.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Final

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"


def new_kafka_uuid() -> str:
    """A random id in Kafka's format: 22 characters, without a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not text.startswith("-"):
            return text


def format_dirs(dirs: Iterable[Path], cluster_id: str, node_id: int, bootstrap_checkpoint: bytes) -> None:
    """Create the dirs of a node, formatted so that its broker or controller accepts them."""
    for folder in dirs:
        folder.mkdir(parents=True)
        (folder / BOOTSTRAP_CHECKPOINT).write_bytes(bootstrap_checkpoint)
        (folder / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_kafka_uuid()}\n",
            encoding="ascii",
        )
