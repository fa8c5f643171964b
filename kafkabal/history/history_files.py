"""History on this host: one compressed file of JSON Lines per point in time, in a folder per cluster.

::

    {"kafkabal_history":1,"cluster_id":"Mk...","at_s":1790000000.5,"dirs":[[1,"/d0",1000]]}
    {"topic":"img","partitions":[0,1],"sizes":[120,-1],"end_offsets":[7,9],"topic_id":"Vx..."}

A file appears whole or not at all, under a name of its own, and never changes: any number of processes may record at
once without waiting. Files that another process removes meanwhile are ignored. Files with other names are left alone; a
damaged file, or one of a newer version, is skipped and reported.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated, Final

import msgspec
import numpy as np

from kafkabal.atomic_files import replacing
from kafkabal.clusters.unknown_cluster_id import is_cluster_known
from kafkabal.errors import InputFileError, OutputError
from kafkabal.history.history_point import HistoryPoint, point_from_rows
from kafkabal.history.history_thinning import kept_within
from kafkabal.input_files import ROWS, FormatVersion, InputFile, Int32, empty_file, open_input
from kafkabal.json_decoders import json_decoder
from kafkabal.user_folders import cluster_folder
from kafkabal.wording import system_fault

VERSION: Final = 1
MOST_BYTES: Final = 128 * 2**20
"""Limit on disk for one cluster: with 200,000 partitions, whose points take 1.7 MB each, some 80 points."""
_GZIP_LEVEL: Final = 1
"""A snapshot shrinks to 20% at 1, and to 14% at 9 in thirteen times the time (2026-11)."""
_NAME: Final = re.compile(r"(\d{10,16})\.jsonl\.gz")
_FROM_MS: Final = 1000
"""File names contain milliseconds."""
UNKNOWN_CLUSTER: Final = "a snapshot without a cluster id has no history: import it with --cluster-id ID"
_Count = Annotated[int, msgspec.Meta(ge=-1, le=2**60)]


class _Header(msgspec.Struct, frozen=True):
    kafkabal_history: FormatVersion
    cluster_id: str
    at_s: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    dirs: list[tuple[Int32, str, _Count]] = []


class _Topic(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    topic: str
    partitions: list[Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]
    sizes: list[_Count]
    end_offsets: list[_Count]
    topic_id: str = ""


class HistoryFolder:
    """The history of one cluster; there is none of clusters without a known id, which would share it.

    Parameters
    ----------
    state_dir
        Folder for data that outlives a command; it has a folder for the history of each cluster.
    warn
        Called with a line of text about a file that cannot be read.
    """

    def __init__(self, state_dir: Path, cluster_id: str, warn: Callable[[str], None] = lambda _: None) -> None:
        self.path = cluster_folder(state_dir / "history", cluster_id)
        self._cluster_id, self._warn = cluster_id, warn

    def record(self, point: HistoryPoint) -> Path:
        """Store a point, and thin out older ones.

        Raises
        ------
        OutputError
            If it cannot be written, or the id of the cluster is unknown.
        """
        if not is_cluster_known(self._cluster_id):
            raise OutputError(UNKNOWN_CLUSTER)
        path = self.path / _name_of(point.at_s)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write: {system_fault(error)}") from error
        with replacing(path) as file, gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
            _write(point, packed)
        self._thin(point.at_s)
        return path

    def times_s(self) -> list[float]:
        """Times of all recorded points, oldest first."""
        return [at_s for at_s, _ in self._files()]

    def read(self, times_s: Sequence[float]) -> list[HistoryPoint]:
        """The points recorded at these times; files that are gone or unreadable are left out."""
        paths = dict(self._files())
        found = (self._read_one(paths[at_s]) for at_s in times_s if at_s in paths)
        return [point for point in found if point is not None]

    def _files(self) -> list[tuple[float, Path]]:
        if not is_cluster_known(self._cluster_id):
            return []
        try:
            names = sorted(self.path.iterdir())
        except OSError:
            return []
        matched = ((_NAME.fullmatch(path.name), path) for path in names)
        return [(int(match[1]) / _FROM_MS, path) for match, path in matched if match]

    def _thin(self, now_s: float) -> None:
        files = self._files()
        sizes = [(at_s, _bytes_of(path)) for at_s, path in files if at_s <= now_s]
        left = {*kept_within(sizes, now_s, MOST_BYTES)}
        for at_s, path in files:
            if at_s <= now_s and at_s not in left:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    self._warn(f"{path}: cannot remove: {system_fault(error)}")

    def _read_one(self, path: Path) -> HistoryPoint | None:
        if not path.is_file():
            # opening a pipe would block until someone writes to it
            if path.exists():
                self._warn(f"history: {path}: not a file; skipped")
            return None
        try:
            with open_input(path, ROWS) as file:
                point = _read(file)
        except InputFileError as error:
            if path.exists():
                self._warn(f"history: {error.in_one_line}; skipped")
            return None
        if point.cluster_id != self._cluster_id:
            self._warn(f"history: {path}: of another cluster ({point.cluster_id[:40]}); skipped")
            return None
        if path.name != _name_of(point.at_s):
            # files are read in the order of their names, and written bytes are divided by the time between two of them
            self._warn(f"history: {path}: its time is not that of its name; skipped")
            return None
        return point


def _name_of(at_s: float) -> str:
    return f"{round(at_s * _FROM_MS):013d}.jsonl.gz"


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write(point: HistoryPoint, file: IO[bytes] | gzip.GzipFile) -> None:
    encode = msgspec.json.Encoder().encode
    dirs = [(broker, path, used) for (broker, path), used in point.used_bytes.items()]
    header = _Header(kafkabal_history=VERSION, cluster_id=point.cluster_id, at_s=point.at_s, dirs=dirs)
    file.write(encode(header) + b"\n")
    ends = np.searchsorted(point.topic, np.arange(len(point.topics) + 1)).tolist()
    number, size, end = point.number.tolist(), point.size_bytes.tolist(), point.end_offset.tolist()
    for row, (name, topic_id) in enumerate(zip(point.topics, point.topic_ids, strict=True)):
        own = slice(ends[row], ends[row + 1])
        file.write(encode(_Topic(name, number[own], size[own], end[own], topic_id)) + b"\n")


def _read(file: InputFile) -> HistoryPoint:
    lines = file.lines()
    first = next(lines, None)
    if first is None:
        raise empty_file(file.path)
    header = file.decode(json_decoder(_Header), first, "not a history file")
    if header.kafkabal_history > VERSION:
        raise file.error(f"history version {header.kafkabal_history} is not supported (up to {VERSION})")
    return point_from_rows(header.cluster_id, header.at_s, header.dirs, _topics(file, lines))


def _topics(file: InputFile, lines: Iterator[bytes]) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, np.ndarray]]:
    decoder, seen = json_decoder(_Topic), set[str]()
    for text in lines:
        row = file.decode(decoder, text, "not a line of history", has_bounds=True)
        if row.topic in seen or not len(row.partitions) == len(row.sizes) == len(row.end_offsets):
            raise file.error(f"topic {row.topic[:40]!r}: listed twice, or its columns differ in length")
        if len({*row.partitions}) != len(row.partitions):
            raise file.error(f"topic {row.topic[:40]!r}: duplicate partition")
        seen.add(row.topic)
        yield (
            row.topic,
            row.topic_id,
            np.array(row.partitions, np.int64),
            np.array(row.sizes, np.int64),
            np.array(row.end_offsets, np.int64),
        )
