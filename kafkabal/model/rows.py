"""One record a broker and one a topic: the lines of a snapshot file, and what every back end hands to the builder.

The names and meanings are those of the snapshot format, version 1. ``None`` means not known. Unknown keys are
ignored when a row is decoded, so that a later minor version can add some.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SNAPSHOT_VERSION = 1


class HeaderRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """First line of a snapshot: which cluster, when, and where it was read."""

    kafkabal_snapshot: int
    cluster_id: str
    taken_at: str
    source: str = "kafka"


class LogDirRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A log dir of a broker; ``total_bytes`` and ``usable_bytes`` are those of its volume (KIP-827)."""

    path: str
    total_bytes: int | None = None
    usable_bytes: int | None = None
    state: Literal["online", "offline", "cordoned"] = "online"
    volume: str | None = None


class BrokerRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A broker; ``log_dirs`` is empty where it did not answer or is dead."""

    broker: int
    rack: str | None = None
    host: str = ""
    port: int = -1
    log_dirs: list[LogDirRow] = []
    state: Literal["online", "dead"] = "online"


class FutureRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A copy on its way to another log dir of the same broker (KIP-113)."""

    broker: int
    log_dir: int
    bytes: int


class PartitionRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A partition; ``sizes`` and ``log_dirs`` follow ``replicas``, whose first is the preferred leader."""

    partition: int
    leader: int = -1
    replicas: list[int]
    isr: list[int] | None = None
    sizes: list[int | None] | None = None
    log_dirs: list[int | None] | None = None
    adding: list[int] = []
    removing: list[int] = []
    start_offset: int | None = None
    end_offset: int | None = None
    in_bytes_per_s: float | None = None
    out_bytes_per_s: float | None = None
    future: list[FutureRow] = []


class TopicRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A topic with all its partitions, in any order."""

    topic: str
    partitions: list[PartitionRow]
    configs: dict[str, str] | None = None
    internal: bool = False
