"""The journal: what it refuses, and what it tolerates."""

from __future__ import annotations

import errno
import gzip
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kafkabal.clusters import ResourceKind
from kafkabal.clusters.simulated.cluster import MemoryRecordStore
from kafkabal.errors import InputFileError, OutputError
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle
from kafkabal.executor.safety.cluster_lock import LockLostError
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.journal_records import (
    Closed,
    Confirmed,
    EffectKind,
    Entered,
    Intended,
    Record,
    ThrottleRate,
    ThrottleTaken,
    Unanswered,
)
from kafkabal.executor.state.read_journal import check_header, read_journal
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.plan.plan import Placement
from kafkabal.units import parse_duration, parse_throttle, parse_whole_number


def _record(partitions: int = 2) -> RunRecord:
    return RunRecord(
        run_id="20260101T000000-x",
        plan_id="p",
        cluster_id="c",
        started_at="2026-01-01T00:00:00+00:00",
        host="h",
        options=RunOptions(),
        partitions=tuple(
            RunPartition(
                topic="t",
                partition=n,
                previous=Placement(replicas=(1,), leader=1, log_dirs=("/d",)),
                replicas=(2,),
                log_dirs=("any",),
                copy_bytes=n,
            )
            for n in range(partitions)
        ),
    )


def test_round_trip(tmp_path: Path) -> None:
    """Everything known when the run started is read back."""
    path = tmp_path / "deep" / "run.jsonl"
    Journal.create(path, _record()).close()
    content = read_journal(path)
    assert content.record == _record()
    assert content.state == RunState(batches=0)
    assert content.left_behind() == "run 20260101T000000-x left nothing on the cluster"


_RETENTION = Original(kind=ResourceKind.TOPIC, resource="t", key="retention.ms", value="1")
_RATE = Original(kind=ResourceKind.BROKER, resource="2", key="rate")


def test_every_record_is_read_back(tmp_path: Path) -> None:
    """The whole header, the originals of before and after the start, and the last word of each kind of record."""
    begun = msgspec.structs.replace(
        _record(),
        options=RunOptions(throttle=Throttle(bytes_per_s=3)),
        originals=(_RETENTION,),
        cordons=(_RATE,),
        user="me",
        why="--drain 3",
    )
    journal = Journal.create(tmp_path / "j.jsonl", begun)
    moves = Intended(at="2", number=1, kind=EffectKind.REASSIGN, items={"t-0": [2]})
    configs = Intended(at="4", number=2, kind=EffectKind.CONFIGS, items={})
    journal.append(
        Entered(at="1", goal=Goal.ROLL_BACK, phase=Phase.MOVING, openings=2, batches=5),
        _RATE,
        ThrottleRate(at="1", value="3"),
        ThrottleRate(at="1", value="9"),
        ThrottleTaken(at="1", throttle=Throttle(bytes_per_s=9), asked_at="0"),
        moves,
        Unanswered(at="3", number=1, error="lost"),
        configs,
        Confirmed(at="5", number=2, failed={"t": "no"}),
        Closed(at="6", outcome=RunOutcome.PARTIAL, pending=["rate"], problems={"t-1": "gone"}),
    )
    journal.close()
    content = read_journal(tmp_path / "j.jsonl")
    assert content.record == begun
    assert content.state == RunState(
        at="6",
        openings=2,
        goal=Goal.ROLL_BACK,
        phase=Phase.CLOSED,
        rates={"3", "9"},
        throttle=Throttle(bytes_per_s=9),
        asked_at="0",
        batches=6,
        later_originals=[_RATE],
        outcome=RunOutcome.PARTIAL,
        pending=["rate"],
    )
    assert (content.effects, content.unanswered, content.problems) == (2, (moves,), {"t-1": "gone"})
    assert content.path == tmp_path / "j.jsonl"


_MOVES = Intended(at="", number=1, kind=EffectKind.REASSIGN, items={})


def _entered(openings: int, batches: int | None = None) -> Entered:
    return Entered(at="", goal=Goal.APPLY, phase=Phase.MOVING, openings=openings, batches=batches)


