"""The manifest of what `produce` has sent: the files in their order, and how far they are acknowledged.

An append-only file of JSON lines::

    {"kafkabal_manifest":1,"id":"4f…","cluster_id":"Mk…","topic":"img","topic_id":"Xy…","source":"folder /data",…}
    {"part":{"name":"cat/1.jpg","size_bytes":4711,"mtime_ns":…,"records":1}}
    {"through":1200,"offsets":{"0":517,"1":498},"checksums":{"0":"9f…"},"rows":{"rows":1200,"sha256":"5e…"}}
    {"touched":{"0":{"name":"cat/1.jpg","size_bytes":4711,"mtime_ns":…,"records":1}}}
    {"void":3}
    {"state":"clean"}

* Records are numbered from 0 over all parts in order.
* All records below ``through`` are acknowledged or given up for good. Later records may be in the topic too: at or
  after ``offsets`` of their partition. A line has only the offsets that changed since the line before.
* A void part is not considered again. A touched part has a new time but the same content as before.
* ``checksums`` has the files of which records are in the topic, by the number of their part.
* ``rows`` has the checksum of the first rows of a source of rows: of those below ``through``, or of fewer in manifests
  of versions that did not know the checksum within a block.
* A name that is not UTF-8 has its bytes in ``raw_name``, in base64.
* A run writes ``running`` before its first record, and ``clean`` once nothing is in flight and nothing from ``through``
  on is in the topic.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal, Self

import msgspec
from filelock import FileLock

from kafkabal.closing_context import ClosingContext
from kafkabal.errors import BusyError, InputFileError, OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.input_files import ROWS, InputFile, open_input
from kafkabal.json_decoders import json_decoder
from kafkabal.sources import Part, RowChecksum, escaped_name
from kafkabal.wording import system_fault

_VERSION = 1
_NO_MANIFEST = "not a manifest of kafkabal produce"
_BEGIN = b'{"kafkabal_manifest":'
_ENCODER = msgspec.json.Encoder()


class ManifestHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest belongs to."""

    kafkabal_manifest: int = _VERSION
    id: str
    """Random; with its number it names a record, in the header ``kafkabal-record``."""
    cluster_id: str
    topic: str
    topic_id: str
    source: str
    options: dict[str, str] | None = None
    """The other options that the records depend on; None in manifests of versions that did not record them."""
    offsets: dict[int, int]
    """End offset of each partition when the run began."""


