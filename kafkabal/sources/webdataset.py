"""Reads samples of a WebDataset archive: a ``.tar`` in which adjacent files with the same name before the first dot
form one sample.

See the WebDataset format specification. A sample is sent as one record: its value is one of its files, its label the
text of its ``.cls`` file, and every other file a header named by its extension, so that nothing is lost.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, Any, Final

from kafkabal.sources.record_headers import CHECKSUM_HEADER, CHUNK_HEADER, LABEL_HEADER, PATH_HEADER, is_utf8
from kafkabal.sources.row_reader_protocol import BadRowError, Fields, Rows, WantedFields
from kafkabal.sources.source_protocol import Headers, printable

SAMPLE_FIELD: Final = "__key__"
_LABEL_EXTENSION: Final = "cls"
# files that describe a sample; they become its value only if it has nothing else
_DESCRIPTIONS: Final = frozenset({"cls", "cls2", "id", "json", "txt", "index", "inx"})
# files of other extensions become headers of that name, and readers would take these for our own
_RESERVED: Final = frozenset({SAMPLE_FIELD, PATH_HEADER, CHECKSUM_HEADER, CHUNK_HEADER})
_BLOCK_BYTES: Final = 1 << 20
"""Members are some kB to MB, so several of them share one read."""


def webdataset_rows(file: IO[bytes], size_bytes: int, wanted: WantedFields) -> Iterator[Rows]:  # noqa: ARG001
    """Samples of an archive, plain or compressed; the fields of a row are its files by extension, and ``__key__``.

    Raises
    ------
    BadRowError
        If it is not an archive, is cut off, or a sample has two files of one extension, a reserved one, or a hard link.
    """
    texts: list[bytes] = []
    fields: list[Fields] = []
    headers: list[Headers] = []
    first, held_bytes = 1, 0
    fault = None
    samples = _samples(file)
    while True:
        try:
            sample = next(samples, None)
        except (tarfile.TarError, EOFError, OSError) as error:
            fault = BadRowError(first + len(texts), f"is not a tar archive, or cut off: {error}")
            break
        except BadRowError as error:
            fault = BadRowError(first + len(texts), error.message)
            break
        if sample is None:
            break
        value_extension = wanted.value if wanted.value in sample else _value_of(sample)
        texts.append(sample[value_extension])
        fields.append(sample)
        headers.append(_headers(sample, value_extension))
        held_bytes += sum(map(len, sample.values()))
        if held_bytes >= _BLOCK_BYTES:
            yield Rows(texts, fields, range(first, first + len(texts)), held_bytes, headers)
            first, held_bytes = first + len(texts), 0
            texts, fields, headers = [], [], []
    if texts:
        yield Rows(texts, fields, range(first, first + len(texts)), held_bytes, headers)
    if fault is not None:
        raise fault


def _samples(file: IO[bytes]) -> Iterator[Fields]:
    """The files of each sample by extension, in archive order."""
    sample: Fields = {}
    with _opened(file) as archive:
        while (member := archive.next()) is not None:
            # tarfile keeps all that it has read, and a million members would take 1 GB
            archive.members.clear()  # type: ignore[attr-defined]
            folder, slash, name = member.name.rpartition("/")
            stem, dot, extension = name.partition(".")
            if not (member.isfile() or member.islnk()) or not (stem and dot):
                continue
            key = f"{folder}{slash}{stem}"
            if sample and sample[SAMPLE_FIELD] != key:
                yield sample
                sample = {}
            if member.islnk():  # the file it names may lie gigabytes back in the stream
                raise BadRowError(None, f"{member.name!r} is a hard link to another file of the archive")
            if extension in _RESERVED or not is_utf8(extension):
                why = "is reserved" if extension in _RESERVED else "is not UTF-8"
                raise BadRowError(None, f"extension of {printable(member.name)!r} {why}")
            opened: Any = archive.extractfile(member)
            if extension in sample:
                raise BadRowError(None, f"has two files named {member.name!r}")
            sample |= {SAMPLE_FIELD: key, extension: opened.read()}
            if len(sample[extension]) < member.size:
                raise EOFError("unexpected end of data")
    if sample:
        yield sample


def _opened(file: IO[bytes]) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=file, mode="r|*")
    except TypeError:
        # tarfile indexes a byte of the gzip header without checking that it exists
        raise EOFError("the gzip header ends early") from None


def _value_of(sample: Fields) -> str:
    """The extension of the first file that does not describe the others."""
    extensions = [extension for extension in sample if extension != SAMPLE_FIELD]
    return next((each for each in extensions if each not in _DESCRIPTIONS), extensions[0])


def _headers(sample: Fields, value_extension: str) -> Headers:
    headers: Headers = [(PATH_HEADER, f"{sample[SAMPLE_FIELD]}.{value_extension}".encode("utf-8", "surrogateescape"))]
    for extension, data in sample.items():
        if extension == _LABEL_EXTENSION != value_extension:
            headers.append((LABEL_HEADER, data.strip()))
        elif extension not in (SAMPLE_FIELD, value_extension):
            headers.append((extension, data))
    return headers
