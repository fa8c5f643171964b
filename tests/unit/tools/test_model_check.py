"""The executor in a sample of its states; ``python -m tools.model_check`` explores all reachable ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kafkabal.clusters.simulated.cluster import MemoryRecordStore
from kafkabal.executor import run_setup
from kafkabal.executor.observe.copy_progress import CopyProgress
from kafkabal.executor.reassign.move_loop import MoveLoop
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence
from kafkabal.executor.safety.run_invariants import RunInvariants
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.read_journal import JournalContent
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.throttle import run_throttles
from kafkabal.executor.throttle.throttle_rules import NOTHING
from tools.model_check import checkpoint, fingerprint
from tools.model_check.checkpoint import OtherCodeError, load, save
from tools.model_check.invariants import ViolationError
from tools.model_check.search import LossyFingerprintError, Progress, Search
from tools.model_check.world import P0


def test_sample_of_all_states(tmp_path: Path) -> None:
    """With one disturbance at sampled moments, no invariant is violated, and every run can be ended."""
    figures = Search(Progress.at_first(1), tmp_path, one_in=5).run()
    assert figures.states > 500  # which ones are explored depends on the code; about 1,000 of them are
    assert figures.ends > 5


def test_all_orders_in_which_copies_arrive(tmp_path: Path) -> None:
    """Without disturbances, all orders in which copies arrive are explored."""
    figures = Search(Progress.at_first(0), tmp_path, audit_one_in=1).run()
    assert figures.is_complete
    assert figures.states > 100


def test_throttle_left_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that leaves its throttles behind is detected, with the steps that led there."""
    monkeypatch.setattr(run_throttles, "restore_rate", lambda *_: NOTHING)
    search = Search(Progress.at_first(0), tmp_path)
    with pytest.raises(ViolationError, match="not as operators have set them"):
        search.run()
    assert search.trail[0] == "one: apply"


def test_rate_without_a_record_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that sets throttles before it records them is detected."""
    monkeypatch.setattr(RunStore, "announce_rates", lambda *_: None)
    monkeypatch.setattr(RunInvariants, "check_configs", lambda *_: None)  # would stop it first
    with pytest.raises(ViolationError, match="which no record knows of"):
        Search(Progress.at_first(0), tmp_path).run()


def test_late_request_that_stays_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that does not look for what its late request has changed is detected."""
    monkeypatch.setattr(run_setup, "left_by_late_request", lambda *_: [])
    search = Search(Progress.at_first(1), tmp_path)
    with pytest.raises(ViolationError, match="not as operators have set them"):
        search.run()
    assert "call is sent only after another host has rolled the run back" in " ".join(search.trail)


def test_second_run_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that ignores its lock is detected when another host takes over."""
    monkeypatch.setattr(Fence, "check", lambda _: None)
    with pytest.raises(ViolationError, match="changes the cluster, the lock is held by"):
        Search(Progress.at_first(1), tmp_path).run()


def test_run_without_an_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that polls forever is detected."""
    monkeypatch.setattr(MoveLoop, "_is_finished", lambda *_, **__: False)
    with pytest.raises(ViolationError, match="would never end"):
        Search(Progress.at_first(0), tmp_path).run()


