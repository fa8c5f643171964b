"""A process suspended at any of its calls for longer than its session, while another host ends or replaces its run.

A call is suspended before it is sent, so that it arrives late, or after it was answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kafkabal.clusters.simulated.fault_injection import WRITES, Call, FaultyCluster
from kafkabal.errors import BusyError, DriftError, KafkabalError, UsageError
from kafkabal.executor.execute_run import apply, cancel, resume, roll_back
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import Goal, Phase
from kafkabal.plan.plan import Plan
from tests.unit.executor.conftest import Scene, change

_LONGER_THAN_A_SESSION_S = 40.0
_EVERY = 7
"""Of the calls that change nothing, one in so many is tried in every test run."""
_FIRST_LOOK = 2
"""Number of the call that looks for an earlier run, once the lock is held."""
_OTHER_PLAN = Plan(
    partitions=(
        change("a-0", (5, 2, 3), (1, 2, 3)),
        change("a-2", (2, 1, 5), (2, 1, 3), {5: "/d1"}),
        change("b-0", (4, 2), (1, 2)),
        change("b-1", (2, 1), (2, 3)),
    ),
    cluster_id="simulated",
)


class _Suspended:
    """A process that applies the plan in a thread, and stops at one of its calls until it is woken up."""

    def __init__(self, scene: Scene, number: int, *, is_answered: bool) -> None:
        self.scene = scene
        self.at: Call | None = None
        """Where it stopped."""
        self.error: BaseException | None = None
        self._number = number
        self._stopped, self._woken = threading.Event(), threading.Event()
        hooks = scene.faulty.after if is_answered else scene.faulty.before
        hooks.append(self._stand_still)
        self._thread = threading.Thread(target=self._apply, daemon=True)
        self._thread.start()
        self._stopped.wait()

    def wake_up(self) -> None:
        """Let it continue to its end."""
        self._woken.set()
        self._thread.join()

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    @property
    def later_changes(self) -> list[str]:
        """Its changes of the cluster since it stopped, those to the record of its run aside."""
        assert self.at is not None
        calls = self.scene.faulty.calls[self.at.number - 1 :]
        return [call.method for call in calls if call.method in WRITES - {"records.put"}]

    def _stand_still(self, call: Call) -> None:
        if call.number == self._number and self.at is None:
            self.at = call
            self.scene.memory.stop()
            self.scene.memory.kafka.clock.sleep(_LONGER_THAN_A_SESSION_S)
            self._stopped.set()
            self._woken.wait()
            self.scene.memory.resume_process()

    def _apply(self) -> None:
        try:
            apply(self.scene.environment(), self.scene.plan, self.scene.options)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        self._stopped.set()


def _suspended_anywhere(make_scene: Callable[[], Scene], *, is_answered: bool) -> Iterator[_Suspended]:
    """A process suspended at each of its writes, and at some of its other calls; in a sweep, after any call."""
    undisturbed = make_scene()
    apply(undisturbed.environment(), undisturbed.plan, undisturbed.options)
    for call in undisturbed.faulty.calls:
        if is_answered or call.method in WRITES or call.number % _EVERY == 0:
            yield _Suspended(make_scene(), call.number, is_answered=is_answered)


def _another_process(scene: Scene, host: str) -> Any:
    return scene.environment(FaultyCluster(scene.memory.connect("other")), host=host)


def _found(scene: Scene) -> Any:
    return find_run(scene.environment(scene.memory.connect("third"), host="three"))


def _is_unfinished(scene: Scene) -> bool:
    return _found(scene) is not None and _found(scene).is_open


def _on_the_cluster(scene: Scene, goal: Goal) -> Any:
    """What a run with this goal decides: one that is cancelled leaves in place what has been moved."""
    parts = scene.memory.kafka.catch_up()
    placement = scene.placement_now() if goal is not Goal.CANCEL else None
    return placement, scene.configs_now(), list(parts.moving), list(parts.copying)


def _assert_it_gave_up(process: _Suspended) -> None:
    """It changed nothing any more, except by the one request that it was about to send."""
    assert process.has_ended
    assert isinstance(process.error, BusyError), (process.error, process.at)
    late = process.at.method if process.at is not None else ""
    assert process.later_changes in ([], [late])


def _take_back(scene: Scene) -> None:
    """Continue a run that is open again because of a request that arrived late."""
    if _found(scene).is_open:
        assert all("arrived late" in what for what in _found(scene).state.pending)
        with suppress(UsageError):
            resume(scene.environment(scene.memory.connect("third"), host="three"))


@pytest.mark.parametrize("is_answered", [False, pytest.param(True, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("host", ["two", "one"])
@pytest.mark.parametrize(
    ("end_it", "goal"),
    [(resume, Goal.APPLY), (roll_back, Goal.ROLL_BACK), (cancel, Goal.CANCEL)],
    ids=["resumed", "rolled back", "cancelled"],
)
def test_its_run_is_ended(
    make_scene: Callable[[], Scene], end_it: Callable[..., Any], goal: Goal, host: str, *, is_answered: bool
) -> None:
    """It gives up and starts no move again; what its last request has changed is reported and undone by a resume."""
    for process in _suspended_anywhere(make_scene, is_answered=is_answered):
        scene = process.scene
        is_ended = False
        with suppress(UsageError):  # it has not begun, or is complete by the journal of its host
            is_ended = _is_unfinished(scene) and end_it(_another_process(scene, host)) is not None
        before = _on_the_cluster(scene, goal)
        process.wake_up()
        if not is_ended:
            assert process.error is None
            scene.assert_as_planned()
            continue
        _assert_it_gave_up(process)
        assert (_found(scene).state.goal, _found(scene).state.phase) == (goal, Phase.CLOSED)
        is_changed = _on_the_cluster(scene, goal) != before
        assert _found(scene).is_open is is_changed, process.at
        assert ("arrived late" in str(process.error)) is is_changed, process.at
        _take_back(scene)
        scene.assert_clean()
        assert _on_the_cluster(scene, goal) == before, process.at


@pytest.mark.parametrize("is_answered", [False, pytest.param(True, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("moment", [None, 16, *(pytest.param(n, marks=pytest.mark.sweep) for n in (10, 30, 50))])
def test_its_run_is_replaced(make_scene: Callable[[], Scene], moment: int | None, *, is_answered: bool) -> None:
    """It neither hides nor disturbs a run that another host has begun since, which it finds at its end or at a call."""
    for process in _suspended_anywhere(make_scene, is_answered=is_answered):
        scene, faulty = process.scene, FaultyCluster(process.scene.memory.connect("other"))
        two = scene.environment(faulty, host="two")
        has_ended = _found(scene) is not None and not _is_unfinished(scene)
        with suppress(UsageError):
            roll_back(two)
        if moment is not None:
            _wake_up_at(process, faulty, len(faulty.calls) + moment)
        replacing = apply(two, _OTHER_PLAN, scene.options)
        process.wake_up()
        assert replacing is not None
        found = _found(scene)
        assert found.record.plan_id == _OTHER_PLAN.plan_id
        assert (found.state.phase, found.is_open) == (Phase.CLOSED, False)
        if (has_ended and process.error is None) or isinstance(process.error, DriftError):
            assert process.later_changes == []
        else:
            _assert_it_gave_up(process)
        if not process.later_changes:
            scene.assert_clean()
            assert replacing.problems == {}
            placed = scene.placement_now()
            assert [placed[c.name][0] for c in _OTHER_PLAN.partitions] == [c.replicas for c in _OTHER_PLAN.partitions]
        elif moment is None and (scene.memory.kafka.catch_up().moving or scene.configs_now() != scene.configs):
            assert "arrived late" in str(process.error)
        elif moment is not None:
            assert isinstance(process.error, KafkabalError)
            assert "already being sent may still take effect" in str(process.error.hint)


def test_another_run_is_live_when_it_is_about_to_begin(make_scene: Callable[[], Scene]) -> None:
    """It reports a live run as busy, not as one that crashed and has to be finished."""
    process = _Suspended(make_scene(), _FIRST_LOOK, is_answered=False)
    assert process.at is not None
    assert process.at.method == "records.get_all"
    faulty = FaultyCluster(process.scene.memory.connect("other"))
    _wake_up_at(process, faulty, 14)
    assert apply(process.scene.environment(faulty, host="two"), _OTHER_PLAN, process.scene.options) is not None
    assert isinstance(process.error, BusyError), process.error


def _wake_up_at(process: _Suspended, faulty: FaultyCluster, number: int) -> None:
    def wake_up(call: Call) -> None:
        if call.number == number:
            process.wake_up()

    faulty.before.append(wake_up)