@pytest.mark.parametrize(
    ("records", "batches"),
    [
        ([_entered(0), _MOVES, _MOVES], 2),
        ([_entered(0), _MOVES, Intended(at="", number=2, kind=EffectKind.ELECT, items={})], 1),
        ([_entered(0), _MOVES, _entered(1), _MOVES], 2),
        ([_entered(0), _MOVES, _entered(1, batches=7), _MOVES], 8),
        # a journal of this host that begins with a reopened run, recorded by a version that did not count
        ([_entered(1), _MOVES], None),
        ([_entered(1, batches=7), _MOVES], 8),
    ],
)
def test_requests_that_started_moves_are_counted(tmp_path: Path, records: list[Record], batches: int | None) -> None:
    """Those of all hosts, as far as the journal can know; of other requests none."""
    Journal.create(tmp_path / "j.jsonl", _record(), *records).close()
    assert read_journal(tmp_path / "j.jsonl").state.batches == batches


def test_a_run_that_is_entered_again_has_no_outcome(tmp_path: Path) -> None:
    """A closed run that was reopened is open."""
    closed = Closed(at="", outcome=RunOutcome.COMPLETE)
    Journal.create(tmp_path / "j.jsonl", _record(), _entered(0), closed, _entered(1)).close()
    state = read_journal(tmp_path / "j.jsonl").state
    assert (state.phase, state.outcome) == (Phase.MOVING, None)


@pytest.mark.parametrize(
    ("records", "left"),
    [
        ([_entered(0)], "run {} may have reassignments in flight"),
        ([_entered(0), _RATE], "run {} may have reassignments in flight"),
        (
            [_entered(0), ThrottleRate(at="", value="9"), _RATE, _RETENTION],
            "run {} may have reassignments in flight, and throttles on broker 2, topic t",
        ),
        ([_entered(0), Closed(at="", outcome=RunOutcome.COMPLETE)], "run {} left nothing on the cluster"),
    ],
)
def test_what_a_run_has_left_behind(tmp_path: Path, records: list[Record], left: str) -> None:
    """Throttles are named only once a rate may have been set; a closed run has left nothing."""
    Journal.create(tmp_path / "j.jsonl", _record(), *records).close()
    assert read_journal(tmp_path / "j.jsonl").left_behind() == left.format(_record().run_id)


