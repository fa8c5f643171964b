"""Rows of brokers and topics: the lines of a snapshot file, and what every back end passes to the builder.

Names and meanings are those of the snapshot format, version 1. ``None`` means unknown. Decoding ignores unknown keys,
so that a later minor version can add some.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from kafkabal.input_files import Int32, Int64

SNAPSHOT_VERSION = 1

# limits that keep single values and sums within the columns' types; a file may contain anything
_Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**60), le=2**60)]
_Rate: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=2**63)]
_ClusterId: TypeAlias = Annotated[str, msgspec.Meta(max_length=250)]


class HeaderRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """First line of a snapshot: which cluster was read, when, and by which back end."""

    kafkabal_snapshot: int
    cluster_id: _ClusterId
    taken_at: str
    source: str = "kafka"
    reassignments_known: bool = True


class LogDirRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A log dir of a broker; ``total_bytes`` and ``usable_bytes`` are those of its volume (KIP-827)."""

    path: str
    total_bytes: _Bytes | None = None
    usable_bytes: _Bytes | None = None
    state: Literal["online", "offline", "cordoned"] = "online"
    volume: str | None = None


class BrokerRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A broker; ``log_dirs`` is empty if it is dead or did not respond."""

    broker: Int32
    rack: str | None = None
    host: str = ""
    port: Int32 = -1
    log_dirs: list[LogDirRow] = []
    state: Literal["online", "dead"] = "online"


class FutureRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica that is being copied to another log dir of the same broker (KIP-113)."""

    broker: Int32
    log_dir: Int32
    bytes: _Bytes


class PartitionRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A partition; ``sizes`` and ``log_dirs`` are parallel to ``replicas``, whose first is the preferred leader."""

    partition: Int32
    leader: Int32 = -1
    replicas: list[Int32]
    isr: list[Int32] | None = None
    sizes: list[_Bytes | None] | None = None
    log_dirs: list[Int32 | None] | None = None
    adding: list[Int32] = []
    removing: list[Int32] = []
    start_offset: Int64 | None = None
    end_offset: Int64 | None = None
    remote_bytes: _Bytes | None = None
    in_bytes_per_s: _Rate | None = None
    out_bytes_per_s: _Rate | None = None
    future: list[FutureRow] = []


class TopicRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A topic with all its partitions, in any order."""

    topic: str
    partitions: list[PartitionRow]
    configs: dict[str, str] | None = None
    internal: bool = False
    topic_id: str = ""
