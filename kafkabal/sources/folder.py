"""A data set as a folder: a record a file, or several where files are split; the label is the first sub-folder."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISFIFO, S_ISSOCK
from typing import Final, NamedTuple

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.source_protocol import (
    Block,
    Headers,
    Listing,
    Part,
    RecordSize,
    RowChecksum,
    Wanted,
    printable,
)

PATH_HEADER: Final = "path"
LABEL_HEADER: Final = "label"
CHECKSUM_HEADER: Final = "sha256"
CHUNK_HEADER: Final = "chunk"
KEYS: Final = ("path", "label")

_READ_BYTES = 1 << 20
# files that are read together: acknowledgements are counted, and threads take work, by so many
_GROUP_BYTES, _GROUP_FILES = 1 << 20, 64
# larger files are read chunk by chunk instead of whole
_WHOLE_BYTES = 64 << 20
# what files that were read ahead may take
_AHEAD_BYTES = 128 << 20
_NO_CHECKSUM = "0" * 64
# names of headers and values other than path, label and key, with room to spare
_AROUND_BYTES = 160
# a FIFO that took a file's place since must not be waited for
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_CHANGED = "changed while it was being sent"


class _Read(NamedTuple):
    """A file in memory."""

    wanted: Wanted
    data: bytes
    checksum: str
    fault: str = ""


class FolderSource:
    """All files below a folder, by name; links to folders are not followed.

    Every record carries the headers ``path`` (within the folder, with ``/``), ``label`` (first sub-folder, absent for
    files at the top), ``sha256`` (of the whole file, in hex) and, where a file is split, ``chunk`` (``2/5``).

    Parameters
    ----------
    key
        ``path``, ``label`` or None.
    chunk_bytes
        Larger files are split into records of so many bytes; None splits nothing.
    read_ahead
        Threads that read and hash files ahead of the sending thread, for stores that answer slowly; 0 reads each
        when it is its turn, which is faster where files are on a local disk.

    Raises
    ------
    UsageError
        If ``key`` is neither.
    """

    def __init__(
        self, root: Path, *, key: str | None = None, chunk_bytes: int | None = None, read_ahead: int = 0
    ) -> None:
        if key is not None and key not in KEYS:
            raise UsageError(f"invalid key for files: {key!r}", hint=f"choose from: {', '.join(KEYS)}")
        self._root = root
        self._key = key
        self._chunk_bytes = chunk_bytes
        self._read_ahead = read_ahead

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        split = f" in chunks of {self._chunk_bytes}" if self._chunk_bytes else ""
        return printable(f"folder {self._root.resolve()}{split}")

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; the size of chunks is part of the name."""
        return {} if self._key is None else {"--key": self._key}

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
        if not self._root.is_dir():
            raise InputFileError(printable(str(self._root)), "is not a folder")
        left_out: list[tuple[str, str]] = []
        prefix = len(os.path.join(self._root, ""))  # noqa: PTH118 - the length of what scandir puts before names
        parts = []
        for entry in files_below(self._root, lambda path, why: left_out.append((printable(path[prefix:]), why))):
            try:
                stat = entry.stat()
            except OSError as error:
                left_out.append((printable(entry.path[prefix:]), _unreadable(error)))
                continue
            parts.append(self._part(entry.path[prefix:], stat))
        if left_out and not left_out[0][0]:
            raise InputFileError(printable(str(self._root)), left_out[0][1])
        if not parts and not left_out:
            raise InputFileError(printable(str(self._root)), "is empty: it has no files")
        return Listing(sorted(parts, key=lambda part: part.name), sorted(left_out))

    def too_large(
        self,
        parts: Iterable[Part],
        limit_bytes: int,
        tick: Callable[[], None],  # noqa: ARG002 - nothing is read
    ) -> Iterator[RecordSize]:
        """See :meth:`Source.too_large`; the size of the largest record of each part is known without reading it."""
        listed = list(parts)
        longest_name = max((len(part.name) for part in listed), default=0)
        largest_part = max((part.size_bytes for part in listed), default=0)
        # a character of a path takes 4 bytes at most, and path, label and key may all be there
        if min(largest_part, self._chunk_bytes or largest_part) + 12 * longest_name + _AROUND_BYTES <= limit_bytes:
            return
        for part in listed:
            largest = min(part.size_bytes, self._chunk_bytes or part.size_bytes)
            headers = file_headers(part.name, _NO_CHECKSUM)
            if part.records > 1:
                headers.append((CHUNK_HEADER, f"{part.records}/{part.records}".encode()))
            around = _header_bytes(headers) + len(self._key_of(part) or b"")
            if largest + around > limit_bytes:
                yield RecordSize(printable(self._path(part)), largest + around, around)

    def checksum(self, part: Part) -> str | None:
        """See :meth:`Source.checksum`."""
        try:
            descriptor = os.open(self._path(part), _OPEN_FLAGS)
            try:
                return _checksum(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            return None

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:  # noqa: ARG002
        """See :meth:`Source.begins_with`."""
        return False

    def blocks(self, wanted: Iterable[Wanted]) -> Generator[Block, None, None]:
        """See :meth:`Source.blocks`."""
        for group, read in self._ahead(_groups(wanted)):
            if read is None:
                yield from self._streamed(group[0])
            elif self._chunk_bytes is None:
                yield self._whole(read)
            else:
                for each in read:
                    yield from self._split(each, self._chunk_bytes)

    def _ahead(self, groups: Iterator[list[Wanted]]) -> Iterator[tuple[list[Wanted], list[_Read] | None]]:
        """Every group with its files, in their order; None instead of a file that is too large to be held."""
        if not self._read_ahead:
            for group in groups:
                yield group, self._read_group(group)
            return
        pending: deque[tuple[list[Wanted], int, Future[list[_Read] | None]]] = deque()
        held_bytes = 0
        with ThreadPoolExecutor(self._read_ahead, thread_name_prefix="kafkabal-reader") as pool:
            try:
                for group in groups:
                    group_bytes = min(sum(wanted.part.size_bytes for wanted in group), _WHOLE_BYTES)
                    while pending and (len(pending) > 2 * self._read_ahead or held_bytes + group_bytes > _AHEAD_BYTES):
                        first, first_bytes, future = pending.popleft()
                        held_bytes -= first_bytes
                        yield first, future.result()
                    pending.append((group, group_bytes, pool.submit(self._read_group, group)))
                    held_bytes += group_bytes
                for first, _, future in pending:
                    yield first, future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _read_group(self, group: list[Wanted]) -> list[_Read] | None:
        if len(group) == 1 and group[0].part.size_bytes > _WHOLE_BYTES and group[0].part.records > 1:
            return None
        return [self._read(wanted) for wanted in group]

    def _read(self, wanted: Wanted) -> _Read:
        part = wanted.part
        try:
            descriptor = os.open(self._path(part), _OPEN_FLAGS)
            try:
                # a byte more than there should be, so that a file that grew shows
                data = os.read(descriptor, part.size_bytes + 1)
                while len(data) < part.size_bytes and (more := os.read(descriptor, part.size_bytes + 1 - len(data))):
                    data += more
                if len(data) != part.size_bytes or os.fstat(descriptor).st_mtime_ns != part.mtime_ns:
                    return _Read(wanted, b"", "", _CHANGED)
            finally:
                os.close(descriptor)
        except OSError as error:
            return _Read(wanted, b"", "", _unreadable(error))
        return _Read(wanted, data, sha256(data).hexdigest())

    def _whole(self, read: list[_Read]) -> Block:
        """Files that are a record each."""
        good = [each for each in read if not each.fault]
        parts = [each.wanted.part for each in good]
        values = [each.data for each in good]
        keys = None if self._key is None else [self._key_of(part) for part in parts]
        headers = [file_headers(each.wanted.part.name, each.checksum) for each in good]
        return Block(
            numbers=[each.wanted.first for each in good],
            values=values,
            sizes=_sizes(values, keys, headers),
            keys=keys,
            headers=headers,
            name_of=lambda at: printable(self._path(parts[at])),
            progress_bytes=sum(part.size_bytes for part in parts),
            checksums={each.wanted.part_index: each.checksum for each in good},
            failures=[(each.wanted, each.fault) for each in read if each.fault],
        )

    def _split(self, read: _Read, chunk_bytes: int) -> Iterator[Block]:
        """A file in memory, as its chunks."""
        wanted, data = read.wanted, read.data
        if read.fault:
            yield _failed(wanted, read.fault)
            return
        at_once = max(1, _GROUP_BYTES // chunk_bytes)
        for start in range(wanted.start, wanted.part.records, at_once):
            end = min(start + at_once, wanted.part.records)
            values = [data[n * chunk_bytes : (n + 1) * chunk_bytes] for n in range(start, end)]
            yield self._chunk_block(wanted, start, values, read.checksum, chunk_bytes)

    def _streamed(self, wanted: Wanted) -> Iterator[Block]:
        """A file that is too large to be held: its checksum first, then chunk by chunk."""
        part, chunk_bytes = wanted.part, self._chunk_bytes
        assert chunk_bytes is not None
        try:
            descriptor = os.open(self._path(part), _OPEN_FLAGS)
            try:
                checksum = _checksum(descriptor)
                os.lseek(descriptor, wanted.start * chunk_bytes, os.SEEK_SET)
                for number in range(wanted.start, part.records):
                    value = os.read(descriptor, chunk_bytes)
                    stat = os.fstat(descriptor)
                    if (stat.st_size, stat.st_mtime_ns) != (part.size_bytes, part.mtime_ns):
                        yield _failed(wanted, _CHANGED)
                        return
                    yield self._chunk_block(wanted, number, [value], checksum, chunk_bytes)
            finally:
                os.close(descriptor)
        except OSError as error:
            yield _failed(wanted, _unreadable(error))

    def _chunk_block(self, wanted: Wanted, start: int, values: list[bytes], checksum: str, chunk_bytes: int) -> Block:
        part, records = wanted.part, wanted.part.records
        end = start + len(values)
        headers = [file_headers(part.name, checksum) for _ in values]
        if records > 1:
            for number, of_chunk in enumerate(headers, start + 1):
                of_chunk.append((CHUNK_HEADER, b"%d/%d" % (number, records)))
        path = printable(self._path(part))
        keys = None if self._key is None else [self._key_of(part)] * len(values)
        return Block(
            numbers=range(wanted.first + start, wanted.first + end),
            values=values,
            sizes=_sizes(values, keys, headers),
            keys=keys,
            headers=headers,
            name_of=lambda at: f"{path}, chunk {start + at + 1}/{records}" if records > 1 else path,
            progress_bytes=sum(map(len, values)),
            skipped_bytes=start * chunk_bytes if start == wanted.start else 0,
            checksums={wanted.part_index: checksum} if end == records else {},
        )

    def _part(self, name: str, stat: os.stat_result) -> Part:
        chunk_bytes = self._chunk_bytes or stat.st_size
        return Part(
            name=name,
            size_bytes=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            records=max(1, -(-stat.st_size // chunk_bytes)) if stat.st_size else 1,
        )

    def _path(self, part: Part) -> str:
        return f"{self._root}/{part.name}"

    def _key_of(self, part: Part) -> bytes | None:
        if self._key is None:
            return None
        return os.fsencode(part.name) if self._key == "path" else _label(part.name)


def files_below(
    folder: Path | str, left_out: Callable[[str, str], None] = lambda _path, _why: None
) -> Iterator[os.DirEntry[str]]:
    """All regular files below a folder, in no order; links to folders are not followed, those to files are files.

    Parameters
    ----------
    left_out
        Called with the path of whatever cannot be read or is neither file nor folder, and why.
    """
    try:
        entries = os.scandir(folder)
    except OSError as error:
        left_out(str(folder), _unreadable(error))
        return
    with entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from files_below(entry.path, left_out)
                elif entry.is_file():
                    yield entry
                elif not entry.is_dir():
                    left_out(entry.path, _kind_of(entry))
            except OSError as error:
                left_out(entry.path, _unreadable(error))


def file_headers(name: str, checksum: str) -> Headers:
    """Of a file that is one record: its path within the data set, its checksum and, where it has one, its label."""
    headers: Headers = [(PATH_HEADER, os.fsencode(name)), (CHECKSUM_HEADER, checksum.encode())]
    if label := _label(name):
        headers.append((LABEL_HEADER, label))
    return headers


def _groups(wanted: Iterable[Wanted]) -> Iterator[list[Wanted]]:
    """Files that are read together, large ones alone."""
    group: list[Wanted] = []
    group_bytes = 0
    for each in wanted:
        if group and (group_bytes + each.part.size_bytes > _GROUP_BYTES or len(group) == _GROUP_FILES):
            yield group
            group, group_bytes = [], 0
        group.append(each)
        group_bytes += each.part.size_bytes
    if group:
        yield group


def _failed(wanted: Wanted, why: str) -> Block:
    return Block(numbers=(), values=[], sizes=[], name_of=str, failures=[(wanted, why)])


def _sizes(values: list[bytes], keys: list[bytes | None] | None, headers: list[Headers]) -> list[int]:
    """Bytes of each record, key and headers included."""
    sizes = [len(value) + _header_bytes(of_record) for value, of_record in zip(values, headers, strict=True)]
    return sizes if keys is None else [n + len(key or b"") for n, key in zip(sizes, keys, strict=True)]


def _header_bytes(headers: Headers) -> int:
    n_bytes = 0
    for name, value in headers:
        n_bytes += len(name) + len(value or b"")
    return n_bytes


def _label(name: str) -> bytes | None:
    first, slash, _ = name.partition("/")
    return os.fsencode(first) if slash else None


def _checksum(descriptor: int) -> str:
    digest = sha256()
    while data := os.read(descriptor, _READ_BYTES):
        digest.update(data)
    return digest.hexdigest()


def _unreadable(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself"
    return f"cannot read: {(error.strerror or str(error)).lower()}"


def _kind_of(entry: os.DirEntry[str]) -> str:
    """What something is that is neither a file nor a folder."""
    if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - a name that may be no text
        return "is a broken link"
    mode = entry.stat().st_mode
    kinds: Sequence[tuple[Callable[[int], bool], str]] = (
        (S_ISFIFO, "is a named pipe"),
        (S_ISSOCK, "is a socket"),
        (S_ISCHR, "is a device"),
        (S_ISBLK, "is a device"),
    )
    return next((kind for matches, kind in kinds if matches(mode)), "is not a regular file")
