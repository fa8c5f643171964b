"""Chooses the manifest for the readers of a topic: a given one, that of a file shared by all ranks, or a new one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkabal.atomic_files import check_replaceable
from kafkabal.config import ConnectionSettings
from kafkabal.errors import UsageError
from kafkabal.input_files import exists
from kafkabal.reader.log_counting import LoggedCounting
from kafkabal.reader.manifest import Manifest, lanes_for, load_manifest, publish_manifest


def pin(
    topic: str,
    connection: ConnectionSettings,
    *,
    readers: int = 1,
    count: bool | None = None,
    join: bool = True,
    counting: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Pin the current content of a topic, for this many readers; see :func:`~kafkabal.reader.pin_offsets.pin_topic`.

    Without ``counting``, the log says if the whole topic has to be read first.
    """
    from kafkabal.clusters.kafka import KafkaCluster, RangeFetcher, ReplicaLocations
    from kafkabal.reader.pin_offsets import pin_topic

    located = ReplicaLocations()
    with KafkaCluster(connection) as cluster:
        return pin_topic(
            cluster,
            lambda topic_id: RangeFetcher(connection, topic, topic_id, located=located, is_pinned=False),
            topic,
            counting=counting or LoggedCounting(topic, time.monotonic),
            lanes=lanes_for(readers),
            count=count,
            join=join,
        )


def manifest_of(
    topic: str,
    connection: ConnectionSettings,
    given: Manifest | str | Path | None,
    *,
    count: bool | None,
    join: bool,
    readers: int,
    ranks: int,
) -> Manifest:
    """The manifest for the readers of a topic: the given one, that of the file, or one pinned now.

    Parameters
    ----------
    given
        A manifest, or the path of one; a missing file is written by the first rank that needs it.
    readers, ranks
        Number of all readers, and of the processes they run in.

    Raises
    ------
    UsageError
        If the topic is not text, the manifest is of another topic or was pinned with other options, or several ranks
        have no common file.
    OutputError
        If the file is missing and cannot be written.
    """
    named: Any = topic
    if not isinstance(named, str):  # None, from a variable that is not set, would ask for all topics
        raise UsageError(f"topic: must be a name ({named!r:.40})")
    path = Path(given) if isinstance(given, str | Path) else None
    if isinstance(given, Manifest):
        found = given
    elif path is None and given is not None:
        raise UsageError(f"manifest: neither a manifest nor a file: {given!r:.40}")
    elif path is not None and exists(path):
        found = load_manifest(path)
    elif path is None and ranks > 1:
        raise UsageError(
            f"world_size {ranks} needs a manifest: ranks that pin the topic by themselves may pin different offsets",
            hint="give manifest=FILE, in a folder that all ranks see",
        )
    else:
        if path is not None:
            check_replaceable(path)
        found = pin(topic, connection, readers=readers, count=count, join=join)
        found = found if path is None else publish_manifest(found, path)
    if found.topic != topic:
        raise UsageError(f"the manifest is of topic {found.topic}, not {topic}")
    if count and found.is_dense:
        raise _pinned_otherwise(path, "without counting its records, so count=True has no effect")
    if not join and found.files is not None:
        raise _pinned_otherwise(path, "as whole files, so join=False has no effect")
    return found


def _pinned_otherwise(path: Path | None, how: str) -> UsageError:
    old = "it" if path is None else str(path)
    return UsageError(f"the manifest pins the topic {how}", hint=f"remove {old} and its states to pin the topic again")
