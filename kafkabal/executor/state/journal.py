"""The journal of a run: append-only JSON Lines, on disk before and after every effect on the cluster.

The first line is a header with the version; then come the planned partitions and the original configs, then what
happens. A last line that was cut off by a crash is ignored, and overwritten by the next record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec

from kafkabal.atomic_files import replacing
from kafkabal.errors import InputFileError, OutputError
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.state.run_record import Original, PlannedPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.input_files import ROWS, STDIN, InputFile, open_input

JOURNAL_VERSION = 1
_NO_RECORD = "invalid journal record"


class EffectKind(StrEnum):
    """What a request asks of the cluster."""

    REASSIGN = "reassign"
    CANCEL = "cancel"
    LOG_DIRS = "log-dirs"
    ELECT = "elect"
    CONFIGS = "configs"


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """First line: which run, of which plan, on which cluster, and how."""

    kafkabal_journal: int
    run_id: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$")]
    """Names the file of the journal, too."""
    plan_id: str
    cluster_id: str
    started_at: str
    host: str
    options: RunOptions
    cordons: tuple[Original, ...] = ()
    user: str = ""
    why: str = ""


class Entered(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="entered"):
    """The run enters a phase, towards a goal."""

    at: str
    goal: Goal
    phase: Phase
    openings: int = 0
    """How often the run was opened again."""


class ThrottleRate(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="rate"):
    """A throttle of this value may be set from now on."""

    at: str
    value: str


class ThrottleTaken(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="throttle"):
    """The run has another throttle from now on."""

    at: str
    throttle: Throttle
    asked_at: str
    """The latest request for a throttle that was taken; empty if there was none."""


class Intended(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="intended"):
    """A request is about to be sent."""

    at: str
    number: int
    kind: EffectKind
    items: dict[str, Any]


class Confirmed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="confirmed"):
    """Its answer came; items that failed are named."""

    at: str
    number: int
    failed: dict[str, str] = {}


class Unanswered(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="unanswered"):
    """No answer came: it may have been done or not."""

    at: str
    number: int
    error: str


class Closed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="closed"):
    """The run has ended."""

    at: str
    outcome: RunOutcome
    pending: list[str] = []
    problems: dict[str, str] = {}


Record: TypeAlias = (
    Header
    | PlannedPartition
    | Original
    | Entered
    | ThrottleRate
    | ThrottleTaken
    | Intended
    | Confirmed
    | Unanswered
    | Closed
)


class _Version(msgspec.Struct):
    kafkabal_journal: int | None = None


class Journal:
    """An open journal; every record is on disk when :meth:`append` returns.

    Attributes
    ----------
    is_tolerant
        Set while a run is being wound down: an error of the disk is then kept in ``error`` and not raised, since
        leaving throttles behind would be worse than leaving a gap in the journal.
    """

    def __init__(self, path: Path, *, keep_bytes: int = 0) -> None:
        self.path = path
        self.is_tolerant = False
        self.error: OSError | None = None
        self._encode = msgspec.json.Encoder().encode
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if keep_bytes:
                _leave_to_former_writers(path, keep_bytes)
            self._file = path.open("r+b" if path.exists() else "w+b", buffering=0)
            self._file.truncate(keep_bytes)
            self._file.seek(keep_bytes)
        except OSError as error:
            raise OutputError(f"{path}: cannot write the journal: {error.strerror or error}") from error

    @classmethod
    def create(cls, path: Path, record: RunRecord, *more: Record) -> Journal:
        """Begin the journal of a run with everything that is known before its first effect, and more records."""
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
            journal.close()
            # without its first records a journal is no run: nothing can be resumed from it
            raise OutputError(error.message, hint="nothing was started; free disk space, then try again") from error
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, *records: Record) -> None:
        """Write records and wait until the disk has them.

        Raises
        ------
        OutputError
            If it cannot be written, unless the journal is tolerant.
        """
        lines = b"".join(self._encode(r) + b"\n" for r in records)
        try:
            written = 0
            while written < len(lines):
                written += self._file.write(lines[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            if not self.is_tolerant:
                message = f"{self.path}: cannot write the journal: {error.strerror or error}"
                raise OutputError(message, hint="free disk space, then run 'kafkabal rebalance resume'") from error
            self.error = error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class JournalContent:
    """What a journal holds."""

    path: Path
    record: RunRecord
    state: RunState
    effects: int
    """Number of the last effect."""
    batches: int
    """Requests that started moves."""
    unanswered: tuple[Intended, ...]
    """Requests that the cluster may or may not have executed."""
    problems: Mapping[str, str]
    valid_bytes: int
    """Length up to the end of the last whole record."""

    def left_behind(self) -> str:
        """What may be on the cluster if nothing more is done, for people."""
        if self.state.is_clean or not self.state.has_begun:
            return f"run {self.record.run_id} left nothing on the cluster"
        known = (*self.record.originals, *self.state.later_originals) if self.state.rates else ()
        throttled = sorted({str(o.of) for o in known})
        throttles = f", and throttles on {', '.join(throttled)}" if throttled else ""
        return f"run {self.record.run_id} may have reassignments in flight{throttles}"


def read_journal(path: Path | str) -> JournalContent:
    """Read a journal back.

    Raises
    ------
    InputFileError
        If it cannot be read, is not a journal, is of a newer version, or a line before the last one is malformed.
    """
    if str(path) == STDIN:
        raise InputFileError(path, "a journal is written to as well and cannot be standard input")
    with open_input(path, ROWS, may_be_packed=False) as file:
        return _Fold(Path(path)).read(file)


@dataclass(slots=True)
class _Fold:
    """Goes through the records once and keeps what matters."""

    path: Path
    header: Header | None = None
    planned: list[PlannedPartition] = field(default_factory=list)
    originals: list[Original] = field(default_factory=list)
    state: RunState = field(default_factory=RunState)
    effects: int = 0
    batches: int = 0
    open_effects: dict[int, Intended] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    is_started: bool = False

    def read(self, file: InputFile) -> JournalContent:
        decoder = msgspec.json.Decoder(Record)
        valid_bytes = 0
        torn: InputFileError | None = None
        for line in file.lines():
            if torn is not None:
                raise torn
            if file.line == 1:
                _check_version(file, line)
            try:
                record = file.decode(decoder, line, _NO_RECORD)
            except InputFileError as error:
                torn = error  # a crash may have cut off the last line, and only that
                continue
            if not line.endswith(b"\n"):
                break
            self._take(record)
            valid_bytes += len(line)
        if self.header is None:
            raise torn or _no_journal(file)
        return self._content(self.header, valid_bytes)

    def _take(self, record: Record) -> None:
        self.state.at = getattr(record, "at", self.state.at)
        if isinstance(record, ThrottleRate | ThrottleTaken):
            self._take_throttle(record)
            return
        match record:
            case Header():
                self.header = record
            case PlannedPartition():
                self.planned.append(record)
            case Original():
                (self.state.later_originals if self.is_started else self.originals).append(record)
            case Entered():
                self.is_started = True
                self.state.goal = record.goal
                self.state.phase, self.state.outcome = record.phase, None
                self.state.openings = record.openings
            case Intended():
                self.effects = record.number
                self.batches += record.kind is EffectKind.REASSIGN
                self.open_effects[record.number] = record
            case Confirmed():
                self.open_effects.pop(record.number, None)
            case Unanswered():
                pass
            case Closed():
                self._close(record)

    def _take_throttle(self, record: ThrottleRate | ThrottleTaken) -> None:
        if isinstance(record, ThrottleRate):
            self.state.rates.add(record.value)
        else:
            self.state.throttle, self.state.asked_at = record.throttle, record.asked_at

    def _close(self, record: Closed) -> None:
        self.state.phase = Phase.CLOSED
        self.state.outcome = record.outcome
        self.state.pending = record.pending
        self.problems = record.problems

    def _content(self, header: Header, valid_bytes: int) -> JournalContent:
        record = RunRecord(
            run_id=header.run_id,
            plan_id=header.plan_id,
            cluster_id=header.cluster_id,
            started_at=header.started_at,
            host=header.host,
            options=header.options,
            cordons=header.cordons,
            user=header.user,
            why=header.why,
            partitions=tuple(self.planned),
            originals=tuple(self.originals),
        )
        return JournalContent(
            path=self.path,
            record=record,
            state=self.state,
            effects=self.effects,
            batches=self.batches,
            unanswered=tuple(self.open_effects.values()),
            problems=self.problems,
            valid_bytes=valid_bytes,
        )


def _check_version(file: InputFile, first_line: bytes) -> None:
    try:
        version = file.decode(msgspec.json.Decoder(_Version), first_line, _NO_RECORD).kafkabal_journal
    except InputFileError:
        version = None
    if version is None:
        raise _no_journal(file)
    if version > JOURNAL_VERSION:
        raise file.error(
            f"journal version {version} is not supported; this kafkabal reads versions up to {JOURNAL_VERSION}",
            hint="use the version of kafkabal that started the run, or a later one",
        )


def _no_journal(file: InputFile) -> InputFileError:
    return file.error("not a kafkabal journal: no header in the first line", line=1)


def _leave_to_former_writers(path: Path, keep_bytes: int) -> None:
    """Go on in a copy under the same name.

    A process of this host that stood still while its run was taken over still has the journal open. Once continued, it
    may write a record or two before it finds that out, over those of the process that has the run now: a journal in
    which lines overlap can never be read again. What it writes goes to the former file, which has no name any more.
    """
    kept = path.read_bytes()[:keep_bytes]
    with replacing(path) as file:
        file.write(kept)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file survive a power loss as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
