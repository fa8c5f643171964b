"""Which manifest readers of a topic go by: one that is given, that of a file that all ranks share, or a new one."""

from __future__ import annotations

from pathlib import Path

from kafkabal.config import ConnectionSettings
from kafkabal.errors import UsageError
from kafkabal.reader.manifest import Manifest, lanes_for, load_manifest, publish_manifest


def pin(
    topic: str,
    connection: ConnectionSettings,
    *,
    readers: int = 1,
    count: bool | None = None,
    join: bool = True,
) -> Manifest:
    """Pin what a topic holds now, for so many readers; see :func:`~kafkabal.reader.pin_offsets.pin_topic`."""
    from kafkabal.clusters.kafka import KafkaCluster, RangeFetcher
    from kafkabal.reader.pin_offsets import pin_topic

    with KafkaCluster(connection) as cluster:
        return pin_topic(
            cluster,
            lambda topic_id: RangeFetcher(connection, topic, topic_id),
            topic,
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
    """The manifest that readers of a topic go by: the one given, that of the file, or one pinned now.

    Parameters
    ----------
    given
        A manifest, or the file of one; a file that is missing is written, by the first rank that comes.
    readers, ranks
        Readers in all, and the processes that they are in.

    Raises
    ------
    UsageError
        If it is of another topic, or several ranks have no file to agree by.
    """
    path = Path(given) if isinstance(given, str | Path) else None
    if isinstance(given, Manifest):
        found = given
    elif path is not None and path.exists():
        found = load_manifest(path)
    elif path is None and ranks > 1:
        raise UsageError(
            f"world_size {ranks} needs a manifest: ranks that pin the topic by themselves may pin different offsets",
            hint="give manifest=FILE, in a folder that all ranks see",
        )
    else:
        found = pin(topic, connection, readers=readers, count=count, join=join)
        found = found if path is None else publish_manifest(found, path)
    if found.topic != topic:
        raise UsageError(f"the manifest is of topic {found.topic}, not {topic}")
    return found
