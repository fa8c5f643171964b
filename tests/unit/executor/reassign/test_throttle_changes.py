"""Changes of the throttle during a run: on request, and by the load of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import UnreachableError
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign import throttle_changes
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.reassign.throttle_changes import ThrottleChanges
from kafkabal.executor.run_events import ThrottleChanged
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_request import RunRequest, ThrottleChange
from kafkabal.executor.state.run_states import Goal
from kafkabal.executor.throttle.auto_rate import StepImpact
from tests.unit.executor.conftest import MB, Recorder, planned_partition


class _Throttling:
    """The throttle of a run, and every change of it."""

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self.changes: list[tuple[Throttle, str | None]] = []

    @property
    def rate(self) -> int | None:
        return self.throttle.bytes_per_s

    def change(self, throttle: Throttle, asked_at: str | None = None) -> None:
        """Note it."""
        self.throttle = throttle
        self.changes.append((throttle, asked_at))


@dataclass
class _Auto:
    """Answers each observation as scripted, and notes what it was asked."""

    impact: StepImpact | Exception | None = None
    is_over: bool = True
    asked: list[Any] = field(default_factory=list)

    def is_step_over(self) -> bool:
        """As scripted."""
        return self.is_over

    def observe(self, moves: Any, leaders: Any, used_fraction: float) -> StepImpact | None:
        """As scripted."""
        self.asked.append(({name.partition: tuple(to) for name, to in moves.items()}, set(leaders), used_fraction))
        if isinstance(self.impact, Exception):
            raise self.impact
        return self.impact


@dataclass
class _Run:
    """A run with a throttle, its events, and the automatic rates that were made for it."""

    throttling: _Throttling
    changes: ThrottleChanges
    recorder: Recorder
    requests: list[RunRequest | None]
    autos: list[_Auto]
    made_with: list[tuple[Any, ...]]

    def reported(self) -> list[tuple[int | None, str, int | None]]:
        """Rates and reasons."""
        return [(e.bytes_per_s, e.reason, e.log_dir_bytes_per_s) for e in self.recorder.of(ThrottleChanged)]


@pytest.fixture
def run_with(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a run with a throttle."""

    def make(throttle: Throttle) -> _Run:
        throttling, recorder = _Throttling(throttle), Recorder()
        requests: list[RunRequest | None] = []
        autos: list[_Auto] = []
        made_with: list[tuple[Any, ...]] = []

        def auto(*arguments: Any) -> _Auto:
            made_with.append(arguments)
            autos.append(_Auto())
            return autos[-1]

        monkeypatch.setattr(throttle_changes, "AutoRate", auto)
        context: Any = SimpleNamespace(
            throttling=throttling,
            take_request=lambda: requests.pop(0) if requests else None,
            listener=recorder,
            cluster="cluster",
            clock=FakeClock(),
            broker_timeout_s=3.0,
        )
        return _Run(throttling, ThrottleChanges(context), recorder, requests, autos, made_with)

    return make


def _task(number: int, leader: int, to: int, **state: Any) -> PartitionTask:
    target = target_of(planned_partition((1, 2), (to, 2), number=number), Goal.APPLY, by_steps=False)
    state = {"stage": Stage.MOVING, "arriving": (to,), "current": (1, 2, to), **state}
    return PartitionTask(target, leader=leader, **state)


_AUTO = Throttle(bytes_per_s=10 * MB, is_auto=True, behind=("g",), log_dir_bytes_per_s=5 * MB)
_USED = StepImpact(used_fraction=0.9)


def _progress(bytes_per_s: float) -> Any:
    return SimpleNamespace(bytes_per_s=bytes_per_s)


def test_a_throttle_on_request(run_with: Any) -> None:
    """It is taken with the time of its request, and reported; a request that changes nothing is taken unreported."""
    run = run_with(Throttle(bytes_per_s=10 * MB, log_dir_bytes_per_s=5 * MB))
    run.changes.take_request()
    assert run.throttling.changes == []
    run.requests.append(RunRequest(requested=ThrottleChange(bytes_per_s=7 * MB), asked_at="1"))
    run.changes.take_request()
    assert run.throttling.changes == [(Throttle(bytes_per_s=7 * MB, log_dir_bytes_per_s=5 * MB), "1")]
    assert run.reported() == [(7 * MB, "as requested", 5 * MB)]
    run.requests.append(RunRequest(is_paused=True, asked_at="2"))
    run.changes.take_request()
    assert run.throttling.changes[1][1] == "2"
    assert len(run.reported()) == 1


def test_an_automatic_throttle_on_request(run_with: Any) -> None:
    """It observes from then on, with the groups and the timeout of the run; a fixed rate ends it."""
    run = run_with(Throttle(bytes_per_s=10 * MB))
    task = _task(0, 1, 4)
    run.changes.adapt(_progress(9e6), [task], [task])
    assert run.autos == []
    run.requests += [
        RunRequest(requested=ThrottleChange(is_auto=True), asked_at="1"),
        RunRequest(requested=ThrottleChange(bytes_per_s=3 * MB), asked_at="2"),
    ]
    run.changes.take_request()
    assert [(a[0], a[2], a[3]) for a in run.made_with] == [("cluster", (), 3.0)]
    run.changes.adapt(_progress(9e6), [task], [task])
    assert len(run.autos[0].asked) == 1
    run.changes.take_request()
    run.changes.adapt(_progress(9e6), [task], [task])
    assert (len(run.autos), len(run.autos[0].asked)) == (1, 1)
    assert [a[2] for a in run_with(_AUTO).made_with] == [("g",)]


