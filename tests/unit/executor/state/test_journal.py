"""The journal: what it refuses, and what it tolerates."""

from __future__ import annotations

import errno
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from kafkabal.clusters.simulated.cluster import MemoryRecordStore
from kafkabal.errors import InputFileError, OutputError
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import LockLostError
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.journal_records import Entered
from kafkabal.executor.state.read_journal import read_journal
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.plan.plan import Placement


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


def test_a_run_cannot_be_opened_again_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal stays unchanged, and the hint names the alternative."""
    path = tmp_path / "run.jsonl"
    Journal.create(path, _record()).close()
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> Any:
        raise OutputError(f"{path}: cannot write: No space left on device")

    monkeypatch.setattr("kafkabal.executor.state.journal.replacing", full)
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


class _FillingFile:
    """A file on a disk that accepts 10 more bytes of one write, and has room again later."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._writes = iter([10, None])

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
    journal._file = cast("Any", _FillingFile(journal._file))
    journal.is_tolerant = is_tolerant
    with nullcontext() if is_tolerant else pytest.raises(OutputError, match="No space left"):
        journal.append(Entered(at="now", goal=Goal.APPLY, phase=Phase.MOVING))
    journal.is_tolerant = True
    for phase in (Phase.CANCELLING, Phase.RESTORING):
        journal.append(Entered(at="now", goal=Goal.APPLY, phase=phase))
    journal.close()
    assert read_journal(path).state.phase is Phase.RESTORING


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
    """A folder that cannot be written is one clear line, before anything is changed."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write the journal"):
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
    ("damage", "message"),
    [
        (lambda text: text.replace(b'"record":"run"', b'"record":"rate"', 1), "line 1"),
        (lambda text: text.replace(b'"run_id":"', b'"run_id":"../', 1), "run_id"),
        (lambda text: text.replace(b'"log_dirs":["any"]', b'"log_dirs":[]', 1), "line 2.*0 log_dirs for 1 replica"),
        (lambda text: text.replace(b'"poll_s":1.0', b'"poll_s":-1.0', 1), "poll_s"),
        (lambda text: text.replace(b'"topic":"t"', b'"topic":"\xff"', 1), "line 2: invalid journal record: not"),
    ],
)
def test_damaged_records(tmp_path: Path, damage: Any, message: str) -> None:
    """A wrong first line, ids that lead to other folders, lists that do not match, meaningless numbers."""
    path = tmp_path / "j.jsonl"
    Journal.create(path, _record()).close()
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    with pytest.raises(InputFileError, match=message):
        read_journal(path)


def test_disk_that_is_full_when_a_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint does not suggest resuming a run that never started."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kafkabal.executor.state.journal.os.fsync", full)
    with pytest.raises(OutputError) as refused:
        Journal.create(tmp_path / "run.jsonl", _record())
    assert "No space left on device" in refused.value.message
    assert refused.value.hint == "nothing was started; free disk space, then try again"
