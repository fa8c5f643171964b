"""Another program deletes the state folder while a run is active."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import Call
from kafkabal.errors import BusyError, OutputError
from kafkabal.executor.execute_run import apply, cancel, resume
from kafkabal.executor.run_events import Warned
from kafkabal.executor.safety.cluster_lock import FileLock, TakenOverError
from kafkabal.executor.state.read_journal import read_journal
from kafkabal.executor.state.run_states import Phase, RunOutcome

_ON_THIS_HOST_ONLY = (Capability.LOCK, Capability.RECORDS)
_SAMPLE = pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.sweep)])
_WITHOUT = pytest.mark.parametrize("without", [(), _ON_THIS_HOST_ONLY], ids=["lock of the cluster", "lock file"])


def _scene(make_scene: Callable[[], Any], without: tuple[Capability, ...]) -> Any:
    scene = make_scene()
    scene.memory = scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=without)
    return scene


def _at(scene: Any, number: int, action: Callable[[], object]) -> None:
    def hook(call: Call) -> None:
        if call.number == number:
            action()

    scene.faulty.before.append(hook)


def _folder(scene: Any) -> Any:
    return next((scene.folder / "one").iterdir())


def _calls_of_run(make_scene: Callable[[], Any], without: tuple[Capability, ...]) -> range:
    """Numbers of the calls that a run makes once its journal is there, until it records its end on the cluster."""
    scene, began = _scene(make_scene, without), []
    scene.faulty.before.append(lambda call: began.append(call.number) if _has_begun(scene) else None)
    apply(scene.environment(), scene.plan, scene.options)
    return range(began[0], began[-1] - 1)


def _has_begun(scene: Any) -> bool:
    return any((scene.folder / "one").glob("*/*.rollback.json"))


@_SAMPLE
@_WITHOUT
def test_deleted_at_any_call(make_scene: Callable[[], Any], without: tuple[Capability, ...], every: int) -> None:
    """Whenever it happens, the run completes, says so once, and leaves its journal complete."""
    calls = _calls_of_run(make_scene, without)
    for number in calls[len(without) :: every]:
        scene = _scene(make_scene, without)
        _at(scene, number, lambda scene=scene: shutil.rmtree(scene.folder / "one"))
        result = apply(scene.environment(), scene.plan, scene.options)
        assert result is not None
        assert result.outcome is RunOutcome.COMPLETE
        scene.assert_as_planned()
        said = [w.message for w in scene.recorder.of(Warned) if "deleted" in w.message]
        assert said == [said[0]], number
        assert str(scene.journal()) in said[0]
        content = read_journal(scene.journal())
        assert (content.state.phase, content.unanswered) == (Phase.CLOSED, ())


@_SAMPLE
def test_killed_after_the_folder_was_deleted(make_scene: Callable[[], Any], every: int) -> None:
    """The journal that was written again is enough to resume, even if the cluster keeps no record of the run."""
    calls = _calls_of_run(make_scene, _ON_THIS_HOST_ONLY)
    for number in calls[: -2 * every : every]:
        scene = _scene(make_scene, _ON_THIS_HOST_ONLY)

        def die(scene: Any = scene) -> None:
            raise scene.Crash

        _at(scene, number, lambda scene=scene: shutil.rmtree(scene.folder / "one"))
        # a turn later, since a request that is just being sent is noticed then
        _at(scene, number + 12, die)
        try:
            apply(scene.environment(), scene.plan, scene.options)
        except scene.Crash:
            (journal,) = (scene.folder / "one").glob("*/*.jsonl")
            resume(scene.environment(scene.memory, host="two"), journal=journal)
        scene.assert_as_planned()


def test_another_process_takes_the_new_lock_file(make_scene: Callable[[], Any]) -> None:
    """If another process has created the lock file again and holds it, the run changes nothing, ends with 75, writes
    its journal again, and names what is left and how to end it."""
    scene = _scene(make_scene, _ON_THIS_HOST_ONLY)
    others, changes = [], []

    def take_over() -> None:
        folder = _folder(scene)
        shutil.rmtree(folder)
        others.append(FileLock(folder / "lock", "kafkabal on one (process 2)"))
        scene.faulty.before.append(lambda call: changes.append(call) if call.method.startswith("alter") else None)

    _at(scene, _calls_of_run(make_scene, _ON_THIS_HOST_ONLY)[20], take_over)
    with pytest.raises(BusyError, match=r"lost the lock of this cluster: .*process 2") as lost:
        apply(scene.environment(), scene.plan, scene.options)
    assert changes == []
    assert others[0].is_held()
    others[0].release()
    _assert_ends_by_its_journal(scene, lost.value)


def test_lock_of_the_cluster_lost_without_a_record(make_scene: Callable[[], Any]) -> None:
    """A process that stood still for more than a session, and whose run no cluster records, cannot know whether another
    has used the lock: ends with 75, writes its journal again, and names what is left and how to end it."""
    scene = _scene(make_scene, (Capability.RECORDS,))

    def stand_still() -> None:
        shutil.rmtree(scene.folder / "one")
        scene.memory.stop()
        scene.memory.kafka.clock.sleep(40.0)
        scene.memory.resume_process()

    _at(scene, _calls_of_run(make_scene, (Capability.RECORDS,))[20], stand_still)
    with pytest.raises(BusyError, match="another process may have resumed run") as lost:
        apply(scene.environment(), scene.plan, scene.options)
    _assert_ends_by_its_journal(scene, lost.value)


def _assert_ends_by_its_journal(scene: Any, error: BusyError) -> None:
    """The journal is there again, and the command of the hint leaves nothing on the cluster."""
    (journal,) = (scene.folder / "one").glob("*/*.jsonl")
    assert error.hint == f"once the other process has finished, run 'kafkabal rebalance cancel --journal {journal}'"
    said = [w.message for w in scene.recorder.of(Warned)]
    assert any("may have reassignments in flight, and throttles on broker 1, " in message for message in said), said
    cancel(scene.environment(scene.memory), journal=journal)
    scene.assert_clean()


@pytest.mark.parametrize("leaves", ["a later journal", "another journal of the run"])
def test_another_process_has_used_the_lock_file_meanwhile(make_scene: Callable[[], Any], leaves: str) -> None:
    """A process that was suspended meanwhile finds the lock file free; the journals say that another ran."""
    scene = _scene(make_scene, _ON_THIS_HOST_ONLY)

    def use_the_lock() -> None:
        journal = scene.journal()
        content = journal.read_bytes()
        shutil.rmtree(journal.parent)
        FileLock(journal.parent / "lock", "kafkabal on one (process 2)").release()
        name = journal.name if leaves == "another journal of the run" else f"9{journal.name}"
        journal.with_name(name).write_bytes(content)

    _at(scene, _calls_of_run(make_scene, _ON_THIS_HOST_ONLY)[20], use_the_lock)
    with pytest.raises(BusyError, match="was resumed by another process") as lost:
        apply(scene.environment(), scene.plan, scene.options)
    assert isinstance(lost.value.__cause__, TakenOverError)


def test_folder_that_cannot_be_made_again(make_scene: Callable[[], Any]) -> None:
    """The run starts nothing more, cancels, restores its throttles and names the journal, as with a full disk."""
    scene = _scene(make_scene, ())

    def put_a_file_there() -> None:
        shutil.rmtree(scene.folder / "one")
        (scene.folder / "one").touch()

    _at(scene, _calls_of_run(make_scene, ())[20], put_a_file_there)
    with pytest.raises(OutputError, match="a folder on its path is a file"):
        apply(scene.environment(), scene.plan, scene.options)
    scene.assert_clean()
