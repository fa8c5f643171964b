"""Reads samples of a WebDataset archive: a ``.tar`` in which adjacent files with the same name before the first dot
form one sample.

See the WebDataset format specification. A sample is sent as one record: its value is one of its files, its label the
text of its ``.cls`` file, and every other file a header named by its extension, so that nothing is lost. Extensions
mean the same in upper and lower case.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import IO, Any, Final, Self

from kafkabal.errors import UsageError
from kafkabal.sources.record_headers import (
    CHECKSUM_HEADER,
    CHUNK_HEADER,
    LABEL_HEADER,
    PATH_HEADER,
    is_utf8,
    path_below,
)
from kafkabal.sources.row_reader_protocol import (
    MOST_RECORD_BYTES,
    BadRowError,
    Fields,
    Rows,
    SelectedFields,
    is_read_error,
)
from kafkabal.sources.source_protocol import Headers, escaped_name
from kafkabal.sources.unclosed_stream import UnclosedStream
from kafkabal.wording import counted_noun

SAMPLE_FIELD: Final = "__key__"
_LABEL_EXTENSION: Final = "cls"
# files that describe a sample; they become its value only if it has nothing else
_DESCRIPTIONS: Final = frozenset({"cls", "cls2", "id", "json", "txt", "index", "inx"})
# files of other extensions become headers of that name, and readers would take these for our own
_RESERVED: Final = frozenset({SAMPLE_FIELD, PATH_HEADER, CHECKSUM_HEADER, CHUNK_HEADER})
_LINK_HINT: Final = "pack the archive with tar --dereference --hard-dereference"
_PATH_HINT: Final = "pack the archive from within its folder: tar -C FOLDER -cf FILE ."
_SHOWN: Final = 80
"""Characters of a name in a message, which is one line."""
_BLOCK_BYTES: Final = 1 << 20
"""Members are some kB to MB, so several of them share one read."""


def _zstd_stream(file: IO[bytes]) -> Any:
    try:
        from pyarrow import CompressedInputStream, PythonFile
    except ImportError:
        raise UsageError("reading .tar.zst requires pyarrow", hint="pip install 'kafkabal[parquet]'") from None
    return CompressedInputStream(PythonFile(UnclosedStream(file), mode="r"), "zstd")


class _Decompressed:
    """Content of a file of bzip2 or xz, which may be several compressed files, appended to each other.

    Python's own classes for these take anything else behind the first of them for the end.
    """

    def __init__(self, file: IO[bytes], decompressor: Callable[[], Any]) -> None:
        self._file: Any = file
        self._new_decompressor = decompressor
        self._current = decompressor()

    def read(self, n_bytes: int) -> bytes:
        """Up to this many bytes, none at the end only."""
        data = b""
        while not data:
            packed = b""
            if self._current.eof:
                packed = self._current.unused_data.lstrip(b"\0")
                while not packed and (read := self._file.read1(_BLOCK_BYTES)):
                    packed = read.lstrip(b"\0")  # padding
                if not packed:
                    break
                self._current = self._new_decompressor()
            elif self._current.needs_input and not (packed := self._file.read1(_BLOCK_BYTES)):
                raise EOFError("compressed data ends too early")
            data = self._current.decompress(packed, n_bytes)
        return data


# unlike tarfile's own streams, these verify checksums, and read on where a compressed file was appended to another
_UNPACKERS: Final[Mapping[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": lambda file: _Decompressed(file, bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": lambda file: _Decompressed(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    b"\x28\xb5\x2f\xfd": _zstd_stream,
}
_DAMAGE: Final = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


def webdataset_rows(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:  # noqa: ARG001
    """Samples of an archive, plain or compressed; the fields of a row are its files by extension, and ``__key__``;
    an extension in upper case is found by its lower case too.

    Raises
    ------
    BadRowError
        If it is not an archive, is damaged, cut off or followed by another one, or a sample has two files of one
        extension, a reserved one, a path out of the folder, a link, or a file that no record can hold.
    """
    texts: list[bytes] = []
    fields: list[Fields] = []
    headers: list[Headers] = []
    first, held_bytes, counted_bytes = 1, 0, 0
    fault: BadRowError | OSError | None = None
    samples = _samples(file)
    while True:
        try:
            sample = next(samples)
        except StopIteration as end:
            if end.value and first + len(texts) == 1:
                fault = BadRowError(None, f"has no samples: {counted_noun(end.value, 'file')} without an extension")
            break
        except _DAMAGE as error:
            damage = BadRowError(first + len(texts), f"is not a tar archive, or cut off: {error}")
            fault = error if is_read_error(error) else damage
            break
        except BadRowError as error:
            fault = BadRowError(first + len(texts), error.message, error.hint)
            break
        value_extension = _value_of(sample, selected.value)
        texts.append(sample[value_extension])
        fields.append({extension.lower(): data for extension, data in sample.items()} | sample)
        headers.append(_headers(sample, value_extension))
        held_bytes += sum(map(len, sample.values()))
        if held_bytes >= _BLOCK_BYTES:
            read_bytes = _position(file)
            yield Rows(texts, fields, range(first, first + len(texts)), read_bytes - counted_bytes, headers)
            first, held_bytes, counted_bytes = first + len(texts), 0, read_bytes
            texts, fields, headers = [], [], []
    if texts:
        yield Rows(texts, fields, range(first, first + len(texts)), _position(file) - counted_bytes, headers)
    if fault is not None:
        raise fault


def _samples(file: IO[bytes]) -> Generator[Fields, None, int]:
    """The files of each sample by extension, in archive order. Returns how many files belong to none."""
    others = 0
    sample: Fields = {}
    sample_bytes = 0
    with _opened(file) as archive:
        while (member := archive.next()) is not None:
            # tarfile keeps all that it has read, and a million members would take 1 GB
            archive.members.clear()  # type: ignore[attr-defined]
            folder, slash, name = member.name.rpartition("/")
            stem, dot, extension = name.partition(".")
            if not (member.isfile() or member.islnk() or member.issym()):
                continue
            if not (stem and dot):
                others += 1
                continue
            key = f"{folder}{slash}{stem}"
            if sample and sample[SAMPLE_FIELD] != key:
                yield sample
                sample, sample_bytes = {}, 0
            _check_sendable(member, extension)
            sample_bytes += member.size
            if sample_bytes > MOST_RECORD_BYTES:
                what = escaped_name(member.name if sample_bytes == member.size else key)
                raise BadRowError(None, f"{what!r} is larger than any record may be: {sample_bytes:,} bytes")
            opened: Any = archive.extractfile(member)
            if extension in sample:
                raise BadRowError(None, f"has two files named {member.name!r}")
            sample |= {SAMPLE_FIELD: key, extension: opened.read()}
            if len(sample[extension]) < member.size:
                raise EOFError("unexpected end of data")
        _check_end(archive)
    if sample:
        yield sample
    return others


def _check_sendable(member: tarfile.TarInfo, extension: str) -> None:
    """Check that a file of a sample is one whose content follows, that it could be restored below a folder, and that
    its extension can be that of a header."""
    if member.islnk() or member.issym():  # the file it names may lie gigabytes back in the stream
        kind = "hard" if member.islnk() else "symbolic"
        raise BadRowError(None, f"{member.name!r} is a {kind} link to another file", _LINK_HINT)
    try:
        path_below(member.name)
    except UsageError as error:
        raise BadRowError(None, f"{escaped_name(member.name[:_SHOWN])!r}: {error.message}", _PATH_HINT) from error
    if extension in _RESERVED or not is_utf8(extension):
        why = "is reserved" if extension in _RESERVED else "is not UTF-8"
        raise BadRowError(None, f"extension of {escaped_name(member.name)!r} {why}")


class _CheckedHeader(tarfile.TarInfo):
    """The header of a file. If one after the first is damaged or missing, tarfile itself takes that for the end of the
    archive, and the files behind it would be lost."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                raise  # the block of zeros that ends an archive
            raise tarfile.ReadError(str(error) if buf else "its end is missing") from None