def test_a_run_cannot_be_opened_again_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal stays unchanged, and the hint names the alternative."""
    path = tmp_path / "run.jsonl"
    Journal.create(path, _record()).close()
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kafkabal.atomic_files.os.fsync", full)
    with pytest.raises(OutputError) as refused:
        Journal(path, keep_bytes=len(before))
    assert (refused.value.hint or "").startswith("free disk space, cancel the run, or work on it from another host")
    assert path.read_bytes() == before


def test_unanswered_requests_are_known(scene: Any) -> None:
    """A request that never got a response is named when the journal is read."""
    scene.crash_before("alter_reassignments")
    content = read_journal(scene.journal())
    assert [intended.kind for intended in content.unanswered] == ["reassign"]
    assert "may have reassignments in flight, and throttles on broker 1" in content.left_behind()


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "no header in the first line", 1),
        ("{}\n", "no header in the first line", 1),
        ("not json\n", "no header in the first line", 1),
        ('{"kafkabal_journal":99}\n', "journal version 99 is not supported; this kafkabal reads versions up to 1", 1),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str, line: int) -> None:
    """A file that is no journal, or a newer one, is refused with the line."""
    path = tmp_path / "j.jsonl"
    path.write_text(text)
    with pytest.raises(InputFileError, match=message) as refused:
        read_journal(path)
    assert refused.value.line == line
    assert ("use the version of kafkabal" in (refused.value.hint or "")) == ("99" in text)


def test_missing(tmp_path: Path) -> None:
    """A missing journal is one clear line."""
    with pytest.raises(InputFileError, match="cannot read"):
        read_journal(tmp_path / "none.jsonl")


def test_damaged_in_the_middle(tmp_path: Path) -> None:
    """A broken line before the last one is not from our crash, and is refused with its number."""
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[1])
    with pytest.raises(InputFileError, match="line 2"):
        read_journal(path)


def test_torn_tail_is_overwritten(tmp_path: Path) -> None:
    """Half a record at the end is dropped, and the next record takes its place."""
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"record":"ent')
    content = read_journal(path)
    assert content.valid_bytes == len(whole)
    journal = Journal(path, keep_bytes=content.valid_bytes)
    journal.append(Entered(at="now", goal=Goal.ROLL_BACK, phase=Phase.MOVING))
    journal.close()
    assert read_journal(path).state.goal is Goal.ROLL_BACK


def test_a_record_without_the_end_of_its_line(tmp_path: Path) -> None:
    """A crash cut off the last byte: the record may be whole, and is dropped and overwritten all the same."""
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    whole = path.read_bytes()
    path.write_bytes(whole + msgspec.json.encode(_entered(0)))
    content = read_journal(path)
    assert (content.valid_bytes, content.state.phase) == (len(whole), Phase.PREPARED)


def test_an_answer_whose_request_is_unknown(tmp_path: Path) -> None:
    """It says nothing about the others."""
    answers = (_MOVES, Confirmed(at="", number=9), Unanswered(at="", number=1, error="lost"))
    Journal.create(tmp_path / "j.jsonl", _record(), _entered(0), *answers).close()
    assert read_journal(tmp_path / "j.jsonl").unanswered == (_MOVES,)


class _FillingFile:
    """A file on a disk that accepts so many bytes of each write, or none: by default, 10 of one and then none."""

    def __init__(self, file: Any, *writes: int | None) -> None:
        self._file = file
        self._writes = iter(writes or [10, None])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        """Write as much as there is room for."""
        room = next(self._writes, len(data))
        if room is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(data[:room]))


@pytest.mark.parametrize("is_tolerant", [False, True])
def test_half_a_record_on_a_disk_that_fills(tmp_path: Path, is_tolerant: bool) -> None:
    """A record truncated by a full disk is removed: later records follow complete lines only."""
    path = tmp_path / "j.jsonl"
    journal = Journal.create(path, _record())
    journal.append(Entered(at="now", goal=Goal.APPLY, phase=Phase.RECORDED))
    journal._file = cast("Any", _FillingFile(journal._file))
    journal.is_tolerant = is_tolerant
    with nullcontext() if is_tolerant else pytest.raises(OutputError, match=r"No space left.*\n.*rebalance resume"):
        journal.append(Entered(at="now", goal=Goal.APPLY, phase=Phase.MOVING))
    assert path.read_bytes().endswith(b"\n")
    assert (journal.gap == "No space left on device") == is_tolerant
    journal.is_tolerant = True
    for phase in (Phase.CANCELLING, Phase.RESTORING):
        journal.append(Entered(at="now", goal=Goal.APPLY, phase=phase))
    journal.close()
    assert read_journal(path).state.phase is Phase.RESTORING


def test_records_written_in_parts(tmp_path: Path) -> None:
    """A write that takes only a part is continued where it ended."""
    journal = Journal.create(tmp_path / "j.jsonl", _record())
    journal._file = cast("Any", _FillingFile(journal._file, 10, 5, 20))
    journal.append(*(Entered(at="now", goal=Goal.ROLL_BACK, phase=phase) for phase in (Phase.MOVING, Phase.ELECTING)))
    journal.close()
    state = read_journal(tmp_path / "j.jsonl").state
    assert (state.goal, state.phase) == (Goal.ROLL_BACK, Phase.ELECTING)


def test_journals_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Standard input and a compressed file are refused: a command that reads a journal continues it."""
    with pytest.raises(InputFileError, match="cannot be standard input"):
        read_journal("-")
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputFileError):
        read_journal(path)


def test_former_writer_does_no_harm(tmp_path: Path) -> None:
    """Whatever a superseded process still writes never mixes with the writes of the run's current process."""
    path = tmp_path / "j.jsonl"
    former = Journal.create(path, _record())
    journal = Journal(path, keep_bytes=read_journal(path).valid_bytes)
    journal.append(Entered(at="now", goal=Goal.ROLL_BACK, phase=Phase.MOVING))
    former.append(Entered(at="later", goal=Goal.APPLY, phase=Phase.RESTORING))
    journal.append(Entered(at="now", goal=Goal.ROLL_BACK, phase=Phase.ELECTING))
    former.append(Entered(at="later", goal=Goal.APPLY, phase=Phase.RESTORING))
    journal.close()
    former.close()
    assert read_journal(path).state.phase is Phase.ELECTING


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A file in place of the folder is named in one clear line, before anything is changed."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file is not a folder"):
        Journal.create(tmp_path / "file" / "j.jsonl", _record())