def test_states_mistaken_for_one_another_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fingerprint that omits relevant state is detected, since it would hide states."""
    monkeypatch.setattr(fingerprint._Freezer, "freeze", lambda *_: 0)
    with pytest.raises(LossyFingerprintError):
        Search(Progress.at_first(0), tmp_path, audit_one_in=1).run()


def _journal(path: Path, *, effects: int) -> JournalContent:
    """What a process has read of a journal with this many effects."""
    lines = b'{"record":"intended"}\n' * effects
    path.write_bytes(lines)
    record = RunRecord(
        run_id="r", plan_id="p", cluster_id="c", started_at="", host="h", options=RunOptions(), partitions=()
    )
    return JournalContent(path, record, RunState(), effects, (), {}, valid_bytes=len(lines))


def test_parsed_journals_are_compared_by_their_use(tmp_path: Path) -> None:
    """The number of entries read from a journal does not distinguish states; unread entries do: they are cut off."""
    few, many = (_journal(tmp_path / f"{n}.jsonl", effects=n) for n in (1, 9))
    freezer = fingerprint._Freezer(0.0, (1, "b"))
    assert freezer.freeze(few) == freezer.freeze(many)
    with many.path.open("ab") as file:
        file.write(b'{"record":"intended"}\n')
    assert freezer.freeze(few) != freezer.freeze(many)


def test_states_of_a_run_differ_by_whether_the_record_is_newer() -> None:
    """States differ by whether the record is newer, which decides what a process trusts."""
    older, newer = RunState(openings=1, at="a"), RunState(openings=1, at="b")
    freezer = fingerprint._Freezer(0.0, (1, "b"))
    assert freezer.freeze(older) != freezer.freeze(newer)


def test_keys_of_states_differ_by_how_often_the_run_was_reopened_since() -> None:
    """A process about to write its state is the same whenever it opened the run, unless another has reopened it."""
    early, late = (
        fingerprint._Freezer(0.0, (openings, "b")).freeze(f"run/r/state/{openings}/2026-01-01T00:00:0{openings}")
        for openings in (1, 2)
    )
    assert early == late
    assert fingerprint._Freezer(0.0, (2, "b")).freeze("run/r/state/1/2026-01-01T00:00:01") != early
    assert fingerprint._Freezer(0.0, (0, "b")).freeze("run/r/state") == early


def test_a_run_that_the_store_has_too_makes_no_state() -> None:
    """States do not differ by the run as the process found it, which the store has too, but by all else."""
    code = "def make_fence(run, known):\n def retake():\n  return run, known, sys._getframe()\n return retake"
    functions: dict[str, Any] = {"__name__": "kafkabal.executor.run_setup", "sys": sys}
    exec(code, functions)

    def stack(run: int, known: int) -> Any:
        return fingerprint._Freezer(0.0, (1, "b")).stack(functions["make_fence"](run, known)()[-1])

    assert stack(1, 1) == stack(2, 1) != stack(2, 2)


def test_functions_that_are_known_by_name_exist() -> None:
    """The variables that make no state belong to functions of the executor."""
    inner = [c for c in run_setup.make_fence.__code__.co_consts if "run" in getattr(c, "co_freevars", ())]
    found = {(code.co_qualname, "run") for code in (*inner, run_setup._taken_over.__code__)}
    assert found == fingerprint._OF_THE_STORE
    assert "run" in run_setup._taken_over.__code__.co_varnames


def test_states_differ_by_whether_another_process_has_reopened_the_run_as_well() -> None:
    """A state that arrives late is never believed, but the process that shares its number finds it."""
    store = MemoryRecordStore({})
    record = ClusterRecord(store)
    run = RunRecord(
        run_id="r", plan_id="p", cluster_id="c", started_at="", host="one", options=RunOptions(), partitions=()
    )
    record.begin(run, RunState(at="2026-01-01T00:00:00.000"))
    record.update(run.run_id, RunState(openings=1, at="2026-01-01T00:00:02.000"))
    alone = fingerprint._records(store.get_all())
    assert record.is_as_left(run.run_id)

    ClusterRecord(store).update(run.run_id, RunState(openings=1, at="2026-01-01T00:00:01.000"))
    assert not record.is_as_left(run.run_id)
    assert fingerprint._records(store.get_all()) != alone


def test_meters_of_copies_differ_by_what_they_will_count() -> None:
    """Two meters that began at different times differ, since they count different copies once these complete."""
    counts, counts_not = Mock(missing_on=(3,), misplaced=(), is_over=False), Mock(is_over=True)
    for task in (counts, counts_not):
        task.target.copy_bytes = 1000
        task.name = P0
    freezer = fingerprint._Freezer(0.0, (1, "b"))
    both = [CopyProgress([task], {}) for task in (counts, counts_not)]
    assert freezer.freeze(both[0]) != freezer.freeze(both[1])


def test_search_is_continued_from_a_file(tmp_path: Path) -> None:
    """A search in several parts visits the same states as one without interruption."""
    at_once, path = Progress.at_first(0), tmp_path / "search"
    Search(at_once, tmp_path / "one").run()
    while not (progress := load(path, Progress.at_first(0))).figures.is_complete:
        Search(progress, tmp_path / "two", most_states=len(progress.met) + 1).run()
        save(path, progress)
    assert progress.met == at_once.met
    assert progress.figures.states == at_once.figures.states


def test_processes_of_the_search_meet_the_same_states(tmp_path: Path) -> None:
    """What one part has explored, the next one recognises, although its files lie in another temporary folder."""
    for name in ("one", "two"):
        command = [sys.executable, "-m", "tools.model_check", "--disturbances", "1", "--states", "800"]
        subprocess.run([*command, "--checkpoint", str(tmp_path / name)], check=True, capture_output=True)
    one, two = (load(tmp_path / name, Progress.at_first(1)) for name in ("one", "two"))
    assert one.met.keys() == two.met.keys()


def test_search_of_other_code_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved search is refused after a change of the executor, or with other disturbances."""
    path = tmp_path / "search"
    save(path, Progress.at_first(0))
    for other in (Progress.at_first(1), Progress.at_first(0, is_ordinary=True)):
        with pytest.raises(OtherCodeError):
            load(path, other)
    monkeypatch.setattr(checkpoint, "_CODE", ("tools/seeds",))
    with pytest.raises(OtherCodeError):
        load(path, Progress.at_first(0))
