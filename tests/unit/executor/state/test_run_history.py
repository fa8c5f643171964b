"""The history of runs: from this host's journals and from the cluster's record, each run once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafkabal.clusters import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import apply, roll_back
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.run_history import run_history
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome

_FIRST, _SECOND = 0.0, 1000.0
"""When the two runs of :func:`_two_runs` began, in seconds after the first."""


def _two_runs(scene: Any, hosts: tuple[str, str] = ("one", "two")) -> tuple[list[str], float]:
    """Apply and roll back the plan on one host, then apply it on another; returns ids and the time of the first."""
    began_s = scene.memory.kafka.clock.utc_now().timestamp()
    first = apply(scene.environment(host=hosts[0]), scene.plan, scene.options)
    roll_back(scene.environment(host=hosts[0]))
    scene.memory.kafka.clock.sleep(began_s + _SECOND - scene.memory.kafka.clock.utc_now().timestamp())
    second = apply(scene.environment(host=hosts[1]), scene.plan, scene.options)
    assert first is not None
    assert second is not None
    return [first.run_id, second.run_id], began_s


def _without_records(scene: Any) -> InMemoryCluster:
    return InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])


def test_a_cluster_without_runs_has_no_history(scene: Any) -> None:
    """Neither journals nor a record: an empty history, not an error."""
    assert run_history(scene.environment()).runs == ()


def test_each_run_is_listed_once_the_latest_first(scene: Any) -> None:
    """Whichever host looks; what is summed up of a run is its latest state."""
    (first, second), _ = _two_runs(scene)
    for host in ("one", "two", "three"):
        latest, earlier = run_history(scene.environment(host=host)).runs
        assert (latest.run_id, latest.host, latest.goal) == (second, "two", Goal.APPLY)
        assert (earlier.run_id, earlier.host, earlier.goal) == (first, "one", Goal.ROLL_BACK)
        assert (latest.phase, latest.outcome) == (Phase.CLOSED, RunOutcome.COMPLETE)


def test_the_later_of_two_records_of_a_run_counts(scene: Any) -> None:
    """A run that another host has rolled back is listed as rolled back where its old journal is, too."""
    applied = apply(scene.environment(host="one"), scene.plan, scene.options)
    assert applied is not None
    scene.memory.kafka.clock.sleep(60.0)
    roll_back(scene.environment(host="two"))
    (listed,) = run_history(scene.environment(host="one")).runs
    assert (listed.run_id, listed.goal) == (applied.run_id, Goal.ROLL_BACK)


def test_a_record_that_was_not_updated_hides_no_later_journal(scene: Any) -> None:
    """As when nothing could be written to the cluster any more."""
    apply(scene.environment(), scene.plan, scene.options)
    before = dict(scene.memory.kafka.parts.records)
    scene.memory.kafka.clock.sleep(60.0)
    roll_back(scene.environment())
    scene.memory.kafka.parts.records.clear()
    scene.memory.kafka.parts.records.update(before)
    assert [run.goal for run in run_history(scene.environment()).runs] == [Goal.ROLL_BACK]
    assert [run.goal for run in run_history(scene.environment(host="two")).runs] == [Goal.APPLY]


@pytest.mark.parametrize(
    ("after_s", "listed"),
    [(None, 2), (_FIRST - 1e9, 2), (_FIRST, 2), (_FIRST + 1, 1), (_SECOND, 1), (_SECOND + 1, 0)],
)
def test_runs_since_a_time(scene: Any, after_s: float | None, listed: int) -> None:
    """Those that began at that very second are among them, earlier ones are not."""
    _, began_s = _two_runs(scene)
    since_s = None if after_s is None else began_s + after_s
    assert len(run_history(scene.environment(), since_s).runs) == listed


@pytest.mark.parametrize(
    ("dated", "listed"),
    [("not a date", 1), ("2100-01-01T00:00:00", 1), ("1971-01-01T00:00:00", 0), ("1971-01-01T00:00:00+00:00", 0)],
)
def test_a_run_whose_time_cannot_be_read_is_shown(scene: Any, dated: str, listed: int) -> None:
    """A journal of another version or edited by hand is not hidden; a time without a zone is taken as UTC."""
    apply(scene.environment(_without_records(scene)), scene.plan, scene.options)
    journal = scene.journal()
    began = run_history(scene.environment(_without_records(scene))).runs[0].started_at
    journal.write_text(journal.read_text().replace(began, dated))
    found = run_history(scene.environment(_without_records(scene)), since_s=10.0**9).runs
    assert len(found) == listed


@pytest.mark.parametrize("dated", ["2001-09-09T01:46:40", "2001-09-09T06:46:40+05:00"])
def test_a_time_without_a_zone_is_utc(scene: Any, monkeypatch: pytest.MonkeyPatch, dated: str) -> None:
    """Not the zone of this host, in which the same run would be hours earlier or later."""
    monkeypatch.setenv("TZ", "Etc/GMT+11")
    time.tzset()
    try:
        apply(scene.environment(_without_records(scene)), scene.plan, scene.options)
        journal = scene.journal()
        began = run_history(scene.environment(_without_records(scene))).runs[0].started_at
        journal.write_text(journal.read_text().replace(began, dated))
        history = [len(run_history(scene.environment(_without_records(scene)), s).runs) for s in (1e9, 1e9 + 1)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert history == [1, 0]


def test_journals_that_describe_no_run_are_left_out(scene: Any) -> None:
    """One that a crash cut off in its first line, and one of a run that was only prepared, hide no other."""
    (first, second), _ = _two_runs(scene, hosts=("one", "one"))
    whole = scene.journal().with_name(f"{second}.jsonl").read_bytes()
    header = whole.splitlines(keepends=True)[0]
    folder = scene.journal().parent
    (folder / "00000101T000000-cut.jsonl").write_bytes(header[:-5])
    (folder / "00000101T000001-new.jsonl").write_bytes(header.replace(second.encode(), b"00000101T000001-new"))
    assert [run.run_id for run in run_history(scene.environment(_without_records(scene))).runs] == [second, first]


def test_a_record_that_cannot_be_read_hides_no_journal(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's own runs are listed without it, and why others are missing is known."""
    (first, _), _ = _two_runs(scene)

    def unreadable(_: ClusterRecord) -> None:
        raise UnreachableError("no leader")

    monkeypatch.setattr(ClusterRecord, "load", unreadable)
    known = run_history(scene.environment(host="one"))
    assert ([run.run_id for run in known.runs], known.why_others_unknown) == ([first], "no leader")