def test_every_write_is_confirmed() -> None:
    """If the lock is lost between two writes of the cluster's record, nothing more is written."""
    records: dict[str, bytes] = {}
    record_in_cluster = ClusterRecord(MemoryRecordStore(records))
    answers = iter([True, True, False])

    def confirm() -> None:
        if not next(answers):
            raise LockLostError("lost")

    with record_in_cluster.confirming(confirm), pytest.raises(LockLostError):
        record_in_cluster.begin(_record(), RunState())
    assert len(records) == 2
    record_in_cluster.begin(_record(), RunState())
    assert record_in_cluster.run_id() == _record().run_id


def test_run_that_the_cluster_records() -> None:
    """A run in many parts is reassembled, and replaces the previous one except for one line."""
    records: dict[str, bytes] = {}
    record_in_cluster = ClusterRecord(MemoryRecordStore(records))
    assert record_in_cluster.load() is None
    record_in_cluster.begin(_record(), RunState())
    state = RunState(phase=Phase.MOVING, rates={"5"}, later_originals=[Original(kind="broker", resource="1", key="k")])
    large = RunRecord(**{f: getattr(_record(5000), f) for f in RunRecord.__struct_fields__} | {"run_id": "later"})
    record_in_cluster.begin(large, state)
    assert record_in_cluster.run_id() == "later"
    assert record_in_cluster.load() == (large, state)
    assert [key for key in records if "20260101" in key] == [f"history/{_record().run_id}"]
    assert [run.run_id for run in record_in_cluster.earlier_runs()] == [_record().run_id]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace(b'"run_id":"', b'"run_id":"../', 1), 1),
        (lambda text: text.replace(b'"poll_s":1.0', b'"poll_s":-1.0', 1), 1),
        (lambda text: text.replace(b'"log_dirs":["any"]', b'"log_dirs":[]', 1), 2),
        (lambda text: text.replace(b'"topic":"t"', b'"topic":"\xff"', 1), 2),
        (lambda text: text.replace(b'"record":"planned"', b'"record":"planted"', 1), 2),
        (lambda text: text.replace(b'"topic":"t"', b"\x00" * 11, 1), 2),
    ],
)
def test_damaged_records(tmp_path: Path, damage: Any, line: int) -> None:
    """Ids that lead to other folders, meaningless numbers, damaged text: the file and the line, in words of ours."""
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    with pytest.raises(InputFileError) as refused:
        read_journal(path)
    assert str(refused.value) == f"{path}, line {line}: the journal is damaged: this line cannot be read"


def test_two_journals_in_one_file(tmp_path: Path) -> None:
    """Partitions of two runs are not taken for those of one, whether the second header is there or not."""
    path = tmp_path / "j.jsonl"
    journal = Journal.create(path, _record())
    journal.append(Entered(at="", goal=Goal.APPLY, phase=Phase.MOVING))
    journal.close()
    whole = path.read_bytes()
    for second, line in ((whole, 5), (whole.split(b"\n", 1)[1], 5)):
        path.write_bytes(whole + second)
        with pytest.raises(InputFileError, match=f"line {line}: the journal is damaged: this line is of another run"):
            read_journal(path)


def test_the_largest_options_of_the_command_line(tmp_path: Path) -> None:
    """Whatever the command line accepts is read back: otherwise no command could go on after such a run."""
    rate, count = parse_throttle(f"{2**63 - 1}"), parse_whole_number(f"{2**63 - 1}")
    largest = RunOptions(
        throttle=Throttle(bytes_per_s=rate, log_dir_bytes_per_s=rate),
        limits=RunLimits(moves_in_per_broker=count, moves_out_per_broker=count),
        max_runtime_s=parse_duration("11574d"),
    )
    record = msgspec.structs.replace(_record(), options=largest)
    Journal.create(tmp_path / "j.jsonl", record).close()
    assert read_journal(tmp_path / "j.jsonl").record.options == largest
    on_cluster = ClusterRecord(MemoryRecordStore({}))
    on_cluster.begin(record, RunState())
    assert on_cluster.load() == (record, RunState())


def test_file_that_is_no_journal(tmp_path: Path) -> None:
    """A first line that is another record, or none at all, is told from a damaged journal."""
    path = tmp_path / "j.jsonl"
    for text in (b'{"record":"rate","at":"","value":"5"}\n', b"\x00\xff\n", b"{}\n"):
        path.write_bytes(text)
        with pytest.raises(InputFileError, match="line 1: not a kafkabal journal: no header in the first line"):
            read_journal(path)


