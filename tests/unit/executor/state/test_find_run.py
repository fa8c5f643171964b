"""Which run a command works on: from its host's journals and the cluster's record, and which of them counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters import Capability, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import InputFileError, NotAuthorizedError, UsageError
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.cluster_record import DamagedRunRecordError
from kafkabal.executor.state.find_run import _merged, find_run, find_run_by_id, latest_journal, refused_record
from kafkabal.executor.state.run_record import Original
from kafkabal.executor.state.run_states import Phase, RunOutcome, RunState


def _apply(scene: Any, host: str, **changes: Any) -> str:
    result = apply(scene.environment(host=host, **changes), scene.plan, scene.options)
    assert result is not None
    scene.memory.kafka.clock.sleep(60.0)
    return result.run_id


def _there_and_back(scene: Any, host: str) -> str:
    run_id = _apply(scene, host)
    roll_back(scene.environment(host=host))
    scene.memory.kafka.clock.sleep(60.0)
    return run_id


def _without_records(scene: Any) -> RunEnvironment:
    found: RunEnvironment = scene.environment(InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS]))
    return found


def test_journal_of_another_cluster(scene: Any) -> None:
    """A journal is not applied to another cluster."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.kafka.parts.cluster_id = "another"
    with pytest.raises(UsageError, match="journal of another cluster: simulated, not another") as refused:
        find_run(scene.environment(), scene.journal())
    assert refused.value.hint == "check --bootstrap-server and --journal"


def test_no_run(scene: Any) -> None:
    """A cluster without runs has none to find or roll back."""
    assert find_run(scene.environment()) is None
    with pytest.raises(UsageError, match=r"^no run found for this cluster(\n|$)") as refused:
        find_run_by_id(scene.environment(), None)
    assert refused.value.message == "no run found for this cluster"
    assert refused.value.hint == "give its journal with --journal; 'kafkabal rebalance history' lists the runs"
    with pytest.raises(UsageError, match=r"^unknown run: other(\n|$)"):
        find_run_by_id(scene.environment(), "other")


