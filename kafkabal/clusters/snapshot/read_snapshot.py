"""Read a snapshot file into a :class:`~kafkabal.model.cluster_state.ClusterState`."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec

from kafkabal.errors import InputFileError, InvalidClusterError
from kafkabal.model.builder import build_cluster
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.rows import SNAPSHOT_VERSION, BrokerRow, HeaderRow, TopicRow

_T = TypeVar("_T")
_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER_BYTES = 2**20
# what our own writer puts first; a line that starts otherwise is looked at twice
_TOPIC_START = b'{"topic":'


def read_snapshot(path: Path | str) -> ClusterState:
    """Read a snapshot file, gzipped or not.

    Raises
    ------
    InputFileError
        If the file cannot be opened, is no snapshot, is of a newer version, or a line of it is malformed or
        contradicts another; the line is named.
    """
    return _SnapshotFile(Path(path)).read()


class _Version(msgspec.Struct):
    kafkabal_snapshot: int | None = None


class _Kind(msgspec.Struct):
    topic: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    broker: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    kafkabal_snapshot: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_A_TOPIC = _Kind(topic=msgspec.Raw())


class _SnapshotFile:
    """One pass over the lines; remembers on which line each broker and each topic stood, to name it in an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.brokers: list[BrokerRow] = []
        self.broker_lines: list[int] = []
        self.topic_lines: list[int] = []

    def read(self) -> ClusterState:
        try:
            with self.path.open("rb", buffering=_BUFFER_BYTES) as raw, _unpacked(raw) as file:
                header = self._header(file)
                return build_cluster(header, self.brokers, self._topics(file))
        except InvalidClusterError as error:
            raise InputFileError(self.path, error.message, line=self._line_of(error)) from error
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            # what is packed is read a line at a time: the next one is the one that cannot be unpacked
            broken = self.line + 1 if self.line else None
            raise InputFileError(self.path, f"cannot be read: {reason}", line=broken) from error

    def _header(self, file: BinaryIO) -> HeaderRow:
        first = file.readline()
        self.line = 1
        if not first:
            raise InputFileError(self.path, "is empty")
        version = self._decode(msgspec.json.Decoder(_Version), first).kafkabal_snapshot
        if version is None:
            raise InputFileError(self.path, "is no kafkabal snapshot: its first line is no header", line=1)
        if version > SNAPSHOT_VERSION:
            raise InputFileError(
                self.path,
                f"is of snapshot version {version}, this kafkabal reads up to {SNAPSHOT_VERSION}",
                line=1,
                hint="read it with the version of kafkabal that wrote it, or a later one",
            )
        return self._decode(msgspec.json.Decoder(HeaderRow), first)

    def _topics(self, file: BinaryIO) -> Iterator[TopicRow]:
        """Yield topics as they come and keep brokers aside: all are there once the last topic was taken."""
        kind = msgspec.json.Decoder(_Kind)
        broker = msgspec.json.Decoder(BrokerRow)
        topic = msgspec.json.Decoder(TopicRow)
        for self.line, text in enumerate(file, 2):
            if text.isspace():
                continue
            found = _A_TOPIC if text.startswith(_TOPIC_START) else self._kind_of(kind, text)
            if found.topic is not msgspec.UNSET:
                self.topic_lines.append(self.line)
                yield self._decode(topic, text)
            elif found.broker is not msgspec.UNSET:
                self.broker_lines.append(self.line)
                self.brokers.append(self._decode(broker, text))
        if not self.brokers:
            raise InputFileError(self.path, "holds no brokers")

    def _kind_of(self, kind: msgspec.json.Decoder[_Kind], text: bytes) -> _Kind:
        found = self._decode(kind, text)
        if found.kafkabal_snapshot is not msgspec.UNSET:
            raise InputFileError(self.path, "a second snapshot begins here", line=self.line)
        if msgspec.UNSET not in (found.topic, found.broker):
            raise InputFileError(self.path, "is a topic and a broker at once", line=self.line)
        return found

    def _decode(self, decoder: msgspec.json.Decoder[_T], text: bytes) -> _T:
        try:
            return decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputFileError(self.path, f"is no valid record: {error}", line=self.line) from error

    def _line_of(self, error: InvalidClusterError) -> int | None:
        if error.topic_row is not None:
            return self.topic_lines[error.topic_row]
        if error.broker_row is not None:
            return self.broker_lines[error.broker_row]
        return None


def _unpacked(raw: BinaryIO) -> BinaryIO:
    if cast("io.BufferedReader", raw).peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    return raw