class _PartLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A part, with its name in a form that fits into JSON."""

    name: str
    raw_name: bytes = b""
    size_bytes: int = 0
    mtime_ns: int = 0
    records: int = -1


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    part: _PartLine | None = None
    through: int | None = None
    offsets: dict[int, int] | None = None
    checksums: dict[int, str] | None = None
    rows: RowChecksum | None = None
    touched: dict[int, _PartLine] | None = None
    void: int | None = None
    state: Literal["running", "clean"] | None = None


class SendManifest(ClosingContext):
    """A manifest that is open for one run; create it with :meth:`open` or :meth:`in_memory`."""

    def __init__(self, header: ManifestHeader, path: Path | None, file: IO[bytes] | None) -> None:
        self.header = header
        self.parts: list[Part] = []
        self.void: set[int] = set()
        self.checksums: dict[int, str] = {}
        """SHA-256 of files of which records are in the topic, by part number; not known for all of them."""
        self.rows: RowChecksum | None = None
        """Checksum of the first rows of a source, all of which are in the topic."""
        self.through = 0
        self.offsets: dict[int, int] = dict(header.offsets)
        self.is_clean = True
        self._path = path
        self._file = file
        self._lock: FileLock | None = None

    @classmethod
    def in_memory(cls, header: ManifestHeader) -> Self:
        """A manifest that is dropped when the run ends."""
        return cls(header, None, None)

    @classmethod
    def open(cls, path: Path, header: ManifestHeader) -> Self:
        """Create a manifest, or continue the existing one.

        Raises
        ------
        BusyError
            If another run has it open.
        InputFileError
            If it is damaged, or belongs to another topic or source, or was begun with other options.
        OutputError
            If it cannot be written.
        """
        lock = acquire_file_lock(path, lambda: BusyError(f"{path}: manifest in use by another process"))
        try:
            file = path.open("a+b")
        except OSError as error:
            lock.release()
            raise OutputError(f"cannot write {path}: {system_fault(error)}") from error
        try:
            opened = cls._resume(path, file, header) if path.stat().st_size else cls._begin(path, file, header)
        except BaseException:
            _close(file)
            lock.release()
            raise
        return opened.releasing_at_close(lock)

    def releasing_at_close(self, lock: FileLock) -> Self:
        """This manifest, set to release a lock when it is closed."""
        self._lock = lock
        return self

    @property
    def is_kept(self) -> bool:
        """Whether a later run will find it."""
        return self._file is not None

    def add_parts(self, parts: Iterable[Part]) -> None:
        """Append files to the list; their records are numbered after all existing ones."""
        added = list(parts)
        self.parts += added
        self._append(*(_Line(part=_part_line(part)) for part in added))

    def touch_parts(self, touched: Mapping[int, Part]) -> None:
        """Record that parts have a new time or, with more rows, a new size, but still the content that was sent."""
        if touched:
            for index, part in touched.items():
                self.parts[index] = part
            self._append(_Line(touched={index: _part_line(part) for index, part in touched.items()}))

    def start_over(self, new_id: str, offsets: Mapping[int, int]) -> None:
        """Forget everything that was sent: all of it is sent again, under a new id.

        Parameters
        ----------
        offsets
            Current end offset of each partition.
        """
        self.header = msgspec.structs.replace(self.header, id=new_id, offsets=dict(offsets))
        self.parts, self.void, self.checksums, self.rows = [], set(), {}, None
        self.through, self.offsets, self.is_clean = 0, dict(offsets), True
        if self._file is not None:
            self._file.truncate(0)
            self._append(self.header)

    def void_parts(self, indexes: Sequence[int]) -> None:
        """Give up parts: their unsent records will not be sent."""
        self.void.update(indexes)
        self._append(*(_Line(void=index) for index in indexes))

    def checkpoint(
        self,
        through: int,
        offsets: Mapping[int, int],
        checksums: Mapping[int, str] | None = None,
        rows: RowChecksum | None = None,
    ) -> None:
        """Record how far the run has come; on disk when the call returns.

        Parameters
        ----------
        checksums
            Of files of which records are in the topic since the last checkpoint.
        rows
            Checksum of some of the records below ``through``; None if it covers no more than the last one.
        """
        # all offsets of 10,000 partitions, every second, would be 14 GB a day
        changed = {partition: offset for partition, offset in offsets.items() if self.offsets.get(partition) != offset}
        # a file of a million chunks has one checksum
        news = {index: sha256 for index, sha256 in (checksums or {}).items() if self.checksums.get(index) != sha256}
        if through != self.through or changed or news or rows:
            line = _Line(through=through, offsets=changed, rows=rows)
            line.checksums = news or None
            self._append(line)
            # only after the write: the next checkpoint then repeats a line that failed or that a signal cut short
            self._apply(line)

    def mark_running(self) -> None:
        """Record that records may be in flight from now on."""
        self.is_clean = False
        self._append(_Line(state="running"))

    def mark_clean(self) -> None:
        """Record that nothing is in flight any more, and that only records below ``through`` are in the topic."""
        self.is_clean = True
        self._append(_Line(state="clean"))

    def close(self) -> None:
        """Release it for another run."""
        if self._file is not None:
            _close(self._file)
        if self._lock is not None:
            self._lock.release()

    @classmethod
    def _begin(cls, path: Path, file: IO[bytes], header: ManifestHeader) -> Self:
        manifest = cls(header, path, file)
        manifest._append(header)
        return manifest

    @classmethod
    def _resume(cls, path: Path, file: IO[bytes], header: ManifestHeader) -> Self:
        decoder = json_decoder(_Line)
        manifest: Self | None = None
        whole_bytes = 0
        torn = b""
        with open_input(path, ROWS, may_be_packed=False) as opened:
            for text in opened.lines():
                if not text.endswith(b"\n"):
                    torn = text
                    break
                whole_bytes += len(text)
                if manifest is None:
                    manifest = cls(_read_header(opened, text, header), path, file)
                else:
                    manifest._apply(opened.decode(decoder, text, "is damaged"))
        if manifest is None:
            if torn[: len(_BEGIN)] != _BEGIN[: len(torn)]:
                raise InputFileError(path, _NO_MANIFEST, line=1)
            file.truncate(0)  # a full disk or a kill ended the run before it sent anything
            return cls._begin(path, file, header)
        # a crash may have cut off the last line; nothing has relied on it yet
        file.truncate(whole_bytes)
        return manifest

    def _apply(self, line: _Line) -> None:
        if line.state is not None:
            self.is_clean = line.state == "clean"
        if line.part is not None:
            self.parts.append(_part_of(line.part))
        if line.void is not None:
            self.void.add(line.void)
        if line.through is not None and line.offsets is not None:
            self.through = line.through
            self.offsets.update(line.offsets)
        if line.checksums is not None:
            self.checksums.update(line.checksums)
        if line.rows is not None:
            self.rows = line.rows
        for index, part in (line.touched or {}).items():
            if not 0 <= index < len(self.parts):
                raise InputFileError(self._path or "", f"is damaged: part {index} is missing")
            self.parts[index] = _part_of(part)

    def _append(self, *rows: msgspec.Struct) -> None:
        if self._file is None or not rows:
            return
        try:
            self._file.write(_ENCODER.encode_lines(rows))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(
                f"{self._path}: cannot write the manifest: {system_fault(error)}",
                hint="free disk space, then run the same command again: it continues where this run stopped",
            ) from error


def _close(file: IO[bytes]) -> None:
    # the failed write has reported the error; closing flushes again, and would raise another one
    with suppress(OSError):
        file.close()


def _part_line(part: Part) -> _PartLine:
    shown = escaped_name(part.name)
    return _PartLine(
        name=shown,
        raw_name=b"" if shown == part.name else os.fsencode(part.name),
        size_bytes=part.size_bytes,
        mtime_ns=part.mtime_ns,
        records=part.records,
    )


def _part_of(line: _PartLine) -> Part:
    name = os.fsdecode(line.raw_name) if line.raw_name else line.name
    return Part(name=name, size_bytes=line.size_bytes, mtime_ns=line.mtime_ns, records=line.records)


def _read_header(file: InputFile, line: bytes, expected: ManifestHeader) -> ManifestHeader:
    path = file.path
    header = file.decode(json_decoder(ManifestHeader), line, _NO_MANIFEST)
    if header.kafkabal_manifest != _VERSION:
        raise InputFileError(
            path, f"manifest version {header.kafkabal_manifest} is not supported, only {_VERSION}", line=1
        )
    hint = "to start over, name a new file with --manifest"
    if (header.cluster_id, header.topic) != (expected.cluster_id, expected.topic):
        where = f"topic {header.topic} of cluster {header.cluster_id}"
        raise InputFileError(path, f"manifest of {where}", hint=hint)
    if header.topic_id != expected.topic_id:
        raise InputFileError(
            path, f"manifest of an earlier topic {header.topic} that has been deleted since", hint=hint
        )
    if header.source != expected.source:
        raise InputFileError(path, f"manifest of another source: {header.source}, not {expected.source}", hint=hint)
    if header.options is not None and header.options != (expected.options or {}):
        begun, now = _difference(header.options, expected.options or {})
        raise InputFileError(path, f"manifest of other options: {begun}, not {now}", hint=hint)
    return header


def _difference(begun: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, str]:
    """The options that differ, as each of the two has them."""
    differing = [option for option in sorted({*begun, *now}) if begun.get(option) != now.get(option)]

    def text(options: Mapping[str, str]) -> str:
        return " and ".join(f"{name} {options[name]}" if name in options else f"no {name}" for name in differing)

    return text(begun), text(now)


def lacks_recorded_options(path: Path) -> bool:
    """Whether this manifest was begun by a version that did not record its options."""
    try:
        with open_input(path, ROWS, may_be_packed=False) as file:
            first = next(file.lines(), b"")
            return file.decode(json_decoder(ManifestHeader), first, _NO_MANIFEST).options is None
    except InputFileError:
        return False
