"""Builds a snapshot from the output of Kafka's own tools, for hosts where nothing else is available.

``TopicCommand --describe`` prints a line for each topic and one for each of its partitions; ``LogDirsCommand
--describe`` prints two lines of text and one of JSON, without racks or volume sizes. ``ReassignPartitionsCommand``
reads and prints JSON assignments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kafkabal.clusters.own_topics import is_own_topic
from kafkabal.errors import InputFileError, InvalidClusterError
from kafkabal.input_files import DOCUMENT, Int32, Int64, decode_json, empty_file, read_text
from kafkabal.json_decoders import json_decoder
from kafkabal.model import (
    SNAPSHOT_VERSION,
    BrokerRow,
    ClusterState,
    FutureRow,
    HeaderRow,
    LogDirRow,
    PartitionRow,
    TopicRow,
    build_cluster,
)

_FIELDS = (
    "TopicId",
    "Topic",
    "PartitionCount",
    "ReplicationFactor",
    "Configs",
    "Partition",
    "Leader",
    "Replicas",
    "Isr",
    "Adding Replicas",
    "Removing Replicas",
    "Elr",
    "LastKnownElr",
    "Offline",
    "MarkedForDeletion",
)
_FIELD = re.compile(rf"(?:^|\s+)({'|'.join(_FIELDS)}):[ \t]?")
_STORAGE_ERROR = "KafkaStorageException"
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""``Topic.INTERNAL_TOPICS`` of Apache Kafka. Its tools do not print which topics are internal; if these counted as
normal topics, they would be moved without being asked for."""


class _Log(msgspec.Struct, frozen=True, rename="camel"):
    partition: str
    size: Int64
    is_future: bool = False


class _Dir(msgspec.Struct, frozen=True, rename="camel"):
    log_dir: str
    error: str | None = None
    partitions: tuple[_Log, ...] = ()


class _Broker(msgspec.Struct, frozen=True, rename="camel"):
    broker: Int32
    log_dirs: tuple[_Dir, ...]


class _LogDirs(msgspec.Struct, frozen=True):
    brokers: tuple[_Broker, ...]


class _Placed(msgspec.Struct, frozen=True):
    topic: str
    partition: Int32
    replicas: tuple[Int32, ...]


class _Assignment(msgspec.Struct, frozen=True):
    partitions: tuple[_Placed, ...]


def read_kafka_text(topics: Path, log_dirs: Path | None, *, cluster_id: str, taken_at: str) -> ClusterState:
    """Read the output of Kafka's tools.

    A broker counts as live if it reports its log dirs, leads a partition or is in an ISR. Racks, hosts and volume sizes
    are not in these texts.

    Parameters
    ----------
    topics
        Output of ``TopicCommand --describe``, or JSON of ``ReassignPartitionsCommand``, which lists the brokers of each
        partition but not which of them are live: all then count as live and in sync, and the first as the leader.
    log_dirs
        Output of ``LogDirsCommand --describe``; without it, sizes are unknown.
    taken_at
        When it was printed: ISO 8601, UTC.

    Raises
    ------
    InputFileError
        If a line is not output of these tools, they name no broker, or the two texts contradict each other.
    """
    lines = _lines(topics)
    described = _read_assignment(topics, lines) if _has_json(lines) else _read_topics(topics, lines)
    reported = _read_log_dirs(log_dirs) if log_dirs is not None else ()
    header = HeaderRow(kafkabal_snapshot=SNAPSHOT_VERSION, cluster_id=cluster_id, taken_at=taken_at)
    sizes = _Sizes(reported)
    rows = [
        msgspec.structs.replace(topic, partitions=[sizes.complete(topic.topic, p) for p in topic.partitions])
        for topic in described
    ]
    brokers = _brokers(reported, described)
    if not brokers:
        raise InputFileError(topics, "contains no brokers")
    try:
        return build_cluster(header, brokers, rows)
    except InvalidClusterError as error:
        raise InputFileError(topics, error.message) from error
    except OverflowError as error:
        raise InputFileError(topics, f"number out of range: {error}") from error


def _has_json(lines: Iterable[str]) -> bool:
    return any(line.lstrip().startswith("{") for line in lines)


def _read_assignment(path: Path, lines: Sequence[str]) -> list[TopicRow]:
    """Read the first JSON of the text: the current assignment, if ``--generate`` printed a proposed one too."""
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("{"))
    end = next((i for i in range(first + 1, len(lines)) if not lines[i].strip()), len(lines))
    text = "\n".join(lines[first:end]).encode()
    what = "not JSON of ReassignPartitionsCommand"
    rows: dict[str, TopicRow] = {}
    for placed in decode_json(json_decoder(_Assignment), text, path, what).partitions:
        row = rows.setdefault(placed.topic, _topic(placed.topic))
        leader = placed.replicas[0] if placed.replicas else -1
        row.partitions.append(
            PartitionRow(
                partition=placed.partition, leader=leader, replicas=list(placed.replicas), isr=list(placed.replicas)
            )
        )
    return list(rows.values())


