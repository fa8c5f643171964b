"""Two brokers that only send: topics of equal records, in batches of 1 MB, from files in the page cache.

A real broker takes as much processor time as its reader; these take little, so that the client's own cost shows.
"""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from random import Random
from typing import Any
from uuid import UUID

from crc32c import crc32c
from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

from kafkabal.clusters.kafka.lazy_records import packed_varint

PARTITIONS = 4
BROKERS = (1, 2)
_BATCH_BYTES = 1_000_000
_HEAD, _CHECKED = struct.Struct(">qiibI"), struct.Struct(">hiqqqhii")
_BEFORE_LENGTH_ENDS = 12
_EARLIEST = -2
_FETCH_VERSION = 11
"""The last version that names topics and has no tagged fields."""
_VERSIONS = {
    FetchRequest: (_FETCH_VERSION, _FETCH_VERSION),
    ListOffsetsRequest: (1, 5),
    MetadataRequest: (1, 12),
    ApiVersionsRequest: (0, 3),
    DescribeConfigsRequest: (1, 2),
}
_KINDS: Mapping[int, Any] = {kind.API_KEY: kind for kind in _VERSIONS}


def topic_of(record_bytes: int) -> str:
    """The name of the topic with records of this size."""
    return f"records-of-{record_bytes}"


def topic_id_of(record_bytes: int) -> UUID:
    """The id of the topic with records of this size."""
    return UUID(int=record_bytes)