def _opened(file: IO[bytes]) -> tarfile.TarFile:
    start: bytes = file.peek(8)  # type: ignore[attr-defined]
    plain = next((unpacked(file) for magic, unpacked in _UNPACKERS.items() if start.startswith(magic)), file)
    return tarfile.open(fileobj=plain, mode="r|", bufsize=_BLOCK_BYTES, tarinfo=_CheckedHeader)


def _check_end(archive: tarfile.TarFile) -> None:
    """Check that only padding follows the end of the archive; the checksum of a compressed one is behind it.

    Raises
    ------
    BadRowError
        If there is more, which tarfile does not read.
    """
    stream: Any = archive.fileobj
    while rest := stream.read(_BLOCK_BYTES):
        if rest.strip(b"\0"):
            raise BadRowError(
                None, "does not end the file: another archive follows", hint="send each archive as a file of its own"
            )


def _position(file: IO[bytes]) -> int:
    """How much of the file has been read; 0 if it cannot tell, such as standard input."""
    try:
        return file.tell()
    except OSError:
        return 0


def _value_of(sample: Fields, extension: str | None) -> str:
    """The given extension, else that of the first file that does not describe the others."""
    extensions = [extension for extension in sample if extension != SAMPLE_FIELD]
    if extension in extensions:
        return str(extension)
    named = (each for each in extensions if each.lower() == extension)
    values = (each for each in extensions if each.lower() not in _DESCRIPTIONS)
    return next(named, None) or next(values, extensions[0])


def _headers(sample: Fields, value_extension: str) -> Headers:
    headers: Headers = [(PATH_HEADER, f"{sample[SAMPLE_FIELD]}.{value_extension}".encode("utf-8", "surrogateescape"))]
    for extension, data in sample.items():
        if extension in (SAMPLE_FIELD, value_extension):
            continue
        if extension.lower() == _LABEL_EXTENSION:
            headers.append((LABEL_HEADER, data.strip()))
        else:
            headers.append((extension, data))
    return headers
