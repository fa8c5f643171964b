"""The journal of a run: append-only JSON Lines, written to disk before and after every request to the cluster.

If a crash cuts off the last line, the next record overwrites it.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from kafkabal.atomic_files import make_folder_of, replacing, write_new
from kafkabal.errors import OutputError
from kafkabal.executor.file_identity import is_missing, is_still_named
from kafkabal.executor.state.journal_records import JOURNAL_VERSION, Header, Record
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.wording import system_fault

_MAKE_WRITABLE: Final = "make it writable for this user"
_REMEDIES: Final = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.EACCES: _MAKE_WRITABLE,
    errno.EPERM: _MAKE_WRITABLE,
    errno.EROFS: "make its file system writable",
}
"""What lets a journal be written again; any other error is one of the disk or of the path."""


def rollback_plan_path(journal: Path) -> Path:
    """Where a run writes its rollback plan, unless it was given another place."""
    return journal.with_suffix(".rollback.json")


class Journal:
    """An open journal; every record is on disk when :meth:`append` returns.

    Attributes
    ----------
    is_tolerant
        Set while a run is being wound down: a disk error is then kept in ``gap`` instead of raised, since leftover
        throttles would be worse than a gap in the journal.
    gap
        Why records are missing from it; empty if none are.
    """

    def __init__(self, path: Path, *, keep_bytes: int = 0) -> None:
        self.path = path
        self.is_tolerant = False
        self.gap = ""
        self._encode = msgspec.json.Encoder().encode
        try:
            make_folder_of(path)
            if keep_bytes:
                _leave_to_former_writers(path, keep_bytes)
            self._file = path.open("r+b" if path.exists() else "w+b", buffering=0)
            self._file.truncate(keep_bytes)
            self._file.seek(keep_bytes)
            self._whole_bytes = keep_bytes
        except (OSError, OutputError) as error:
            raise _cannot_open(path, error, is_new=not keep_bytes) from error

    @classmethod
    def create(cls, path: Path, record: RunRecord, *more: Record) -> Journal:
        """Begin the journal of a run with everything known before its first request, and more records."""
        journal = cls(path)
        header = Header(
            kafkabal_journal=JOURNAL_VERSION,
            run_id=record.run_id,
            plan_id=record.plan_id,
            cluster_id=record.cluster_id,
            started_at=record.started_at,
            host=record.host,
            options=record.options,
            cordons=record.cordons,
            user=record.user,
            why=record.why,
        )
        try:
            journal.append(header, *record.partitions, *record.originals, *more)
            _sync_folder(path.parent)
        except OutputError as error:
            journal.discard()
            # a journal without its first records describes no run: nothing could be resumed from it
            raise _cannot_open(path, error, is_new=True) from error
        except BaseException:
            journal.discard()
            raise
        return journal

    def is_continued_elsewhere(self) -> bool:
        """Whether another process has continued the run since: the file of this name is another one."""
        return not is_missing(self.path) and not is_still_named(self.path, os.fstat(self._file.fileno()))

    def restore_if_deleted(self) -> bool:
        """Write the journal again under its name if another program has deleted it; returns whether one has.

        What is written to a file without a name ends with this process, and nothing could resume the run.

        Raises
        ------
        OutputError
            If it cannot be written again, unless it is tolerant.
        """
        if not is_missing(self.path):
            return False
        try:
            self._file.seek(0)
            make_folder_of(self.path)
            with suppress(FileExistsError):  # another process that continues the run was faster
                write_new(self.path, self._file.read())
                former, self._file = self._file, self.path.open("r+b", buffering=0)
                former.close()
            self._file.seek(self._whole_bytes)
        except (OSError, OutputError) as error:
            self._note_gap(error)
            return False
        return True

    def append(self, *records: Record) -> None:
        """Write records, and return once they are on disk.

        Raises
        ------
        OutputError
            If the journal cannot be written, unless it is tolerant.
        """
        lines = b"".join(self._encode(r) + b"\n" for r in records)
        try:
            written = 0
            while written < len(lines):
                written += self._file.write(lines[written:])
            self._whole_bytes += len(lines)
            os.fsync(self._file.fileno())
        except OSError as error:
            self._drop_torn_line()
            self._note_gap(error)

    def _note_gap(self, error: OSError | OutputError) -> None:
        """Keep why a record is missing; raise it unless the journal is tolerant."""
        if not self.is_tolerant:
            hint = f"{_remedy(error)}, then run 'kafkabal rebalance resume'"
            raise OutputError(_cannot_write(self.path, error), hint=hint) from error
        self.gap = system_fault(error) if isinstance(error, OSError) else error.message

    def _drop_torn_line(self) -> None:
        """Remove a record that a full disk cut off: with more behind it, the journal could never be read again."""
        with suppress(OSError):
            self._file.truncate(self._whole_bytes)
            self._file.seek(self._whole_bytes)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def discard(self) -> None:
        """Close and delete it: a host whose disk is full every night would collect an empty journal of each."""
        self.close()
        with suppress(OSError):
            self.path.unlink()


class UnwritableJournal(Journal):
    """Stands in for a journal that cannot be opened, if the run is only wound down."""

    def __init__(self, path: Path, gap: str) -> None:
        self.path = path
        self.is_tolerant = True
        self.gap = gap

    def is_continued_elsewhere(self) -> bool:
        """Whether a file of its name is there, which then is not this one."""
        return not is_missing(self.path)

    def restore_if_deleted(self) -> bool:
        """Write nothing."""
        return False

    def append(self, *records: Record) -> None:
        """Write nothing, and leave a gap."""

    def close(self) -> None:
        """Do nothing: no file is open."""


def _leave_to_former_writers(path: Path, keep_bytes: int) -> None:
    """Continue in a copy under the same name.

    A suspended process of this host whose run was taken over still has the journal open. When it wakes up, it may write
    a record or two before it notices, over those of the process that has the run now: a journal with overlapping lines
    can never be read again. Whatever it writes goes to the former file, which no longer has a name.
    """
    kept = path.read_bytes()[:keep_bytes]
    with replacing(path) as file:
        file.write(kept)


def _cannot_open(path: Path, error: OSError | OutputError, *, is_new: bool) -> OutputError:
    """The error of a journal that cannot be begun, or not be continued."""
    message = _cannot_write(path, error)
    if is_new:
        return not_started(message, error)
    hint = f"{_remedy(error)}, cancel the run, or work on it from another host, if the cluster keeps its record"
    return OutputError(message, hint=hint)


def _cannot_write(path: Path, error: OSError | OutputError) -> str:
    return f"{path}: cannot write the journal: {system_fault(error)}" if isinstance(error, OSError) else error.message


def not_started(message: str, error: OSError | OutputError) -> OutputError:
    """The error of a file without which a run does not begin."""
    return OutputError(message, hint=f"nothing was started; {_remedy(error)}, then try again")


def _remedy(error: OSError | OutputError) -> str:
    """What lets the journal be written again."""
    cause = error if isinstance(error, OSError) else error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    return _REMEDIES.get(number or 0, "check the path and its disk")


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file survive a power loss too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