def test_disk_that_is_full_when_a_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint does not suggest resuming a run that never started, and no file is left of it."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kafkabal.executor.state.journal.os.fsync", full)
    with pytest.raises(OutputError) as refused:
        Journal.create(tmp_path / "run.jsonl", _record())
    assert "No space left on device" in refused.value.message
    assert refused.value.hint == "nothing was started; free disk space, then try again"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free disk space"),
        (errno.EDQUOT, "free disk space"),
        (errno.EFBIG, "raise the limit of file sizes (ulimit -f)"),
        (errno.EACCES, "make it writable for this user"),
        (errno.EROFS, "make its file system writable"),
        (errno.EIO, "check the path and its disk"),
    ],
)
def test_the_hint_fits_the_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    """No hint says to free space on a disk that is read-only, at the start of a run, during it or at its resume."""
    path = tmp_path / "run.jsonl"
    journal = Journal.create(path, _record())

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("kafkabal.executor.state.journal.os.fsync", fail)
    with pytest.raises(OutputError) as during:
        journal.append(_entered(0))
    with pytest.raises(OutputError) as at_resume:
        Journal(path, keep_bytes=path.stat().st_size)
    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(OutputError) as at_start:
        Journal.create(tmp_path / "other.jsonl", _record())
    journal.close()
    assert during.value.hint == f"{remedy}, then run 'kafkabal rebalance resume'"
    assert (at_resume.value.hint or "").startswith(f"{remedy}, cancel the run, or work on it from another host")
    assert at_start.value.hint == f"nothing was started; {remedy}, then try again"
    assert all(os.strerror(number) in error.value.message for error in (during, at_resume, at_start))


def test_deleted_journal_is_written_again(tmp_path: Path) -> None:
    """With all that was in it, and what comes next goes to the new file; one that is in place is left alone."""
    path = tmp_path / "c" / "run.jsonl"
    journal = Journal.create(path, _record())
    assert not journal.restore_if_deleted()
    path.unlink()
    path.parent.rmdir()
    assert journal.restore_if_deleted()
    assert not journal.is_continued_elsewhere()
    journal.append(ThrottleRate(at="1", value="7"))
    assert not journal.restore_if_deleted()
    journal.close()
    content = read_journal(path)
    assert (content.record, content.state.rates) == (_record(), {"7"})


def test_journal_of_another_process_is_not_replaced(tmp_path: Path) -> None:
    """A process that wakes up after another one has continued its run leaves that one's journal as it is."""
    path = tmp_path / "run.jsonl"
    journal = Journal.create(path, _record())
    other = Journal(path, keep_bytes=path.stat().st_size)
    other.append(ThrottleRate(at="1", value="7"))
    assert journal.is_continued_elsewhere()
    assert not journal.restore_if_deleted()
    journal.append(ThrottleRate(at="1", value="8"))
    journal.close()
    other.close()
    assert read_journal(path).state.rates == {"7"}


def test_deleted_journal_that_cannot_be_written_again(tmp_path: Path) -> None:
    """The error says what to do; a run that only cancels and restores continues without those records."""
    path = tmp_path / "c" / "run.jsonl"
    journal = Journal.create(path, _record())
    path.unlink()
    path.parent.rmdir()
    path.parent.touch()
    with pytest.raises(OutputError, match=r"run\.jsonl: cannot write") as error:
        journal.restore_if_deleted()
    assert error.value.hint == "check the path and its disk, then run 'kafkabal rebalance resume'"
    journal.is_tolerant = True
    assert not journal.restore_if_deleted()
    assert "cannot write" in journal.gap
    journal.close()


def test_header_alone_is_checked(tmp_path: Path) -> None:
    """A journal of any length is known by its first line; what is no journal is refused as when it is read."""
    path = tmp_path / "run.jsonl"
    Journal.create(path, _record()).close()
    header, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(header + b"\ndamaged\n" + rest)
    check_header(path)
    for content in (
        b"",
        header,
        b"damaged\n",
        header.replace(b'"kafkabal_journal":1', b'"kafkabal_journal":2') + b"\n",
    ):
        path.write_bytes(content)
        with pytest.raises(InputFileError) as checked:
            check_header(path)
        with pytest.raises(InputFileError) as read:
            read_journal(path)
        assert str(checked.value) == str(read.value)
