"""The tool dies at any call of the cluster or any write of the journal; the next process finds all it needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.simulated.fault_injection import Call
from kafkabal.executor.execute_run import apply, cancel, repair_run, resume, roll_back
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.read_journal import read_journal
from kafkabal.executor.state.run_states import Phase

_SAMPLE = pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.sweep)])
"""A sample of the moments on every run, all of them for a sweep."""


def _calls(make_scene: Callable[[], Any]) -> int:
    scene = make_scene()
    apply(scene.environment(), scene.plan, scene.options)
    return len(scene.faulty.calls)


def _die_at(scene: Any, number: int, when: str) -> None:
    def hook(call: Call) -> None:
        if call.number == number:
            raise scene.Crash

    getattr(scene.faulty, when).append(hook)


def _apply_and_die(scene: Any) -> None:
    try:
        apply(scene.environment(), scene.plan, scene.options)
    except scene.Crash:
        return


@_SAMPLE
@pytest.mark.parametrize("remains", ["journal", "topic"])
@pytest.mark.parametrize("then", ["resume", "roll back", "cancel"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_crash_at_any_call(make_scene: Callable[[], Any], when: str, then: str, remains: str, every: int) -> None:
    """Whatever call the tool dies at, before or after it took effect, nothing is lost and nothing is left behind."""
    first = 1 + sum(map(len, (when, then, remains))) % every
    for number in range(first, _calls(make_scene) + 1, every):
        scene = make_scene()
        _die_at(scene, number, when)
        _apply_and_die(scene)
        environment = scene.next_process(host="one" if remains == "journal" else "two")
        if find_run(environment) is None:
            scene.assert_as_at_start()
        elif then == "resume":
            with suppress(RunClosedError):  # it died after it had closed the run
                resume(environment)
            scene.assert_as_planned()
        elif then == "roll back":
            roll_back(environment)
            scene.assert_as_at_start()
        else:
            with suppress(RunClosedError):
                cancel(environment)
            scene.assert_clean()


@_SAMPLE
def test_crash_at_any_call_of_the_resume(make_scene: Callable[[], Any], every: int) -> None:
    """A resumed run that dies too is resumed again, wherever it died."""
    died_at = 40
    number, is_over = 1, False
    while not is_over:
        scene = make_scene()
        _die_at(scene, died_at, "after")
        _apply_and_die(scene)
        environment = scene.next_process()
        _die_at(scene, number, "before")
        try:
            resume(environment)
            is_over = True
        except scene.Crash:
            with suppress(RunClosedError):
                resume(scene.next_process())
        scene.assert_as_planned()
        number += every


@_SAMPLE
@pytest.mark.parametrize("torn", [False, True], ids=["between records", "within a record"])
def test_crash_at_any_write_of_the_journal(
    make_scene: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, torn: bool, every: int
) -> None:
    """A journal truncated anywhere, even within a record, is read and resumed from."""
    scene = make_scene()
    apply(scene.environment(), scene.plan, scene.options)
    whole = scene.journal().read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    append = Journal.append
    for end in ends[::every]:
        scene = make_scene()

        def cut(journal: Journal, *records: Any, end: int = end, scene: Any = scene) -> None:
            append(journal, *records)
            if journal.path.stat().st_size >= end:
                os.truncate(journal.path, end - (7 if torn else 0))
                raise scene.Crash

        monkeypatch.setattr(Journal, "append", cut)
        _apply_and_die(scene)
        monkeypatch.setattr(Journal, "append", append)
        environment = scene.next_process()
        if find_run(environment) is None:
            scene.assert_as_at_start()
            continue
        with suppress(RunClosedError):
            resume(environment)
        scene.assert_as_planned()
        assert read_journal(scene.journal()).state.phase is Phase.CLOSED


def test_copy_of_the_journal_on_another_host(make_scene: Callable[[], Any], tmp_path: Path) -> None:
    """A copy of the journal is enough to continue elsewhere, even without the cluster's record."""
    scene = make_scene()
    _die_at(scene, 50, "after")
    _apply_and_die(scene)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(scene.journal().read_bytes())
    scene.memory.kafka.parts.records.clear()
    resume(scene.next_process(host="two"), journal=copy)
    scene.assert_as_planned()


@pytest.mark.parametrize("undo", [cancel, roll_back, repair_run])
def test_throttles_of_a_killed_run_that_brokers_show_late(
    scene: Any, monkeypatch: pytest.MonkeyPatch, undo: Callable[[Any], Any]
) -> None:
    """Brokers show configs as they were before the run, for 45 s after it was killed: none of its throttles stays."""
    clock, configs, shown = scene.memory.kafka.clock, type(scene.memory).configs, dict[Any, Any]()

    def as_before(memory: Any, resources: Any, keys: Any) -> Any:
        found, faults = configs(memory, resources, keys)
        for resource, values in found.items():
            shown.setdefault((resource, *keys), values)
        is_late = clock.monotonic() < began_s + 45.0
        return ({r: shown[r, *keys] if is_late else values for r, values in found.items()}), faults

    began_s = clock.monotonic()
    monkeypatch.setattr(type(scene.memory), "configs", as_before)
    environment = scene.crash_before("alter_reassignments")
    assert clock.monotonic() < began_s + 45.0
    assert undo(environment).pending == []
    scene.assert_clean()


def test_repair_after_a_crash_leaves_moves_alone(make_scene: Callable[[], Any]) -> None:
    """Repair restores throttles that no move needs; once the moves are complete, it restores the rest."""
    scene = make_scene()
    _die_at(scene, 30, "after")
    _apply_and_die(scene)
    environment = scene.next_process()
    scene.memory.kafka.clock.sleep(600.0)
    assert not scene.memory.reassignments()
    result = repair_run(environment)
    assert result.pending == []
    assert scene.configs_now() == scene.configs


def test_every_phase_is_died_in(make_scene: Callable[[], Any]) -> None:
    """The calls at which the tests kill the tool cover every phase in which a run makes calls."""
    phases = set()
    for number in range(1, _calls(make_scene) + 1, 2):
        scene = make_scene()
        _die_at(scene, number, "before")
        _apply_and_die(scene)
        journals = list((scene.folder / "one").glob("*/*.jsonl"))
        phases |= {read_journal(path).state.phase for path in journals}
    assert phases >= {Phase.PREPARED, Phase.MOVING, Phase.ELECTING, Phase.RESTORING, Phase.CLOSED}
