"""What is recorded of an open run, where, and what other hosts must know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters import ConfigSource, ResourceKind
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.journal_records import (
    Closed,
    EffectKind,
    Entered,
    Intended,
    ThrottleRate,
    ThrottleTaken,
)
from kafkabal.executor.state.run_record import Original
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.executor.state.run_store import RunStore

AT = "2026-01-01T00:00:00.000+00:00"
ORIGINAL = Original(kind=ResourceKind.BROKER, resource="1", key="k", value="7", source=ConfigSource.OWN)


class _Places:
    """Journal, fence and record of the cluster in one."""

    path = Path("journal")
    gap = ""
    is_tolerant = False
    is_deleted = False
    run_id = "a"

    def __init__(self) -> None:
        self.happened: list[Any] = []
        self.fails: Exception | None = None
        self.update_fails: Exception | None = None

    def restore_if_deleted(self) -> bool:
        """The journal."""
        return self.is_deleted

    def on_event(self, event: Any) -> None:
        """The listener."""
        self.happened.append(event)

    def append(self, *records: Any) -> None:
        """The journal."""
        self.happened += records

    def close(self) -> None:
        """The journal."""
        self.happened.append("closed")

    def check(self) -> None:
        """The fence."""
        if self.fails is not None:
            raise self.fails
        self.happened.append("fence")

    def is_fresh(self) -> bool:
        """The fence."""
        return self.fails is None

    def update(self, run_id: str, state: RunState, *, within_s: float | None = None) -> None:
        """The record of the cluster."""
        if self.update_fails is not None and within_s is not None:
            raise self.update_fails
        self.happened.append((run_id, state.at) if within_s is None else (run_id, state.batches, within_s))

    def new(self) -> list[Any]:
        """What happened since the last call."""
        happened, self.happened = self.happened, []
        return happened


@pytest.fixture
def places() -> Any:
    """All of them."""
    return _Places()


def _store(
    places: Any, state: RunState | None = None, clock: FakeClock | None = None, *, has_cluster_record: bool = True
) -> RunStore:
    record: Any = places
    known = places if has_cluster_record else None
    begun = state or RunState(phase=Phase.RECORDED)
    return RunStore(record, begun, places, known, places, clock or FakeClock(), places)


def _request(number: int, kind: EffectKind = EffectKind.REASSIGN) -> Intended:
    return Intended(at=AT, number=number, kind=kind, items={})


TOLD = ["fence", ("a", AT)]


def test_phases(places: Any) -> None:
    """Each is in the journal; other hosts must know of a new goal, and of a pause that starts or ends."""
    store = _store(places, RunState(phase=Phase.RECORDED, openings=3))
    steps = [
        (Goal.APPLY, Phase.MOVING, False),
        (Goal.APPLY, Phase.PAUSED, True),
        (Goal.APPLY, Phase.MOVING, True),
        (Goal.ROLL_BACK, Phase.MOVING, True),
        (Goal.ROLL_BACK, Phase.RESTORING, False),
    ]
    for goal, phase, matters in steps:
        assert store.enter(goal, phase) is matters
        assert (store.state.goal, store.state.phase) == (goal, phase)
        assert places.new() == [Entered(at=AT, goal=goal, phase=phase, openings=3)]
    store.close_run(RunOutcome.PARTIAL, ["a rate"], {"t-0": "dead"})
    assert (store.state.phase, store.state.outcome, store.state.pending) == (
        Phase.CLOSED,
        RunOutcome.PARTIAL,
        ["a rate"],
    )
    assert places.new() == [Closed(at=AT, outcome=RunOutcome.PARTIAL, pending=["a rate"], problems={"t-0": "dead"})]


def test_rates_are_announced_before_they_are_set(places: Any) -> None:
    """New ones only, in order, in the journal and then on the cluster."""
    store = _store(places, RunState(phase=Phase.RECORDED, rates={"5"}))
    store.announce_rates({"7", "5", "6"})
    assert places.new() == [ThrottleRate(at=AT, value="6"), ThrottleRate(at=AT, value="7"), *TOLD]
    assert store.state.rates == {"5", "6", "7"}
    assert store.state.at == AT
    store.announce_rates({"7"})
    assert places.new() == []


def test_originals_are_kept_before_they_are_changed(places: Any) -> None:
    """As found after the start, and only by the process with the lock: another may have set them."""
    store = _store(places)
    store.keep_originals([])
    assert places.new() == []
    places.fails = BusyError("another has it")
    with pytest.raises(BusyError):
        store.keep_originals([ORIGINAL])
    assert (places.new(), store.state.later_originals) == ([], [])
    places.fails = None
    store.keep_originals([ORIGINAL])
    assert places.new() == ["fence", ORIGINAL, *TOLD]
    assert store.state.later_originals == [ORIGINAL]
    store.update_if_changed()
    assert places.new() == []


def test_another_throttle(places: Any) -> None:
    """In the journal immediately, on the cluster with the next update."""
    store, throttle = _store(places), Throttle(bytes_per_s=9)
    store.keep_throttle(throttle, "asked")
    assert (store.state.throttle, store.state.asked_at) == (throttle, "asked")
    assert places.new() == [ThrottleTaken(at=AT, throttle=throttle, asked_at="asked")]
    store.announce_rates(set())
    assert places.new() == TOLD


@pytest.mark.parametrize("error", [UnreachableError("no answer"), BusyError("another has it")])
def test_unpublished_progress_is_published_later(places: Any, error: Exception) -> None:
    """Until it is written, each effect tries again, and does not happen without it."""
    store = _store(places)
    places.fails = error
    for _ in range(2):
        with pytest.raises(type(error)):
            store.announce_rates({"7"})
    assert places.new() == [ThrottleRate(at=AT, value="7")]
    places.fails = None
    store.announce_rates({"7"})
    store.announce_rates({"7"})
    assert places.new() == TOLD


def test_a_cluster_without_a_record(places: Any) -> None:
    """The journal has everything, and no lock is needed."""
    store = _store(places, has_cluster_record=False)
    places.fails = UnreachableError("no answer")
    store.announce_rates({"7"})
    store.update_cluster_record()
    assert places.new() == [ThrottleRate(at=AT, value="7")]
    assert store.state.at == ""


def test_the_journal(places: Any) -> None:
    """Its path, its gaps, from when on these end nothing, and its end."""
    store = _store(places)
    assert (store.journal_path, store.gap) == (Path("journal"), "")
    places.gap = "disk full"
    assert store.gap == "disk full"
    store.tolerate_gaps()
    assert places.is_tolerant is True
    store.close()
    assert places.new() == ["closed"]


def test_batches_are_shared_at_intervals(places: Any) -> None:
    """Requests that start moves are counted in the journal at once, and other hosts see the number soon after."""
    clock = FakeClock()
    store = _store(places, RunState(phase=Phase.RECORDED, batches=2), clock)
    store.share_progress()
    store.announce_request(_request(1, EffectKind.CONFIGS))
    store.share_progress()
    assert places.new() == [_request(1, EffectKind.CONFIGS)]
    store.announce_request(_request(2))
    store.share_progress()
    assert places.new() == [_request(2), ("a", 3, 2.0)]
    store.share_progress()
    store.announce_request(_request(3))
    clock.sleep(4.9)
    store.share_progress()
    assert places.new() == [_request(3)]
    clock.sleep(0.1)
    store.share_progress()
    store.share_progress()
    assert places.new() == [("a", 4, 2.0)]
    store.enter(Goal.APPLY, Phase.MOVING)
    assert places.new() == [
        Entered(at=clock.utc_now().isoformat(timespec="milliseconds"), goal=Goal.APPLY, phase=Phase.MOVING, batches=4)
    ]


def test_progress_that_cannot_be_shared_delays_nothing(places: Any) -> None:
    """Neither a lock that is not confirmed nor a record without a leader is waited for; it is tried again later."""
    clock = FakeClock()
    store = _store(places, RunState(phase=Phase.RECORDED, batches=0), clock)
    store.announce_request(_request(1))
    places.new()
    places.fails = UnreachableError("no answer")
    store.share_progress()
    places.fails, places.update_fails = None, UnreachableError("no leader")
    store.share_progress()
    places.update_fails = None
    clock.sleep(59.9)
    store.share_progress()
    assert places.new() == []
    clock.sleep(0.1)
    store.share_progress()
    assert places.new() == [("a", 1, 2.0)]


def test_other_news_share_the_progress_too(places: Any) -> None:
    """What is in the record already is not written again."""
    store = _store(places, RunState(phase=Phase.RECORDED, batches=0))
    store.announce_request(_request(1))
    store.announce_rates({"7"})
    places.new()
    store.share_progress()
    assert places.new() == []


def test_deleted_journal_is_reported(places: Any) -> None:
    """With its path, and what that means for this run and for earlier ones, before the next record is added."""
    store = _store(places)
    places.is_deleted = True
    store.append(_request(1))
    warned, added = places.new()
    assert warned.message == (
        "journal: the journal was deleted during the run, and is written again; this run can still be resumed and "
        "rolled back, but not earlier ones whose journals were in that folder"
    )
    assert added == _request(1)
