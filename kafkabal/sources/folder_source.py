"""A folder as a data set: one record per file, or several if files are split; the label is the first sub-folder."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from kafkabal.daemon_executor import DaemonExecutor
from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.file_filter import FileFilter
from kafkabal.sources.file_store_protocol import FileStore, FileVersion, LeftOut, OpenFile
from kafkabal.sources.local_files import LocalFolder
from kafkabal.sources.record_headers import (
    CHUNK_HEADER,
    check_file_key,
    file_headers,
    file_key,
    header_bytes,
    path_below,
)
from kafkabal.sources.record_parts import RecordParts
from kafkabal.sources.row_reader_protocol import MOST_RECORD_BYTES
from kafkabal.sources.source_protocol import (
    Block,
    Listing,
    Part,
    RecordSize,
    RecordsToSend,
    RowChecksum,
    escaped_name,
)
from kafkabal.sources.store_errors import why_unreadable
from kafkabal.sources.transform import Transform, transform_block

_READ_BYTES = 1 << 20
"""Bytes read from a file in one call: as fast as larger reads on local disks, and an upload starts after the first."""
# files read as a group: threads take work, and acknowledgements are counted, in groups
_GROUP_BYTES, _GROUP_FILES = 1 << 20, 64
_WHOLE_BYTES = 64 << 20
"""Larger files are read chunk by chunk instead of whole: Kafka's default limit for records is 1 MB, and few allow more
than this."""
_STREAMED_BYTES = 8 << 20
"""Read of such a file between two checks that it is unchanged, each of which costs an object store a request."""
_AHEAD_BYTES = 128 << 20
"""Memory for files that are read ahead: two of the largest that are read whole, or thousands of pictures."""
_NO_CHECKSUM = "0" * 64
# names of headers, and values other than path, label and key, with room to spare
_AROUND_BYTES = 160
_CHANGED = "changed while it was being sent"
_NOT_NORMAL: Final = re.compile(r"//|(?:^|/)\.(?:/|$)")
"""In a name that no file of a file system has, but an object may have."""


class _Read(NamedTuple):
    """A file in memory."""

    to_send: RecordsToSend
    data: bytes
    checksum: str
    fault: str = ""


class FolderSource:
    """All files of a store, by name.

    Every record has the headers ``path`` (within the folder, with ``/``), ``label`` (first sub-folder, absent for files
    at the top), ``sha256`` (of the whole file, in hex) and, if the file is split, ``chunk`` (``2/5``).

    Parameters
    ----------
    store
        A path is the path of a local folder.
    key
        ``path``, ``label`` or None.
    chunk_bytes
        Larger files are split into records of this size; None splits no file.
    read_ahead
        Threads that read and hash files ahead of the sending thread, for slow stores; 0 reads each file when its turn
        comes, which is faster on local disks.
    include, exclude
        As in :class:`~kafkabal.sources.file_filter.FileFilter`.
    transform
        Makes the value and headers of each record, in the threads that read ahead.

    Raises
    ------
    UsageError
        If ``key`` is invalid, or files are to be both split and transformed.
    """

    def __init__(
        self,
        store: Path | FileStore,
        *,
        key: str | None = None,
        chunk_bytes: int | None = None,
        read_ahead: int = 0,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        transform: Transform | None = None,
    ) -> None:
        check_file_key(key)
        if transform is not None and chunk_bytes is not None:
            raise UsageError("--transform and --chunk cannot be combined: a transform takes whole files")
        self._store: FileStore = LocalFolder(store) if isinstance(store, Path) else store
        self._filter = FileFilter(include, exclude)
        self._transform = transform
        self._key = key
        self._chunk_bytes = chunk_bytes
        self._read_ahead = read_ahead

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        split = f" in chunks of {self._chunk_bytes}" if self._chunk_bytes else ""
        return f"{self._store.name}{split}"

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; the chunk size is part of the name."""
        given = {"--key": self._key, "--transform": self._transform.name if self._transform else None}
        return {option: value for option, value in given.items() if value is not None}

    @property
    def is_keyed(self) -> bool:
        """See :attr:`Source.is_keyed`."""
        return self._key is not None

    @property
    def is_stream(self) -> bool:
        """See :attr:`Source.is_stream`."""
        return False

    def listing(self) -> Listing:
        """See :meth:`Source.listing`."""
        left_out: list[tuple[str, str]] = []
        files = self._store.files(lambda name, why: left_out.append((name, why)), self._read_ahead)
        parts = [self._part(file.name, file.version) for file in files if self._filter.takes(file.name)]
        left_out = [(name.removesuffix("/"), why) for name, why in left_out if self._filter.may_take(name)]
        if left_out and not left_out[0][0]:
            raise InputFileError(self._store.path(""), left_out[0][1])
        if not parts and not left_out:
            options = self._filter.options
            why = f"no file is left after {' and '.join(options)}" if options else "is empty: it has no files"
            raise InputFileError(self._store.path(""), why)
        restorable = _restored_apart(parts, lambda name, why: left_out.append((name, why)))
        return Listing(sorted(restorable, key=attrgetter("name")), sorted(left_out))

    def find_too_large(
        self,
        parts: Iterable[Part],
        limit_bytes: int,
        each_block: Callable[[], None],  # noqa: ARG002 - nothing is read
    ) -> Iterator[RecordSize]:
        """See :meth:`Source.find_too_large`; needs to read no file, as file sizes bound the record of each part."""
        if self._transform is not None:
            return  # the size of a transformed record is known only after reading it
        listed = list(parts)
        longest_name = max((len(part.name) for part in listed), default=0)
        largest_part = max((part.size_bytes for part in listed), default=0)
        # a character of a path takes up to 4 bytes, and it may occur in path, label and key
        if min(largest_part, self._chunk_bytes or largest_part) + 12 * longest_name + _AROUND_BYTES <= limit_bytes:
            return
        for part in listed:
            largest = min(part.size_bytes, self._chunk_bytes or part.size_bytes)
            headers = file_headers(part.name, _NO_CHECKSUM)
            if part.records > 1:
                headers.append((CHUNK_HEADER, f"{part.records}/{part.records}".encode()))
            around = header_bytes(headers) + len(self._key_of(part) or b"")
            if largest + around > limit_bytes:
                yield RecordSize(self._store.path(part.name), largest + around, around)

    def checksum(self, part: Part) -> str | None:
        """See :meth:`Source.checksum`."""
        try:
            with self._store.open(part.name) as file:
                return _checksum(file)
        except OSError:
            return None

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:  # noqa: ARG002
        """See :meth:`Source.begins_with`."""
        return False

    def blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
        """See :meth:`Source.blocks`."""
        for of_group in self._ahead(_groups(to_send)):
            yield from of_group

    def _ahead(self, groups: Iterator[list[RecordsToSend]]) -> Iterator[Iterable[Block]]:
        """The blocks of all groups, in order."""
        if not self._read_ahead:
            yield from map(self._group_blocks, groups)
            return
        pending: deque[tuple[int, Future[Iterable[Block]]]] = deque()
        held_bytes = 0
        with DaemonExecutor("kafkabal-reader", self._read_ahead) as pool:
            for group in groups:
                group_bytes = min(sum(to_send.part.size_bytes for to_send in group), _WHOLE_BYTES)
                while pending and (len(pending) > 2 * self._read_ahead or held_bytes + group_bytes > _AHEAD_BYTES):
                    first_bytes, future = pending.popleft()
                    held_bytes -= first_bytes
                    yield future.result()
                pending.append((group_bytes, pool.submit(self._group_blocks, group)))
                held_bytes += group_bytes
            for _, future in pending:
                yield future.result()

    def _group_blocks(self, group: list[RecordsToSend]) -> Iterable[Block]:
        """All blocks of a group; those of a file too large for memory are made as they are consumed."""
        if self._chunk_bytes is None:
            whole = self._whole([self._read(to_send) for to_send in group])
            return [whole if self._transform is None else transform_block(whole, self._transform)]
        if len(group) == 1 and group[0].part.size_bytes > _WHOLE_BYTES and group[0].part.records > 1:
            return self._streamed(group[0])
        return [block for to_send in group for block in self._split(self._read(to_send), self._chunk_bytes)]

    def _read(self, to_send: RecordsToSend) -> _Read:
        part = to_send.part
        if part.size_bytes > MOST_RECORD_BYTES:
            return _Read(to_send, b"", "", f"is larger than any record may be: {part.size_bytes:,} bytes")
        try:
            data, version = self._store.read(part.name, part.size_bytes)
        except OSError as error:
            return _Read(to_send, b"", "", why_unreadable(error))
        if len(data) != part.size_bytes or version != _version(part):
            return _Read(to_send, b"", "", _CHANGED)
        return _Read(to_send, data, sha256(data).hexdigest())

    def _whole(self, read: list[_Read]) -> Block:
        """Files that are one record each."""
        good = [each for each in read if not each.fault]
        parts = [each.to_send.part for each in good]
        values = [each.data for each in good]
        keys = None if self._key is None else [self._key_of(part) for part in parts]
        headers = [file_headers(each.to_send.part.name, each.checksum) for each in good]
        return Block(
            numbers=[each.to_send.first for each in good],
            values=values,
            sizes=RecordParts(values, keys, headers).sizes(),
            keys=keys,
            headers=headers,
            name_of=lambda at: self._store.path(parts[at].name),
            progress_bytes=sum(part.size_bytes for part in parts),
            checksums={each.to_send.part_index: each.checksum for each in good},
            failures=[(each.to_send, each.fault) for each in read if each.fault],
        )

    def _split(self, read: _Read, chunk_bytes: int) -> Iterator[Block]:
        """A file in memory, split into chunks."""
        to_send, data = read.to_send, read.data
        if read.fault:
            yield _failed(to_send, read.fault)
            return
        at_once = max(1, _GROUP_BYTES // chunk_bytes)
        for start in range(to_send.start, to_send.part.records, at_once):
            end = min(start + at_once, to_send.part.records)
            values = [data[n * chunk_bytes : (n + 1) * chunk_bytes] for n in range(start, end)]
            yield self._chunk_block(to_send, start, values, read.checksum, chunk_bytes)

    def _streamed(self, to_send: RecordsToSend) -> Iterator[Block]:
        """A file too large for memory: first its checksum, then a few chunks at a time."""
        part, chunk_bytes = to_send.part, self._chunk_bytes
        assert chunk_bytes is not None
        try:
            with self._store.open(part.name) as file:
                checksum = _checksum(file)
                file.seek(to_send.start * chunk_bytes)
                at_once = max(1, _STREAMED_BYTES // chunk_bytes)
                for start in range(to_send.start, part.records, at_once):
                    values = [file.read(chunk_bytes) for _ in range(start, min(start + at_once, part.records))]
                    if file.version() != _version(part):
                        yield _failed(to_send, _CHANGED)
                        return
                    yield self._chunk_block(to_send, start, values, checksum, chunk_bytes)
        except OSError as error:
            yield _failed(to_send, why_unreadable(error))

    def _chunk_block(
        self, to_send: RecordsToSend, start: int, values: list[bytes], checksum: str, chunk_bytes: int
    ) -> Block:
        part, records = to_send.part, to_send.part.records
        end = start + len(values)
        headers = [file_headers(part.name, checksum) for _ in values]
        if records > 1:
            for number, of_chunk in enumerate(headers, start + 1):
                of_chunk.append((CHUNK_HEADER, b"%d/%d" % (number, records)))
        path = self._store.path(part.name)
        keys = None if self._key is None else [self._key_of(part)] * len(values)
        return Block(
            numbers=range(to_send.first + start, to_send.first + end),
            values=values,
            sizes=RecordParts(values, keys, headers).sizes(),
            keys=keys,
            headers=headers,
            name_of=lambda at: f"{path}, chunk {start + at + 1}/{records}" if records > 1 else path,
            progress_bytes=sum(map(len, values)),
            skipped_bytes=start * chunk_bytes if start == to_send.start else 0,
            checksums={to_send.part_index: checksum},
        )

    def _part(self, name: str, version: FileVersion) -> Part:
        size_bytes = version.size_bytes
        chunk_bytes = self._chunk_bytes or size_bytes
        return Part(
            name=name,
            size_bytes=size_bytes,
            mtime_ns=version.stamp,
            records=max(1, -(-size_bytes // chunk_bytes)) if size_bytes else 1,
        )

    def _key_of(self, part: Part) -> bytes | None:
        return file_key(part.name, self._key)


def _restored_apart(parts: list[Part], left_out: LeftOut) -> list[Part]:
    """The files without those that ``read --to`` would restore to the path of another one.

    An object store may hold both ``a/b`` and ``a//b``.
    """
    unusual = [part for part in parts if _NOT_NORMAL.search(part.name)]
    if not unusual:
        return parts
    apart = {part.name: part for part in parts if not _NOT_NORMAL.search(part.name)}
    for part in unusual:
        path = str(path_below(part.name))
        if apart.setdefault(path, part) is not part:
            left_out(escaped_name(part.name), f"would be restored in place of {escaped_name(apart[path].name)}")
    return list(apart.values())


def _groups(to_send: Iterable[RecordsToSend]) -> Iterator[list[RecordsToSend]]:
    """Groups of files to read together; large files are alone."""
    group: list[RecordsToSend] = []
    group_bytes = 0
    for each in to_send:
        if group and (group_bytes + each.part.size_bytes > _GROUP_BYTES or len(group) == _GROUP_FILES):
            yield group
            group, group_bytes = [], 0
        group.append(each)
        group_bytes += each.part.size_bytes
    if group:
        yield group


def _failed(to_send: RecordsToSend, why: str) -> Block:
    return Block(numbers=(), values=[], sizes=[], name_of=str, failures=[(to_send, why)])


def _version(part: Part) -> FileVersion:
    return FileVersion(part.size_bytes, part.mtime_ns)


def _checksum(file: OpenFile) -> str:
    digest = sha256()
    while data := file.read(_READ_BYTES):
        digest.update(data)
    return digest.hexdigest()