def test_what_is_observed(run_with: Any) -> None:
    """All brokers that open tasks still copy to, the leaders that send, and how much of the rate is used by how many
    brokers at once."""
    run = run_with(_AUTO)
    running = [_task(0, 1, 4), _task(1, 2, 4), _task(2, 2, 5), _task(3, 3, 6, arriving=())]
    waiting = _task(4, 1, 7, stage=Stage.WAITING, arriving=(), current=(1, 2))
    done = _task(5, 1, 8, stage=Stage.PLACED, arriving=(), current=(8, 2))
    run.changes.adapt(_progress(9e6), [*running, waiting, done], running)
    moves = {0: (4,), 1: (4,), 2: (5,), 3: (), 4: (7,)}
    # two leaders send to two brokers: twice the rate could be used
    assert run.autos[0].asked == [(moves, {1, 2}, 9e6 / (10 * MB * 2))]


@pytest.mark.parametrize(
    ("impact", "expected"),
    [
        (_USED, [(12_500_000, "no impact on producers or consumers", 5 * MB)]),
        (StepImpact(fell_out=1), [(5 * MB, "1 replica fell out of sync", 5 * MB)]),
        (StepImpact(used_fraction=0.1), []),
        (None, []),
        (UnreachableError("no leader"), []),
    ],
)
def test_the_next_rate(run_with: Any, impact: Any, expected: list[Any]) -> None:
    """By the impact of the last one; what cannot be observed changes nothing."""
    run = run_with(_AUTO)
    run.autos[0].impact = impact
    task = _task(0, 1, 4)
    run.changes.adapt(_progress(9e6), [task], [task])
    assert run.reported() == expected
    assert [t.bytes_per_s for t, _ in run.throttling.changes] == [rate for rate, _, _ in expected]
    assert all(t.is_auto and t.behind == ("g",) and asked is None for t, asked in run.throttling.changes)


def _shift(number: int, *on: int) -> PartitionTask:
    """A partition that is copied to other log dirs of its brokers."""
    return _task(number, 1, 4, stage=Stage.COPYING, arriving=(), current=(4, 2), misplaced=dict.fromkeys(on, "/d1"))


@pytest.mark.parametrize(
    ("impact", "expected"),
    [
        (_USED, [(10 * MB, "no impact on producers or consumers", 6_250_000)]),
        (StepImpact(fell_out=1), [(10 * MB, "1 replica fell out of sync", 2_500_000)]),
        (StepImpact(incoming_bytes_per_s=4e6), [(10 * MB, "producers write more", 6_000_000)]),
        (StepImpact(used_fraction=0.1), []),
    ],
)
def test_the_rate_between_log_dirs_alone(run_with: Any, impact: Any, expected: list[Any]) -> None:
    """It is adapted like the one between brokers, by the brokers that copy and what is written to their replicas."""
    run = run_with(replace(_AUTO, is_log_dir_auto=True))
    run.autos[0].impact = impact
    tasks = [_shift(0, 2), _shift(1, 2, 4)]
    run.changes.adapt(_progress(9e6), tasks, tasks)
    assert run.autos[0].asked == [({0: (2,), 1: (2, 4)}, {2, 4}, 9e6 / (2 * 5 * MB))]
    assert run.reported() == expected


def test_both_rates_at_once(run_with: Any) -> None:
    """What all copies use together counts against both rates, and both are changed by the same observation."""
    run = run_with(replace(_AUTO, is_log_dir_auto=True))
    run.autos[0].impact = _USED
    tasks = [_task(0, 1, 4), _shift(1, 2)]
    run.changes.adapt(_progress(9e6), tasks, tasks)
    assert run.autos[0].asked[0][1:] == ({1, 2}, 9e6 / (15 * MB))
    assert run.reported() == [(12_500_000, "no impact on producers or consumers", 6_250_000)]


def test_a_given_rate_between_log_dirs_stays(run_with: Any) -> None:
    """Whether only such copies are in flight or others, too."""
    run = run_with(_AUTO)
    run.autos[0].impact = _USED
    run.changes.adapt(_progress(9e6), [_shift(0, 2)], [_shift(0, 2)])
    assert run.autos[0].asked == []
    tasks = [_task(0, 1, 4), _shift(1, 2)]
    run.changes.adapt(_progress(9e6), tasks, tasks)
    assert run.reported() == [(12_500_000, "no impact on producers or consumers", 5 * MB)]


def test_when_nothing_is_observed(run_with: Any) -> None:
    """Before a step is over, while nothing is copied, and without a rate."""
    task, still = _task(0, 1, 4), _task(1, 1, 4, arriving=())
    run = run_with(_AUTO)
    run.changes.adapt(_progress(9e6), [task], [])
    run.changes.adapt(_progress(9e6), [still], [still])
    run.autos[0].is_over = False
    run.changes.adapt(_progress(9e6), [task], [task])
    run.autos[0].is_over = True
    run.throttling.throttle = Throttle(is_auto=True)
    run.changes.adapt(_progress(9e6), [task], [task])
    assert run.autos[0].asked == []
