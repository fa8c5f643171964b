"""Reads a snapshot file into a :class:`~kafkabal.model.cluster_state.ClusterState`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from kafkabal.errors import InputFileError, InvalidClusterError
from kafkabal.input_files import ROWS, FormatVersion, InputFile, empty_file, open_input
from kafkabal.json_decoders import json_decoder
from kafkabal.model import SNAPSHOT_VERSION, BrokerRow, ClusterState, HeaderRow, TopicRow, build_cluster

_NO_RECORD = "invalid record"
_NO_SNAPSHOT = "not a kafkabal snapshot"
# how our writer starts a topic line; the kind of other lines is decoded first
_TOPIC_START = b'{"topic":'


def read_snapshot(path: Path | str) -> ClusterState:
    """Read a snapshot file, gzipped or not.

    Raises
    ------
    InputFileError
        If the file cannot be opened, is not a snapshot, has a newer version, or one of its lines is malformed or
        contradicts another; the message names the line.
    """
    with open_input(path, ROWS) as file:
        return _SnapshotFile(file).read()


class _Version(msgspec.Struct):
    kafkabal_snapshot: FormatVersion | None = None


class _Kind(msgspec.Struct):
    topic: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    broker: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    kafkabal_snapshot: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_A_TOPIC = _Kind(topic=msgspec.Raw())


class _SnapshotFile:
    """One pass over the lines; remembers the line number of each broker and topic for errors."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._lines = file.lines()
        self.brokers: list[BrokerRow] = []
        self.broker_lines: list[int] = []
        self.topic_lines: list[int] = []

    def read(self) -> ClusterState:
        try:
            return build_cluster(self._header(), self.brokers, self._topics())
        except InvalidClusterError as error:
            raise InputFileError(self._file.path, error.message, line=self._line_of(error)) from error

    def _header(self) -> HeaderRow:
        first = next(self._lines, None)
        if first is None:
            raise empty_file(self._file.path)
        version = self._file.decode(json_decoder(_Version), first, _NO_SNAPSHOT).kafkabal_snapshot
        if version is None:
            raise self._file.error(f"{_NO_SNAPSHOT}: no header in the first line")
        if version > SNAPSHOT_VERSION:
            raise self._file.error(
                f"snapshot version {version} is not supported; this kafkabal reads versions up to {SNAPSHOT_VERSION}",
                hint="use the version of kafkabal that wrote it, or a later one",
            )
        header = self._file.decode(json_decoder(HeaderRow), first, _NO_RECORD)
        try:
            datetime.fromisoformat(header.taken_at)
        except ValueError as error:
            raise self._file.error(
                f"taken_at: invalid time: {header.taken_at[:40]!r}", hint="write it like 2026-01-01T00:00:00Z"
            ) from error
        return header

    def _topics(self) -> Iterator[TopicRow]:
        """Yield topics as they are read and collect brokers: all are known once the last topic has been taken."""
        file, decode = self._file, self._file.decode
        kind = json_decoder(_Kind)
        broker = json_decoder(BrokerRow)
        topic = json_decoder(TopicRow)
        for text in self._lines:
            if text.isspace():
                continue
            found = _A_TOPIC if text.startswith(_TOPIC_START) else self._kind_of(kind, text)
            if found.topic is not msgspec.UNSET:
                self.topic_lines.append(file.line)
                yield decode(topic, text, _NO_RECORD, has_bounds=True)
            elif found.broker is not msgspec.UNSET:
                self.broker_lines.append(file.line)
                self.brokers.append(decode(broker, text, _NO_RECORD))
        if not self.brokers:
            raise InputFileError(file.path, "contains no brokers")

    def _kind_of(self, kind: msgspec.json.Decoder[_Kind], text: bytes) -> _Kind:
        found = self._file.decode(kind, text, _NO_RECORD)
        if found.kafkabal_snapshot is not msgspec.UNSET:
            raise self._file.error("second header")
        if msgspec.UNSET not in (found.topic, found.broker):
            raise self._file.error("both a topic and a broker")
        return found

    def _line_of(self, error: InvalidClusterError) -> int | None:
        if error.topic_row is not None:
            return self.topic_lines[error.topic_row]
        if error.broker_row is not None:
            return self.broker_lines[error.broker_row]
        return None
