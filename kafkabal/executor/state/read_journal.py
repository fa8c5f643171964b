"""Reads a journal back. A last line that was cut off by a crash is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kafkabal.errors import InputFileError
from kafkabal.executor.state.journal_records import (
    JOURNAL_VERSION,
    Closed,
    Confirmed,
    EffectKind,
    Entered,
    Header,
    Intended,
    Record,
    ThrottleRate,
    ThrottleTaken,
    Unanswered,
)
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import Phase, RunState, left_behind
from kafkabal.executor.state.set_configs import SetConfigs
from kafkabal.input_files import ROWS, STDIN, FormatVersion, InputFile, open_input
from kafkabal.json_decoders import json_decoder

_DAMAGED = "the journal is damaged: this line cannot be read"


class _Version(msgspec.Struct):
    kafkabal_journal: FormatVersion | None = None


@dataclass(frozen=True, slots=True)
class JournalContent:
    """The content of a journal."""

    path: Path
    record: RunRecord
    state: RunState
    effects: int
    """Number of the last request."""
    unanswered: tuple[Intended, ...]
    """Requests that the cluster may or may not have executed."""
    problems: Mapping[str, str]
    valid_bytes: int
    """Length of the file up to the end of the last complete record."""
    set_configs: SetConfigs = field(default_factory=SetConfigs)
    """What the requests have set in configs and not removed since."""

    def left_behind(self) -> str:
        """What may remain on the cluster if nothing more is done, in words for people."""
        return left_behind(self.record, self.state)


def read_journal(path: Path | str) -> JournalContent:
    """Read a journal back.

    Raises
    ------
    InputFileError
        If it cannot be read, is not a journal, has a newer version, or has a malformed line before the last one.
    """
    with _open(path) as file:
        return _Fold(Path(path)).read(file)


def check_header(path: Path | str) -> None:
    """Check by its first line that a file is a journal that this version reads.

    Raises
    ------
    InputFileError
        If it cannot be read, is not a journal, or has a newer version.
    """
    with _open(path) as file:
        first = next(file.lines(), b"")
        _check_version(file, first)
        if not first.endswith(b"\n"):
            raise _no_journal(file)


def _open(path: Path | str) -> AbstractContextManager[InputFile]:
    if str(path) == STDIN:
        raise InputFileError(path, "a journal is written to as well and cannot be standard input")
    return open_input(path, ROWS, may_be_packed=False)


@dataclass(slots=True)
class _Fold:
    """Goes through the records once and accumulates the state."""

    path: Path
    header: Header | None = None
    planned: list[RunPartition] = field(default_factory=list)
    originals: list[Original] = field(default_factory=list)
    state: RunState = field(default_factory=lambda: RunState(batches=0))
    effects: int = 0
    open_effects: dict[int, Intended] = field(default_factory=dict)
    set_configs: SetConfigs = field(default_factory=SetConfigs)
    problems: dict[str, str] = field(default_factory=dict)
    is_started: bool = False

    def read(self, file: InputFile) -> JournalContent:
        decoder = json_decoder(Record)
        valid_bytes = 0
        torn: InputFileError | None = None
        for line in file.lines():
            if torn is not None:
                raise torn
            if file.line == 1:
                _check_version(file, line)
            try:
                record = file.decode(decoder, line, _DAMAGED)
            except InputFileError as error:
                torn = file.error(_DAMAGED)  # a crash may have cut off the last line, and only the last
                torn.__cause__ = error
                continue
            if not line.endswith(b"\n"):
                break
            if self._is_of_another_run(record):
                raise file.error("the journal is damaged: this line is of another run")
            self._take(record)
            valid_bytes += len(line)
        if self.header is None:
            raise torn or _no_journal(file)
        return self._content(self.header, valid_bytes)

    def _is_of_another_run(self, record: Record) -> bool:
        """Whether two journals are in one file: the partitions of both would be moved as those of one run."""
        if isinstance(record, Header):
            return self.header is not None
        return isinstance(record, RunPartition) and self.is_started

    def _take(self, record: Record) -> None:
        self.state.at = getattr(record, "at", self.state.at)
        if isinstance(record, ThrottleRate | ThrottleTaken):
            self._take_throttle(record)
            return
        match record:
            case Header():
                self.header = record
            case RunPartition():
                self.planned.append(record)
            case Original():
                (self.state.later_originals if self.is_started else self.originals).append(record)
            case Entered():
                self._enter(record)
            case Intended():
                self._intend(record)
            case Confirmed():
                self._confirm(record)
            case Unanswered():
                pass
            case Closed():
                self._close(record)

    def _enter(self, record: Entered) -> None:
        if record.batches is not None:
            self.state.batches = record.batches
        elif record.openings and not self.is_started:
            self.state.batches = None  # begun from a cluster record that does not count requests of other hosts
        self.is_started = True
        self.state.goal = record.goal
        self.state.phase, self.state.outcome = record.phase, None
        self.state.openings = record.openings

    def _intend(self, record: Intended) -> None:
        self.effects = record.number
        self.open_effects[record.number] = record
        self.set_configs.take(record)
        if record.kind is EffectKind.REASSIGN:
            self.state.count_batch()

    def _confirm(self, record: Confirmed) -> None:
        request = self.open_effects.pop(record.number, None)
        items = {item: request.items[item] for item in record.unanswered if item in request.items} if request else {}
        if request is not None and items:
            self.open_effects[record.number] = replace(request, items=items)

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
            unanswered=tuple(self.open_effects.values()),
            problems=self.problems,
            valid_bytes=valid_bytes,
            set_configs=self.set_configs,
        )


def _check_version(file: InputFile, first_line: bytes) -> None:
    try:
        version = file.decode(json_decoder(_Version), first_line, _DAMAGED).kafkabal_journal
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