@dataclass(slots=True)
class _Log:
    """The content of each partition of a topic."""

    topic_id: UUID
    end: int
    file: Any = field(default_factory=tempfile.TemporaryFile)
    first: list[int] = field(default_factory=list)
    """Offset of each batch."""
    begin: list[int] = field(default_factory=list)
    """Position of each batch in the file, and of the end."""

    @classmethod
    def filled(cls, record_bytes: int, records: int) -> _Log:
        log = cls(topic_id_of(record_bytes), records)
        values = [Random(number).randbytes(record_bytes) for number in range(8)]
        for first in range(0, records, _BATCH_BYTES // record_bytes):
            count = min(_BATCH_BYTES // record_bytes, records - first)
            log.first.append(first)
            log.begin.append(log.file.tell())
            log.file.write(_batch(first, [values[(first + at) % 8] for at in range(count)]))
        log.begin.append(log.file.tell())
        log.file.flush()
        return log

    def span(self, offset: int, most_bytes: int) -> tuple[int, int]:
        """Positions of the response to a fetch from an offset: at least the first batch."""
        if offset >= self.end:
            return 0, 0
        at = bisect_right(self.first, offset) - 1
        return self.begin[at], max(self.begin[at + 1], min(self.begin[at] + most_bytes, self.begin[-1]))


def _batch(first: int, values: list[bytes]) -> bytes:
    records = bytearray()
    for at, value in enumerate(values):
        body = (
            b"\0"
            + packed_varint(at)
            + packed_varint(at)
            + packed_varint(-1)
            + packed_varint(len(value))
            + value
            + b"\0"
        )
        records += packed_varint(len(body)) + body
    last = len(values) - 1
    checked = _CHECKED.pack(0, last, 1000, 1000 + last, -1, -1, -1, len(values)) + records
    length = _HEAD.size - _BEFORE_LENGTH_ENDS + len(checked)
    return _HEAD.pack(first, length, 0, 2, crc32c(checked)) + checked


class _Broker:
    """Responds on a port of its own."""

    def __init__(self, logs: Mapping[str, _Log], ports: dict[int, int], number: int) -> None:
        self._logs, self._ports = logs, ports
        self._server = socket.create_server(("127.0.0.1", 0))
        ports[number] = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._server.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while head := stream.read(4):
                frame = stream.read(*struct.unpack(">i", head))
                key, version, number = struct.unpack_from(">hhi", frame)
                if key not in _KINDS:
                    continue  # such as the group coordinator, which no reader needs
                kind = _KINDS[key]
                request = kind.decode(frame, version=min(version, kind.max_version), header=True)
                if kind is FetchRequest:
                    self._send(connection, number, request)
                    continue
                answer = self._answer(kind, request, version)
                answer.with_header(correlation_id=number)
                connection.sendall(answer.encode(header=True, framed=True))

    def _send(self, connection: socket.socket, number: int, request: Any) -> None:
        left, parts = request.max_bytes, []
        for topic in request.topics:
            for asked in topic.partitions:
                log = self._logs[topic.topic]
                span = log.span(asked.fetch_offset, min(left, asked.partition_max_bytes)) if left > 0 else (0, 0)
                left -= span[1] - span[0]
                name = struct.pack(">h", len(topic.topic)) + topic.topic.encode()
                fields = (1, asked.partition, 0, log.end, log.end, 0, -1, -1, span[1] - span[0])
                parts.append((name + struct.pack(">iihqqqiii", *fields), log, span))
        if all(begin == end for *_, (begin, end) in parts):
            threading.Event().wait(request.max_wait_ms / 1000)
        head = struct.pack(">iihii", number, 0, 0, 0, len(parts))
        size = len(head) + sum(len(fields) + end - begin for fields, _, (begin, end) in parts)
        connection.sendall(struct.pack(">i", size) + head)
        for fields_of_partition, log, (begin, end) in parts:
            connection.sendall(fields_of_partition)
            while begin < end:
                begin += os.sendfile(connection.fileno(), log.file.fileno(), begin, end - begin)

    def _answer(self, kind: Any, request: Any, version: int) -> Any:
        if kind is ApiVersionsRequest:
            return self._versions(version)
        answer = {MetadataRequest: self._metadata, ListOffsetsRequest: self._offsets, DescribeConfigsRequest: _configs}[
            kind
        ](request)
        answer.API_VERSION = version
        return answer

    def _versions(self, version: int) -> Any:
        newest = _VERSIONS[ApiVersionsRequest][1]
        of = ApiVersionsResponse.ApiVersion
        # librdkafka takes brokers without the API versions for producers and groups for ancient ones
        offered = {**BROKER_API_VERSIONS[4, 1], **{kind.API_KEY: versions for kind, versions in _VERSIONS.items()}}
        keys = [of(api_key=key, min_version=low, max_version=high) for key, (low, high) in offered.items()]
        found = ApiVersionsResponse(error_code=0 if version <= newest else 35, api_keys=keys)
        found.API_VERSION = version if version <= newest else 0
        return found

    def _metadata(self, request: Any) -> Any:
        of_topic, of_broker = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponseBroker
        named = list(self._logs) if request.topics is None else [topic.name for topic in request.topics]
        topics = []
        for name in named:
            partitions = []
            for partition in range(PARTITIONS):
                leader = BROKERS[partition % len(BROKERS)]
                row = {"error_code": 0, "partition_index": partition, "leader_id": leader, "leader_epoch": 0}
                held = {"replica_nodes": [leader], "isr_nodes": [leader], "offline_replicas": []}
                partitions.append(of_topic.MetadataResponsePartition(**row, **held))
            topic_id = self._logs[name].topic_id
            topics.append(
                of_topic(error_code=0, name=name, topic_id=topic_id, is_internal=False, partitions=partitions)
            )
        brokers = [of_broker(node_id=i, host="127.0.0.1", port=port, rack=None) for i, port in self._ports.items()]
        return MetadataResponse(
            throttle_time_ms=0, brokers=brokers, cluster_id="sending", controller_id=1, topics=topics
        )

    def _offsets(self, request: Any) -> Any:
        of_topic = ListOffsetsResponse.ListOffsetsTopicResponse
        topics = []
        for topic in request.topics:
            end = self._logs[topic.name].end
            partitions = [
                of_topic.ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index,
                    error_code=0,
                    timestamp=-1,
                    offset=0 if asked.timestamp == _EARLIEST else end,
                    leader_epoch=0,
                )
                for asked in topic.partitions
            ]
            topics.append(of_topic(name=topic.name, partitions=partitions))
        return ListOffsetsResponse(throttle_time_ms=0, topics=topics)


def _configs(request: Any) -> Any:
    of = DescribeConfigsResponse.DescribeConfigsResult
    results = [
        of(error_code=0, error_message=None, resource_type=r.resource_type, resource_name=r.resource_name, configs=[])
        for r in request.resources
    ]
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def serve(records: Mapping[int, int], ready: Connection) -> None:
    """Serve topics until the process is killed; runs in a process of its own.

    Parameters
    ----------
    records
        By record size, the number of records in each of the four partitions.
    ready
        Receives ``host:port`` of a broker.
    """
    logs = {topic_of(size): _Log.filled(size, count) for size, count in records.items()}
    ports: dict[int, int] = {}
    for number in BROKERS:
        _Broker(logs, ports, number)
    ready.send(f"127.0.0.1:{ports[BROKERS[0]]}")
    threading.Event().wait()
