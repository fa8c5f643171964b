"""The rate of a live run in ``rebalance status`` when throttled copies arrive in bursts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.cli.commands.rebalance import status as status_command
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import UnreachableError
from kafkabal.executor.live_run_status import RunStatus
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import Phase, RunState


def _status(done_bytes: int, moving: int = 2, holder: str | None = "kafkabal on one") -> RunStatus:
    started = "2026-01-01T00:00:00+00:00"
    options = RunOptions()
    record = RunRecord(
        run_id="r", plan_id="p", cluster_id="c", started_at=started, host="one", options=options, partitions=()
    )
    return RunStatus(
        found=FoundRun(record, RunState(phase=Phase.MOVING), None),
        stages=Counter({Stage.MOVING: moving}),
        differing=(),
        throttles=(),
        unknown_throttles=(),
        foreign=0,
        holder=holder,
        done_bytes=done_bytes,
        total_bytes=10_000,
    )


@pytest.fixture
def session() -> Any:
    """A command whose clock advances only while it waits."""
    said: list[str] = []
    clock = FakeClock()
    return SimpleNamespace(
        environment=SimpleNamespace(clock=clock), context=SimpleNamespace(say=said.append), said=said
    )


@pytest.mark.parametrize(
    ("looks", "rate"),
    [
        ([_status(0), _status(400)], 200.0),
        ([_status(0), _status(0), _status(0), _status(600)], 100.0),
        ([_status(0), *[_status(0)] * 9], 0.0),
        ([_status(0), _status(0, moving=0)], 0.0),
    ],
    ids=["at once", "after a pause", "never", "nothing in flight"],
)
def test_a_rate_is_taken_once_something_has_arrived(
    session: Any, monkeypatch: pytest.MonkeyPatch, looks: list[RunStatus], rate: float
) -> None:
    """Two seconds without progress are not a rate of 0: the sample is extended to ten."""
    found = iter(looks)
    monkeypatch.setattr(status_command, "_read_status", lambda *_: next(found))
    seen = status_command._read_status_twice(session, None)

    assert seen is not None
    assert seen.bytes_per_s == rate


def test_watching_shows_the_mean_of_half_a_minute(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that arrive in every other sample are not shown as stalled in between."""
    looks = iter([_status(500), _status(500), _status(1000), _status(1000), _status(1000, holder=None)])
    monkeypatch.setattr(status_command, "_read_status", lambda *_: next(looks))
    status_command._watch(session, None, _status(0))

    rates = [re.findall(r", (\d+) B/s", line) for line in session.said]
    assert rates == [[], ["100"], ["50"], ["67"], ["50"]]


def test_watching_survives_a_broker_that_is_replaced(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a failed read nor a lock that cannot be read means that the run has ended."""
    unknown = replace(_status(500, holder=None), why_holder_unknown="coordinator not available")
    looks = iter([UnreachableError("no broker responds"), unknown, _status(1000), _status(1000, holder=None)])

    def read(*_: Any) -> RunStatus:
        found = next(looks)
        if isinstance(found, UnreachableError):
            raise found
        return found

    monkeypatch.setattr(status_command, "_read_status", read)
    ended = status_command._watch(session, None, _status(0))

    assert ended is not None
    assert ended.done_bytes == 1000
    assert session.said[1:3] == ["no broker responds; trying again", "coordinator not available; trying again"]
    assert re.findall(r", (\d+) B/s", session.said[3]) == ["67"]


def test_watching_ends_if_nothing_can_be_read_for_minutes(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is that of the last attempt."""

    def fail(*_: Any) -> RunStatus:
        raise UnreachableError("no broker responds")

    monkeypatch.setattr(status_command, "_read_status", fail)
    with pytest.raises(UnreachableError, match="no broker responds"):
        status_command._watch(session, None, _status(0))
    assert session.environment.clock.monotonic() >= 300.0