def test_journals_that_are_no_files_or_cannot_be_read(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a link to itself and a pipe are skipped; a journal that cannot be read is named, not skipped."""
    run_id = _apply(scene, "one")
    folder = scene.journal().parent
    (folder / "99990101T000000-aaaaaa.jsonl").mkdir()
    (folder / "99990101T000001-aaaaaa.jsonl").symlink_to("99990101T000001-aaaaaa.jsonl")
    os.mkfifo(folder / "99990101T000002-aaaaaa.jsonl")
    found = find_run(scene.environment(host="one"))
    assert found is not None
    assert found.record.run_id == run_id

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(InputFileError, match=r"\.jsonl: cannot read: Permission denied"):
        latest_journal(folder)


def test_a_damaged_journal_says_how_to_do_without_it(scene: Any) -> None:
    """It may be that of the latest run, so it is not skipped; the error names it, and what to do."""
    _apply(scene, "one")
    damaged = scene.journal().parent / "99990101T000000-aaaaaa.jsonl"
    damaged.write_text('{"a":1}\n')
    with pytest.raises(InputFileError, match=str(damaged)) as refused:
        latest_journal(damaged.parent)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("move the file elsewhere")
    with pytest.raises(InputFileError, match=str(damaged)) as refused:
        find_run(scene.environment(), damaged)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("leave out --journal")


def test_a_damaged_journal_of_an_older_run_names_the_rollback_plan(scene: Any) -> None:
    """Only the journal knows an older run, so the hint names the plan beside it, which rolls it back too."""
    older = _there_and_back(scene, "one")
    journal = scene.journal()
    _apply(scene, "one")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], b"\x00\n", *lines[2:]]))
    for plan in (str(journal.with_suffix(".rollback.json")), "the file that --rollback-file wrote"):
        with pytest.raises(InputFileError, match="line 2: the journal is damaged: this line cannot be read") as refused:
            find_run_by_id(scene.environment(host="one"), older)
        assert refused.value.hint == f"apply its rollback plan with 'kafkabal rebalance apply': {plan}"
        journal.with_suffix(".rollback.json").unlink(missing_ok=True)


def test_run_of_another_host(scene: Any) -> None:
    """A later run of another host is not hidden by an old journal here, nor mixed with it."""
    first = _there_and_back(scene, "one")
    second = _apply(scene, "two")
    here, there = (find_run(scene.environment(host=host)) for host in ("one", "two"))
    assert here is not None
    assert there is not None
    assert (here.record.run_id, here.journal) == (second, None)
    assert there.journal is not None
    assert there.journal.record.run_id == there.record.run_id == second
    # given by name, the old journal counts, whatever came after
    old = find_run(scene.environment(), scene.journal("one"))
    assert old is not None
    assert old.journal is not None
    assert (old.record.run_id, old.journal.path) == (first, scene.journal("one"))


def test_journal_of_the_recorded_run_among_others(scene: Any) -> None:
    """If this host's latest journal is of a replaced run, the recorded run comes with its own journal."""
    run_id = _there_and_back(scene, "one")
    journal = scene.journal()
    later = journal.with_name("29990101T000000-x.jsonl")
    later.write_bytes(journal.read_bytes().replace(run_id.encode(), b"29990101T000000-x"))
    found = find_run(scene.environment())
    assert found is not None
    assert found.journal is not None
    assert (found.record.run_id, found.journal.path.stem) == (run_id, run_id)
    # its journal was cut off at its very beginning, or never began: then the cluster knows more
    header = journal.read_bytes().splitlines(keepends=True)[0]
    for left in (header[:-5], header):
        journal.write_bytes(left)
        found = find_run(scene.environment())
        assert found is not None
        assert (found.record.run_id, found.journal) == (run_id, None)


def test_journal_that_was_dated_ahead(scene: Any) -> None:
    """A run that the record names as replaced is the older one, whatever its time."""
    first = _there_and_back(scene, "one")
    journal = scene.journal()
    second = _apply(scene, "one")
    dated = journal.read_bytes().replace(b'"started_at":"2026', b'"started_at":"2999')
    assert dated != journal.read_bytes()
    journal.with_name("29990101T000000-x.jsonl").write_bytes(dated)
    found = find_run(scene.environment())
    assert found is not None
    assert found.journal is not None
    assert (first, found.record.run_id, found.journal.path.stem) == (journal.stem, second, second)


def test_run_that_could_not_be_recorded(scene: Any) -> None:
    """A run started here after the recorded one counts, as when the record may no longer be written."""
    _there_and_back(scene, "two")
    result = apply(_without_records(scene), scene.plan, scene.options)
    assert result is not None
    found = find_run(scene.environment())
    assert found is not None
    assert found.record.run_id == result.run_id
    # where records are not kept at all, the journal is all there is
    assert find_run(_without_records(scene)) is not None


def test_run_by_id(scene: Any) -> None:
    """The latest run is found with or without its id, an older one by its id if this host has its journal."""
    first = _there_and_back(scene, "one")
    older = scene.journal()
    second = _apply(scene, "one")
    for run_id, expected in ((None, second), (second, second), (first, first)):
        assert find_run_by_id(scene.environment(), run_id).record.run_id == expected
    assert find_run_by_id(scene.environment(), None, older).record.run_id == first
    assert find_run_by_id(scene.environment(), first, older).record.run_id == first
    with pytest.raises(UsageError, match=rf"journal of another run: {first}, not {second}"):
        find_run_by_id(scene.environment(), second, older)
    with pytest.raises(UsageError, match=rf"^unknown run: {first}(\n|$)"):
        find_run_by_id(scene.environment(host="two"), first)
    # begun in name only: nothing to roll back
    older.write_bytes(older.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(UsageError, match=rf"^unknown run: {first}(\n|$)"):
        find_run_by_id(scene.environment(), first)


def _original(key: str) -> Original:
    return Original(kind=ResourceKind.BROKER, resource="1", key=key, value="1")


@pytest.mark.parametrize(
    ("local", "recorded", "is_local"),
    [((1, "b"), (1, "a"), True), ((1, "a"), (1, "b"), False), ((2, "a"), (1, "b"), True), ((1, "a"), (1, "a"), True)],
)
def test_two_states_of_a_run(local: tuple[int, str], recorded: tuple[int, str], is_local: bool) -> None:
    """The newer is chosen by openings, then by time, or the journal if equal; throttles come from both."""
    ours = RunState(openings=local[0], at=local[1], phase=Phase.MOVING, rates={"1", "2"})
    theirs = RunState(openings=recorded[0], at=recorded[1], phase=Phase.PAUSED, rates={"2", "3"})
    ours.later_originals = [_original("x"), _original("y")]
    theirs.later_originals = [_original("y"), _original("z")]
    found = _merged(ours, theirs)
    assert (found.phase is Phase.MOVING, found.rates) == (is_local, {"1", "2", "3"})
    assert sorted(o.key for o in found.later_originals) == ["x", "y", "z"]


def test_record_that_may_not_be_read(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A principal that may not read it gets an error; if there is none, or it may be read, nothing is reported."""
    assert refused_record(scene.memory) is None
    assert refused_record(InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])) is None
    denied = NotAuthorizedError("not authorized")

    def refuse(*_: Any) -> Any:
        raise denied

    monkeypatch.setattr(type(scene.memory), "records", refuse)
    assert refused_record(scene.memory) is denied


def _damage_record(scene: Any, run_id: str) -> None:
    del scene.memory.kafka.parts.records[f"run/{run_id}/0"]


def test_run_whose_record_is_damaged(scene: Any) -> None:
    """It is found by its journal if that is given, since another host may have continued it; and it can be resumed."""
    scene.crash_before("elect_preferred_leaders")
    run_id = scene.journal().stem
    _damage_record(scene, run_id)
    with pytest.raises(DamagedRunRecordError, match=f"the run record of {run_id} on the cluster is incomplete"):
        find_run(scene.environment())
    found = find_run(scene.environment(), scene.journal())
    assert found is not None
    assert (found.record.run_id, found.state.phase) == (run_id, Phase.ELECTING)
    assert resume(scene.environment(), journal=scene.journal()).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()
    closed = find_run(scene.environment(host="another"))
    assert closed is not None
    assert (closed.record.run_id, closed.is_open) == (run_id, False)