def _read_topics(path: Path, lines: Iterable[str]) -> list[TopicRow]:
    rows: dict[str, TopicRow] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        given = _fields(line)
        try:
            if "Partition" in given:
                rows[given["Topic"]].partitions.append(_partition(given))
            else:
                rows[given["Topic"]] = _topic(
                    given["Topic"], topic_id=given.get("TopicId", ""), configs=_configs(given.get("Configs", ""))
                )
        except (KeyError, ValueError) as error:
            raise InputFileError(path, "not output of TopicCommand --describe", line=number) from error
    return list(rows.values())


def _topic(name: str, **known: Any) -> TopicRow:
    return TopicRow(topic=name, partitions=[], internal=name in _INTERNAL or is_own_topic(name), **known)


def _fields(line: str) -> Mapping[str, str]:
    parts = _FIELD.split(line)
    return {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}


def _partition(given: Mapping[str, str]) -> PartitionRow:
    return PartitionRow(
        partition=int(given["Partition"]),
        leader=-1 if given["Leader"] == "none" else int(given["Leader"]),
        replicas=_ids(given["Replicas"]),
        isr=_ids(given["Isr"]),
        adding=_ids(given.get("Adding Replicas", "")),
        removing=_ids(given.get("Removing Replicas", "")),
    )


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def _configs(text: str) -> dict[str, str]:
    """Parse ``key=value,key=value``; a part without a key belongs to the previous value."""
    found: dict[str, str] = {}
    last = ""
    for part in text.split(",") if text else ():
        key, given, value = part.partition("=")
        if given:
            found[key], last = value, key
        else:
            found[last] += f",{part}"
    return found


def _lines(path: Path) -> list[str]:
    text = read_text(path, DOCUMENT)
    if not text.strip():
        # a tool that fails prints nothing
        raise empty_file(path)
    return text.splitlines()


def _read_log_dirs(path: Path) -> tuple[_Broker, ...]:
    lines = _lines(path)
    number, line = next(((i, text) for i, text in enumerate(lines, 1) if text.startswith("{")), (None, ""))
    if number is None:
        raise InputFileError(path, "no JSON line as printed by LogDirsCommand --describe")
    what = "is not what LogDirsCommand --describe prints"
    brokers = decode_json(json_decoder(_LogDirs), line.encode(), path, what, line=number).brokers
    for broker, d in ((b, d) for b in brokers for d in b.log_dirs):
        # a failed dir is offline; any other error means that the broker reported nothing at all
        if d.error is not None and not d.error.endswith(_STORAGE_ERROR):
            raise InputFileError(path, f"broker {broker.broker} reported no log dirs: {d.error}", line=number)
    return brokers


def _brokers(reported: Iterable[_Broker], topics: Iterable[TopicRow]) -> list[BrokerRow]:
    dirs = {b.broker: [_dir_row(d) for d in b.log_dirs] for b in reported}
    seen = {b for t in topics for p in t.partitions for b in (*(p.isr or ()), p.leader) if b >= 0}
    return [BrokerRow(broker=b, log_dirs=dirs.get(b, [])) for b in sorted(seen | set(dirs))]


def _dir_row(d: _Dir) -> LogDirRow:
    return LogDirRow(path=d.log_dir, state="online" if d.error is None else "offline")


class _Sizes:
    """Log dir and size of each replica, by broker and partition."""

    def __init__(self, reported: Iterable[_Broker]) -> None:
        self._logs: dict[tuple[int, str], tuple[int, int]] = {}
        self._futures: dict[str, list[FutureRow]] = {}
        for b in reported:
            for index, log in ((i, log) for i, d in enumerate(b.log_dirs) for log in d.partitions):
                if log.is_future:
                    future = FutureRow(broker=b.broker, log_dir=index, bytes=log.size)
                    self._futures.setdefault(log.partition, []).append(future)
                else:
                    self._logs[b.broker, log.partition] = (log.size, index)

    def complete(self, topic: str, row: PartitionRow) -> PartitionRow:
        """The partition with its known log dirs and sizes."""
        name = f"{topic}-{row.partition}"
        logs = [self._logs.get((b, name)) for b in row.replicas]
        return msgspec.structs.replace(
            row,
            sizes=[log[0] if log else None for log in logs],
            log_dirs=[log[1] if log else None for log in logs],
            future=[f for f in self._futures.get(name, []) if f.broker in row.replicas],
        )
