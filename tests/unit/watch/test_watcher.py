"""The whole watch on a simulated cluster: what it reports, what it heals, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as replace_field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.clusters import Capability, ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import BusyError, OperationError, UnreachableError
from kafkabal.executor.execute_run import apply, roll_back
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.model import MIN_INSYNC_REPLICAS, TopicPartition
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal import RunHealer
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingLedger, read_ledger, write_ledger
from kafkabal.watch.one_observation import read_state
from kafkabal.watch.plan_healing import plan_of
from kafkabal.watch.watch_events import EventKind, WatchEvent
from kafkabal.watch.watch_options import WatchOptions
from kafkabal.watch.watcher import Watcher

LOST = "this watch lost its lock for a while"


class SetClock(FakeClock):
    """A clock whose time of day can be set."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = timedelta()

    def set_ahead(self, seconds: float) -> None:
        """Set the time of day ahead, or back."""
        self._ahead += timedelta(seconds=seconds)

    def utc_now(self) -> datetime:
        """Wall time, UTC."""
        return super().utc_now() + self._ahead


class Scene:
    """Four brokers, a watch over them, and what it has reported."""

    def __init__(self, folder: Path) -> None:
        self.clock = SetClock()
        rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
        self.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", *rows)]), self.clock)
        self.folder = folder
        self.events: list[WatchEvent] = []

    def on_event(self, event: WatchEvent) -> None:
        """Keep the event."""
        self.events.append(event)

    def watcher(
        self, why_not_alone: Callable[[], str] = lambda: "", cluster_id: str | None = None, **policy: object
    ) -> Watcher:
        """A watch that heals at once, as far as the policy allows."""
        healer = RunHealer(
            lambda stop: RunEnvironment(
                cluster=self.memory, state_dir=self.folder / "runs", clock=self.clock, stop=stop, host="h"
            ),
            throttle=None,
            in_background=False,
        )
        options = WatchOptions(policy=HealPolicy(**policy))  # type: ignore[arg-type]
        path = self.folder / "ledger.json"
        return Watcher(
            self.memory,
            options,
            self.clock,
            self,
            healer,
            path,
            why_not_alone=why_not_alone,
            cluster_id=cluster_id,
        )

    def run_for(self, watcher: Watcher, minutes: float) -> None:
        """Observe every five seconds for this long."""
        for _ in range(int(minutes * 12)):
            watcher.observe()
            self.clock.sleep(5.0)

    def kinds(self) -> list[EventKind]:
        """Kinds of the reported events, in order."""
        return [event.event for event in self.events]

    def held(self) -> list[int]:
        """Replicas by broker."""
        state = self.memory.read(ReadRequest()).state
        found = np.bincount(state.replicas.broker, minlength=len(state.brokers))
        return [int(found[state.brokers.index_of(b)]) if state.brokers.index_of(b) >= 0 else 0 for b in range(1, 5)]

    def led(self) -> list[int]:
        """Partitions that each broker leads."""
        state = self.memory.read(ReadRequest()).state
        found = np.bincount(state.partitions.leader, minlength=len(state.brokers))
        return [int(found[state.brokers.index_of(b)]) for b in range(1, 5)]


@pytest.fixture
def make_scene(tmp_path: Path) -> Callable[[], Scene]:
    """A scene in its own folder."""
    return lambda: Scene(tmp_path)


def test_a_balanced_cluster_is_not_changed(make_scene: Callable[[], Scene]) -> None:
    """A day on a steady cluster causes no event and no action."""
    scene = make_scene()

    scene.run_for(scene.watcher(level=HealLevel.ALL), minutes=24 * 60 / 12)

    assert scene.events == []


def test_a_dead_broker_is_reported_then_repaired(make_scene: Callable[[], Scene]) -> None:
    """A dead broker is reported within 35 s, and repaired once --dead-after has passed, not before and only once."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=600.0)
    scene.run_for(watcher, minutes=2)
    scene.memory.kafka.kill(4)

    scene.run_for(watcher, minutes=35 / 60 + 0.2)
    assert EventKind.BROKER_DEAD in scene.kinds()
    scene.run_for(watcher, minutes=8)
    assert scene.held()[3] == 8
    scene.run_for(watcher, minutes=10)

    assert scene.held() == pytest.approx([11, 11, 10, 0], abs=1)
    healed = [e.message for e in scene.events if e.event is EventKind.HEALED]
    assert len([m for m in healed if m.startswith("repair")]) == 1


def test_a_broker_that_returns_keeps_its_replicas(make_scene: Callable[[], Scene]) -> None:
    """A broker that is away for half of --dead-after keeps its replicas: no plan is made from readings without it."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=1800.0)
    scene.run_for(watcher, minutes=2)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=15.25)
    scene.memory.kafka.start(4)

    scene.run_for(watcher, minutes=6)

    assert EventKind.BROKER_BACK in scene.kinds()
    assert read_ledger(scene.folder / "ledger.json").bytes_of_day(scene.clock.utc_now().timestamp()) == 0


def test_without_heal_nothing_changes(make_scene: Callable[[], Scene]) -> None:
    """By default findings are only reported."""
    scene = make_scene()
    watcher = scene.watcher(dead_after_s=0.0)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)

    scene.run_for(watcher, minutes=10)

    assert EventKind.BROKER_DEAD in scene.kinds()
    assert EventKind.HEALING not in scene.kinds()
    assert scene.held()[3] == 8


def test_a_slow_broker_loses_leadership_and_gets_it_back(make_scene: Callable[[], Scene]) -> None:
    """A slow broker leads nothing within a minute, and leads as before ten minutes after it recovers; no byte moves."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=3)
    led_before = scene.memory.read(ReadRequest()).state.partitions.leader.tolist()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(watcher, minutes=1)
    state = scene.memory.read(ReadRequest()).state
    assert state.brokers.index_of(2) not in state.partitions.leader.tolist()

    slow.response_s = 0.002
    scene.run_for(watcher, minutes=5)
    assert scene.memory.read(ReadRequest()).state.partitions.leader.tolist() != led_before
    scene.run_for(watcher, minutes=10)

    assert scene.memory.read(ReadRequest()).state.partitions.leader.tolist() == led_before
    assert read_ledger(scene.folder / "ledger.json").bytes_of_day(scene.clock.utc_now().timestamp()) == 0


def test_partitions_created_on_a_demoted_broker_get_other_leaders(make_scene: Callable[[], Scene]) -> None:
    """What a slow broker is given to lead later is taken away within an hour, and comes back with the rest."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=3)
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(watcher, minutes=10)
    assert scene.led()[1] == 0

    scene.memory.kafka.add_topic(topic("only here", (2,)))
    scene.run_for(watcher, minutes=70)
    scene.memory.kafka.add_topic(topic("new", (2, 3), (3, 2)))
    scene.run_for(watcher, minutes=10)
    demotions = [e.message for e in scene.events if e.event is EventKind.HEALED]
    assert (scene.led()[1], len(demotions)) == (1, 2)  # no other broker can lead the first of them

    slow.response_s = 0.002
    scene.run_for(watcher, minutes=15)
    assert scene.led() == [4, 6, 5, 4]


def test_a_starved_host_demotes_no_broker(make_scene: Callable[[], Scene]) -> None:
    """A host that suddenly wakes the watch late measures healthy brokers as slow, and no leadership moves."""
    scene, source = make_scene(), np.random.default_rng(7)
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=5)
    scene.memory.lateness_s = 0.03
    for _ in range(120):
        for broker in scene.memory.kafka.parts.brokers.values():
            broker.response_s = 0.002 + float(source.exponential(0.03, 10).mean() * source.uniform(0, 1))
        scene.run_for(watcher, minutes=5 / 60)

    assert scene.events == []


def test_the_leadership_of_a_slow_broker_does_not_go_to_one_that_was_slow(make_scene: Callable[[], Scene]) -> None:
    """Broker 3 slows down before 2 has been healthy for ten minutes: 2 leads nothing until those have passed."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=2)
    parts = scene.memory.kafka.parts.brokers
    parts[2].response_s = 0.2
    scene.run_for(watcher, minutes=2)
    parts[2].response_s = 0.002
    scene.run_for(watcher, minutes=2)

    parts[3].response_s = 0.2
    scene.run_for(watcher, minutes=7)
    assert scene.led()[1:3] == [0, 4]
    scene.run_for(watcher, minutes=4)

    assert scene.led()[1:3] == [4, 0]


def test_what_is_excluded_is_left_alone(make_scene: Callable[[], Scene]) -> None:
    """Excluded topics are neither repaired nor demoted, and excluded brokers get no replica and no leadership."""
    scene = make_scene()
    rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
    both = [topic("t", *rows), topic("keep", *rows)]
    scene.memory = InMemoryCluster.of(cluster(brokers(4), both), scene.clock)
    scope = {"exclude_topics": ("keep",), "exclude_brokers": frozenset({1, 99})}
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0, **scope)
    scene.run_for(watcher, minutes=2)
    scene.memory.kafka.parts.brokers[2].response_s = 0.2
    scene.run_for(watcher, minutes=1)
    assert scene.led() == [8, 4, 12, 8]

    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)

    assert (scene.held()[0], scene.held()[3]) == (16, 8)
    on_dead = {p.name.topic for p in scene.memory.kafka.catch_up().partitions() if 4 in p.replicas}
    assert on_dead == {"keep"}


@pytest.mark.parametrize("scope", [{"exclude_brokers": frozenset({2})}, {"exclude_topics": ("t",)}], ids=str)
def test_leadership_returns_to_nothing_that_was_excluded_since(
    make_scene: Callable[[], Scene], scope: dict[str, object]
) -> None:
    """A broker or topic that is excluded after a demotion gets no leadership back, and holds up nothing else."""
    scene = make_scene()
    slow, watcher = scene.memory.kafka.parts.brokers[2], scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=2)
    slow.response_s = 0.2
    scene.run_for(watcher, minutes=1)
    slow.response_s = 0.002
    led = scene.led()
    assert led[1] == 0

    again = scene.watcher(level=HealLevel.LEADERS, **scope)
    scene.run_for(again, minutes=13)

    assert scene.led() == led
    assert again.demoted == frozenset()


def test_two_brokers_that_vanish_at_once_stop_it(make_scene: Callable[[], Scene]) -> None:
    """Two brokers vanishing at once is a network problem: nothing is copied, and it is reported once."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=60.0)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(3)
    scene.memory.kafka.kill(4)

    scene.run_for(watcher, minutes=10)

    assert EventKind.HEALING not in scene.kinds()
    assert scene.kinds().count(EventKind.HELD_BACK) == 1


def _repair_broker_4(scene: Scene, **policy: object) -> Watcher:
    """Let a watch repair a broker that dies; returns the watch."""
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0, **policy)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=3)
    return watcher


def test_healed_findings_are_remembered(make_scene: Callable[[], Scene]) -> None:
    """A restarted watch knows the actions of the day."""
    scene = make_scene()
    _repair_broker_4(scene)

    ledger = read_ledger(scene.folder / "ledger.json")

    assert [e.kind for e in ledger.entries if e.succeeded] == ["repair"]
    assert ledger.bytes_of_day(scene.clock.utc_now().timestamp()) > 0


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_is_set_ends_no_budget(make_scene: Callable[[], Scene], days: int) -> None:
    """The action of the last hour counts for a day, whatever the clock says now, and no longer."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0, max_actions_per_day=1)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=3)
    scene.clock.set_ahead(days * DAY_S)
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=10)
    assert scene.held()[3] == 0

    scene.clock.sleep(DAY_S)
    scene.run_for(watcher, minutes=2)

    assert scene.held()[3] > 5


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_is_set_before_a_restart_ends_no_budget(make_scene: Callable[[], Scene], days: int) -> None:
    """A watch that is killed after the clock was set leaves times by the new clock, also while a broker is missing."""
    scene, limits = make_scene(), {"max_actions_per_day": 1, "max_dead": 2}
    watcher = _repair_broker_4(scene, **limits)
    scene.memory.kafka.kill(3)
    scene.run_for(watcher, minutes=2)
    scene.clock.set_ahead(days * DAY_S)
    scene.run_for(watcher, minutes=10 / 60)

    again = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0, **limits)
    scene.run_for(again, minutes=10)
    assert scene.held()[2] > 0
    scene.clock.sleep(DAY_S)
    scene.run_for(again, minutes=2)

    assert scene.held()[2] == 0


class Lock:
    """The lock of a watch, which it loses while it is suspended."""

    is_lost = False

    def why_not_alone(self) -> str:
        """As of a real one, which is taken again."""
        was_lost, self.is_lost = self.is_lost, False
        return LOST if was_lost else ""


def test_what_another_watch_healed_meanwhile_is_remembered(make_scene: Callable[[], Scene]) -> None:
    """A suspended watch whose lock was lost reads the ledger again before it heals, and keeps the other's entries."""
    scene, lock = make_scene(), Lock()
    first = scene.watcher(lock.why_not_alone, level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(first, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(scene.watcher(level=HealLevel.ALL, dead_after_s=0.0), minutes=3)
    scene.memory.kafka.start(4)
    lock.is_lost = True
    scene.run_for(first, minutes=2)

    ledger = read_ledger(scene.folder / "ledger.json")

    assert [e.kind for e in ledger.entries if e.succeeded] == ["repair", "fill"]


def test_what_another_watch_has_resumed_stays_recorded(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch that was suspended amid a healing does not remove the record of what the one in between resumed."""
    scene, lock = make_scene(), Lock()
    path, ends_at_s = scene.folder / "ledger.json", scene.clock.utc_now().timestamp() + 7.0
    watcher = scene.watcher(lock.why_not_alone, level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(watcher, minutes=1)

    def suspended(environment: RunEnvironment, plan: Plan, *_: object, **__: object) -> None:
        lock.is_lost = True
        resumed = read_ledger(path)
        resumed = resumed.with_end(resumed.entries[0], at_s=ends_at_s, moved_bytes=5, succeeded=True)
        write_ledger(resumed, path)
        raise BusyError("lost the lock of this cluster: run r was resumed by another process")

    monkeypatch.setattr("kafkabal.watch.heal.apply", suspended)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=0.75)

    assert EventKind.HELD_BACK in scene.kinds()
    first = read_ledger(path).entries[0]
    assert (first.ended_at_s, first.moved_bytes, first.succeeded) == (ends_at_s, 5, True)


@pytest.mark.parametrize("is_broker_missing", [False, True])
def test_what_another_watch_healed_while_nothing_could_be_written_is_remembered(
    make_scene: Callable[[], Scene], *, is_broker_missing: bool
) -> None:
    """A watch whose disk was full, and that lost its lock, does not replace what the other one has recorded since."""
    scene, lock = make_scene(), Lock()
    path = scene.folder / "ledger.json"
    first = scene.watcher(lock.why_not_alone, level=HealLevel.ALL, dead_after_s=60.0)
    scene.run_for(first, minutes=1)
    path.mkdir()
    scene.memory.kafka.kill(4)
    scene.run_for(first, minutes=3)
    assert scene.kinds().count(EventKind.NOT_SAVED) == 1
    path.rmdir()
    scene.run_for(scene.watcher(level=HealLevel.ALL, dead_after_s=60.0), minutes=3)
    others = read_ledger(path).entries
    assert [e.kind for e in others if e.succeeded] == ["repair"]
    if not is_broker_missing:
        scene.memory.kafka.start(4)
    lock.is_lost = True
    scene.run_for(first, minutes=1)

    assert read_ledger(path).entries[: len(others)] == others


def test_a_watch_on_standby_observes_and_heals_once_it_takes_over(make_scene: Callable[[], Scene]) -> None:
    """It reports a dead broker while another watch acts, says once why it does not repair it, then repairs it."""
    scene, is_alone = make_scene(), list[bool]()
    standby = scene.watcher(lambda: "" if is_alone else LOST, level=HealLevel.ALL, dead_after_s=60.0)
    scene.run_for(standby, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(standby, minutes=4)
    held_back = [e.message for e in scene.events if e.event is EventKind.HELD_BACK]
    assert held_back == [f"repair held back: {LOST}"]
    assert scene.held()[3] == 8

    is_alone.append(True)
    scene.run_for(standby, minutes=1)

    assert scene.held()[3] == 0
    assert scene.kinds().count(EventKind.BROKER_DEAD) == 1


def test_a_watch_that_lost_its_lock_notices_at_the_next_reading(make_scene: Callable[[], Scene]) -> None:
    """It does not report beside the watch that took over until it has something to heal."""
    scene, asked = make_scene(), list[float]()

    def why_not_alone() -> str:
        asked.append(scene.clock.monotonic())
        return ""

    scene.run_for(scene.watcher(why_not_alone), minutes=2)

    assert len(asked) == 4


def _healed_imbalance(scene: Scene) -> Watcher:
    """A watch that has just balanced a cluster of 12, 12, 6 and 2 replicas."""
    rows = [*[(1, 2)] * 8, *[(2, 3)] * 4, *[(3, 1)] * 2, *[(4, 1)] * 2]
    scene.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", *rows)]), scene.clock)
    watcher = scene.watcher(level=HealLevel.ALL)
    scene.run_for(watcher, minutes=8)
    assert scene.held() == [8, 8, 8, 8]
    return watcher


@pytest.mark.parametrize("was_killed", [False, True])
def test_what_an_operator_has_rolled_back_is_not_repeated_at_once(
    make_scene: Callable[[], Scene], *, was_killed: bool
) -> None:
    """It is tried again after the back-off, as after a cancel, and reported once; also if its watch was killed."""
    scene = make_scene()
    watcher, path = _healed_imbalance(scene), scene.folder / "ledger.json"
    if was_killed:
        begun = read_ledger(path)
        unended = replace(begun.entries[0], ended_at_s=None, succeeded=False)
        write_ledger(replace(begun, entries=(unended,)), path)
        watcher = scene.watcher(level=HealLevel.ALL)
    roll_back(RunEnvironment(cluster=scene.memory, state_dir=scene.folder / "runs", clock=scene.clock, host="h"))
    scene.run_for(watcher, minutes=12)
    assert scene.held() == [12, 12, 6, 2]
    assert [e.was_cancelled for e in read_ledger(path).entries] == [True]
    scene.run_for(watcher, minutes=15)

    assert scene.held() == [8, 8, 8, 8]
    assert scene.kinds().count(EventKind.HEALING_STOPPED) == (not was_killed)


def test_a_rollback_is_noticed_although_another_run_has_followed(make_scene: Callable[[], Scene]) -> None:
    """The latest run hides it, but the replicas are back where they were."""
    scene = make_scene()
    watcher, path = _healed_imbalance(scene), scene.folder / "ledger.json"
    environment = RunEnvironment(cluster=scene.memory, state_dir=scene.folder / "runs", clock=scene.clock, host="h")
    roll_back(environment)
    own = make_plan(read_state(scene.memory, 10.0, lambda state: state).state, PlanOptions(max_moves=1))
    assert sum(len(change.to_add) for change in own.partitions) == 1
    apply(environment, own, RunOptions())
    before = scene.held()
    scene.run_for(watcher, minutes=12)
    assert [e.was_cancelled for e in read_ledger(path).entries] == [True]
    assert scene.held() == before
    assert scene.kinds().count(EventKind.HEALING_STOPPED) == 1


def test_response_times_are_those_of_the_latest_observation(make_scene: Callable[[], Scene]) -> None:
    """A broker that does not respond has none, and no broker has one while nothing is known of the cluster."""
    scene = make_scene()
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    assert watcher.summary().responses_s.keys() == {1, 2, 3, 4}
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=0.5)
    assert watcher.summary().responses_s.keys() == {1, 2, 3}
    for broker in (1, 2, 3):
        scene.memory.kafka.kill(broker)
    scene.run_for(watcher, minutes=0.5)

    assert watcher.summary().responses_s == {}


def test_another_cluster_at_the_same_addresses_is_not_healed(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was healed and measured is that of the former cluster: the watch reports nothing more, and asks to end."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0, cluster_id="simulated")
    scene.run_for(watcher, minutes=2)
    assert watcher.successor == ""

    def other(*arguments: Any) -> Reading:
        reading = read_state(*arguments)
        return replace_field(reading, state=reading.state.replace(cluster_id="other"))

    monkeypatch.setattr("kafkabal.watch.watcher.read_state", other)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=3)

    assert watcher.successor == "other"
    assert scene.held()[3] == 8
    assert EventKind.HEALING not in scene.kinds()


def test_a_damaged_ledger_stops_healing_not_watching(make_scene: Callable[[], Scene]) -> None:
    """It is reported once and never replaced; brokers are watched, and healed once it has been moved away."""
    scene = make_scene()
    path = scene.folder / "ledger.json"
    path.write_bytes(b"\0" * 40)

    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)
    assert scene.kinds().count(EventKind.NOT_SAVED) == scene.kinds().count(EventKind.BROKER_DEAD) == 1
    assert "ledger.json, line 1: not a ledger of kafkabal watch" in scene.events[0].message
    watcher.end()
    assert path.read_bytes() == b"\0" * 40
    path.unlink()
    scene.run_for(watcher, minutes=2)

    assert scene.kinds().count(EventKind.SAVED) == 1
    assert scene.held()[3] == 0


def test_a_watch_that_only_reports_has_no_ledger(make_scene: Callable[[], Scene]) -> None:
    """Without --heal the ledger is neither read nor written, whatever comes and goes."""
    scene = make_scene()
    path = scene.folder / "ledger.json"
    path.write_bytes(b"\0" * 40)
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=2)
    watcher.end()

    assert {EventKind.BROKER_DEAD, EventKind.BROKER_BACK}.issubset(scene.kinds())
    assert path.read_bytes() == b"\0" * 40


def test_a_killed_watch_knows_whose_leadership_it_took(make_scene: Callable[[], Scene]) -> None:
    """Killed between the end of a demotion and its record, the next watch gives the leadership back nevertheless."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=2)
    led_before = scene.led()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(watcher, minutes=1)
    path = scene.folder / "ledger.json"
    (ended,) = read_ledger(path).entries
    write_ledger(HealingLedger(entries=(replace(ended, ended_at_s=None, succeeded=False),)), path)

    slow.response_s = 0.002
    scene.run_for(scene.watcher(level=HealLevel.LEADERS), minutes=12)

    assert scene.led() == led_before


def test_a_demotion_that_a_later_run_hides_is_undone(make_scene: Callable[[], Scene]) -> None:
    """Killed as above, and another command runs before the next watch: the leadership is given back nevertheless."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=2)
    led_before = scene.led()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(watcher, minutes=1)
    path = scene.folder / "ledger.json"
    ledger = read_ledger(path)
    began = replace(ledger.entries[0], ended_at_s=None, succeeded=False)
    write_ledger(replace(ledger, entries=(began,), demoted={}), path)

    cron = RunEnvironment(cluster=scene.memory, state_dir=scene.folder / "cron", clock=scene.clock, host="cron")
    previous = Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))
    move = PartitionChange(topic="t", partition=0, replicas=(1, 3), log_dirs=("any", "any"), previous=previous)
    apply(cron, Plan(partitions=(move,)), RunOptions())
    slow.response_s = 0.002
    scene.run_for(scene.watcher(level=HealLevel.LEADERS), minutes=12)

    assert scene.led() == led_before
    (demotion, _) = read_ledger(path).entries
    assert (demotion.ended_at_s is not None, demotion.succeeded) == (True, False)


def test_leadership_that_two_slow_brokers_had_in_turn_goes_back_to_the_first(make_scene: Callable[[], Scene]) -> None:
    """Broker 3 slows down while it leads for broker 2; when both are well, each leads what it led at first."""
    scene = make_scene()
    rows = [(b % 4 + 1, (b + 1) % 4 + 1, (b + 2) % 4 + 1) for b in range(16)]
    scene.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", *rows)]), scene.clock)
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=2)
    leaders = scene.memory.read(ReadRequest()).state.partitions.leader.tolist()
    parts = scene.memory.kafka.parts.brokers
    for slow in (2, 3):
        parts[slow].response_s = 0.2
        scene.run_for(watcher, minutes=2)
    assert scene.led()[1:3] == [0, 0]
    for well in (2, 3):
        parts[well].response_s = 0.002
        scene.run_for(watcher, minutes=13)

    assert scene.memory.read(ReadRequest()).state.partitions.leader.tolist() == leaders


def test_a_broker_that_is_slow_when_the_watch_starts_again_stays_slow(make_scene: Callable[[], Scene]) -> None:
    """Its response times of then are not taken for its usual ones: it leads again ten minutes after it is well."""
    scene = make_scene()
    first = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(first, minutes=3)
    led_before = scene.led()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(first, minutes=2)
    first.end()
    scene.events.clear()

    second = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(second, minutes=30)
    assert scene.kinds()[0] is EventKind.BROKER_SLOW
    assert scene.led()[1] == 0
    slow.response_s = 0.002
    scene.run_for(second, minutes=12)

    assert EventKind.BROKER_BACK in scene.kinds()
    assert scene.led() == led_before
    assert read_ledger(scene.folder / "ledger.json").usual_s == {}


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_watch_killed_during_a_demotion_does_not_call_the_slow_broker_well(
    make_scene: Callable[[], Scene], *, has_begun: bool
) -> None:
    """Killed before its run began, the next watch demotes the broker; killed later, it finishes the demotion."""
    scene = make_scene()
    first = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(first, minutes=3)
    led_before = scene.led()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    if not has_begun:
        with pytest.raises(KeyboardInterrupt), patch.object(RunHealer, "begin", side_effect=KeyboardInterrupt):
            scene.run_for(first, minutes=2)
    else:
        scene.run_for(first, minutes=1)
        path = scene.folder / "ledger.json"
        ledger = read_ledger(path)
        began = replace(ledger.entries[0], ended_at_s=None, succeeded=False)
        write_ledger(replace(ledger, entries=(began,), demoted={}), path)

    second = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(second, minutes=20)
    assert scene.led()[1] == 0
    slow.response_s = 0.002
    scene.run_for(second, minutes=12)

    assert scene.led() == led_before


def test_a_drained_broker_is_not_drained_again(make_scene: Callable[[], Scene]) -> None:
    """A slow broker without replicas neither fails a healing nor keeps the next slow broker from being drained."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, move_after_s=60.0)
    scene.run_for(watcher, minutes=3)
    parts = scene.memory.kafka.parts.brokers
    parts[2].response_s = 0.2
    scene.run_for(watcher, minutes=20)
    assert scene.held()[1] == 0
    assert EventKind.UNMET not in scene.kinds()

    parts[3].response_s = 0.2
    scene.run_for(watcher, minutes=20)

    assert scene.held() == [16, 0, 0, 16]


def test_a_slow_broker_that_cannot_be_demoted_does_not_keep_the_next_one_waiting(
    make_scene: Callable[[], Scene],
) -> None:
    """Broker 2 leads only what no other could lead, which is reported once; broker 3 is demoted within a minute."""
    scene = make_scene()
    topics = [topic("alone", *[(2,)] * 4), topic("t", *[(3, 4), (4, 3), (1, 3), (1, 4)] * 4)]
    scene.memory = InMemoryCluster.of(cluster(brokers(4), topics), scene.clock)
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=3)
    parts = scene.memory.kafka.parts.brokers
    parts[2].response_s = 0.2
    scene.run_for(watcher, minutes=5)
    parts[3].response_s = 0.2
    scene.run_for(watcher, minutes=1)
    assert scene.led()[1:3] == [4, 0]
    scene.run_for(watcher, minutes=20)

    unmet = [event.message for event in scene.events if event.event is EventKind.UNMET]
    assert set(unmet) == {"demote: no move helps now"}
    assert len(unmet) <= 2


def test_leadership_that_others_have_given_back_delays_no_other_broker(make_scene: Callable[[], Scene]) -> None:
    """Nothing is left to give back to broker 1, so broker 2 gets its leadership at once, not after a back-off."""
    scene = make_scene()
    first = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(first, minutes=2)
    led_before = scene.led()
    slow = scene.memory.kafka.parts.brokers[2]
    slow.response_s = 0.2
    scene.run_for(first, minutes=1)
    slow.response_s = 0.002
    path = scene.folder / "ledger.json"
    ledger = read_ledger(path)
    write_ledger(replace(ledger, demoted={1: Plan(partitions=()), **ledger.demoted}), path)

    scene.run_for(scene.watcher(level=HealLevel.LEADERS), minutes=12)

    assert scene.led() == led_before
    assert read_ledger(path).demoted == {}


def test_an_empty_broker_that_may_get_nothing_is_not_filled(make_scene: Callable[[], Scene]) -> None:
    """No filling is planned for an excluded broker: its back-off would delay the next broker that joins."""
    scene = make_scene()
    scene.memory.kafka.add_broker(brokers(5)[4])
    scene.run_for(scene.watcher(level=HealLevel.ALL, exclude_brokers=frozenset({5})), minutes=3)

    assert EventKind.UNMET not in scene.kinds()
    assert "fill" not in {e.kind for e in read_ledger(scene.folder / "ledger.json").entries}


def test_a_demotion_that_changes_nothing_is_planned_once_a_reading(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a demoted slow broker leads what no other broker can lead, observations between readings plan nothing."""
    scene = make_scene()
    planned_at_s: list[float] = []
    rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
    scene.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", *rows), topic("alone", (2,))]), scene.clock)
    watcher = scene.watcher(level=HealLevel.LEADERS)
    scene.run_for(watcher, minutes=3)
    scene.memory.kafka.parts.brokers[2].response_s = 0.2
    scene.run_for(watcher, minutes=5)
    assert watcher.demoted == {2}
    assert scene.led()[1] == 1

    def counted(*arguments: Any, **at: float) -> Plan:
        planned_at_s.append(scene.clock.monotonic())
        return plan_of(*arguments, **at)

    monkeypatch.setattr("kafkabal.watch.watcher.plan_of", counted)
    scene.run_for(watcher, minutes=10)

    assert len(planned_at_s) <= 10 * 60 / 30


def test_nothing_is_planned_while_it_could_not_be_recorded(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk does not cost a plan every five seconds; the repair begins once there is room again."""
    scene, plans = make_scene(), 0
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=60.0)
    scene.run_for(watcher, minutes=2)

    def counted(*arguments: Any) -> Plan:
        nonlocal plans
        plans += 1
        return plan_of(*arguments)

    monkeypatch.setattr("kafkabal.watch.watcher.plan_of", counted)
    (scene.folder / "ledger.json").mkdir()
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=20)
    assert scene.kinds().count(EventKind.NOT_SAVED) == 1
    assert plans == 1
    (scene.folder / "ledger.json").rmdir()
    scene.run_for(watcher, minutes=2)

    assert scene.held()[3] == 0


def test_an_offline_log_dir_is_not_online_because_its_broker_is_silent(make_scene: Callable[[], Scene]) -> None:
    """A dead broker reports no log dirs: one that was offline ends with a report of it, or with the broker itself."""
    scene = make_scene()
    watcher = scene.watcher()
    scene.memory.kafka.fail_log_dir(4, "/d0")
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)

    assert EventKind.LOG_DIR_ONLINE not in scene.kinds()
    assert "log dir /d0 of broker 4 offline" in watcher.summary().problems
    scene.memory.kafka.parts.brokers[4].log_dirs["/d0"].online = True
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=1)
    assert scene.kinds().count(EventKind.LOG_DIR_ONLINE) == 1


def test_partitions_without_a_leader_are_reported_until_they_have_one(make_scene: Callable[[], Scene]) -> None:
    """A dead broker is one event, and partitions that have no other replica are a second one."""
    scene = make_scene()
    alone = topic("alone", (4,), (4,), (1,))
    scene.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", (1, 2), (2, 3)), alone]), scene.clock)
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)

    of_partitions = {EventKind.PARTITION_OFFLINE, EventKind.PARTITION_ONLINE}
    assert [e.message for e in scene.events if e.event in of_partitions] == ["2 partitions without a leader"]
    assert watcher.summary().problems[0] == "2 partitions without a leader"
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=1)
    assert [e.event for e in scene.events if e.event in of_partitions][1:] == [EventKind.PARTITION_ONLINE]


def scene_with_min_isr(make_scene: Callable[[], Scene], least: str) -> Scene:
    """Two partitions with three replicas each, of which this many must be in sync."""
    scene = make_scene()
    rows = cluster(brokers(4), [topic("t", (1, 2, 3), (2, 3, 4))])
    scene.memory = InMemoryCluster.of(rows, scene.clock)
    resource = ConfigResource(ResourceKind.TOPIC, "t")
    scene.memory.alter_configs([ConfigChange(resource, MIN_INSYNC_REPLICAS, least)])
    return scene


def test_partitions_under_min_isr_are_reported_until_enough_replicas_are_in_sync(
    make_scene: Callable[[], Scene],
) -> None:
    """Producers with acks=all cannot write to them, although every partition has a leader."""
    scene = scene_with_min_isr(make_scene, "3")
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(1)
    scene.run_for(watcher, minutes=2)

    message = "1 partition under min ISR: producers with acks=all cannot write"
    assert [e.message for e in scene.events if e.event is EventKind.UNDER_MIN_ISR] == [message]
    assert message in watcher.summary().problems
    assert watcher.summary().findings.under_min_isr == 1
    scene.memory.kafka.start(1)
    scene.run_for(watcher, minutes=2)
    assert EventKind.MIN_ISR_MET in scene.kinds()
    assert watcher.summary().findings.under_min_isr == 0


def test_a_topic_that_tolerates_a_dead_broker_is_not_under_min_isr(make_scene: Callable[[], Scene]) -> None:
    """With two of three replicas in sync, producers still write."""
    scene = scene_with_min_isr(make_scene, "2")
    watcher = scene.watcher()
    scene.memory.kafka.kill(1)
    scene.run_for(watcher, minutes=2)
    assert EventKind.UNDER_MIN_ISR not in scene.kinds()


def test_configs_that_cannot_be_read_end_no_alert(make_scene: Callable[[], Scene]) -> None:
    """What was found last stays while the configs are unknown; a watch that never knew them claims nothing."""
    scene = scene_with_min_isr(make_scene, "3")
    watcher = scene.watcher()
    scene.memory.kafka.kill(1)
    scene.run_for(watcher, minutes=1)
    with patch.object(InMemoryCluster, "configs", side_effect=UnreachableError("no response")):
        scene.run_for(watcher, minutes=2)
        assert watcher.summary().findings.under_min_isr == 1
        assert EventKind.MIN_ISR_MET not in scene.kinds()
    scene.memory = InMemoryCluster(scene.memory.kafka, without={Capability.CONFIGS})
    late = scene.watcher()
    scene.run_for(late, minutes=1)
    assert late.summary().findings.under_min_isr is None


def test_a_broker_that_may_come_back_begins_and_ends_no_alert_of_imbalance(make_scene: Callable[[], Scene]) -> None:
    """Its death is one alert: what the others lead meanwhile is no imbalance, and none that was there is over. Once its
    copies are where they stay, they count."""
    scene = make_scene()
    watcher = scene.watcher(dead_after_s=300.0)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=4)
    assert scene.kinds() == [EventKind.BROKER_UNREACHABLE, EventKind.BROKER_DEAD]
    scene.run_for(watcher, minutes=3)
    assert scene.kinds()[2:] == [EventKind.IMBALANCED]
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=1)
    assert EventKind.BROKER_BACK in scene.kinds()


def test_a_nearly_full_disk_is_reported_once_until_it_has_room(make_scene: Callable[[], Scene]) -> None:
    """Retention makes a log grow and shrink by a segment: a disk that crosses 85% again and again is one alert, which
    ends below 80%, and not because the broker of the disk is silent."""
    scene = make_scene()
    parts = scene.memory.kafka.parts
    watcher = scene.watcher()

    def fill(fraction: float) -> None:
        """Let other programs fill the disk of broker 4."""
        on_disk = parts.brokers[4].log_dirs["/d0"]
        on_disk.other_bytes = int(fraction * on_disk.total_bytes)
        scene.run_for(watcher, minutes=1)

    for fraction in (0.5, 0.86, 0.82, 0.86):
        fill(fraction)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)
    scene.memory.kafka.start(4)
    fill(0.82)
    reported = [e for e in scene.events if e.event in {EventKind.DISK_NEARLY_FULL, EventKind.DISK_HAS_ROOM}]
    assert [(e.event, e.broker, e.log_dir) for e in reported] == [(EventKind.DISK_NEARLY_FULL, 4, "/d0")]
    assert reported[0].message == "log dir /d0 of broker 4 is more than 85% full"
    assert "1 disk more than 85% full: /d0 of broker 4" in watcher.summary().problems
    fill(0.5)
    assert scene.kinds()[-1] is EventKind.DISK_HAS_ROOM


def test_the_alert_of_a_broker_that_was_removed_ends(make_scene: Callable[[], Scene]) -> None:
    """A dead broker that holds nothing any more is reported as removed, once, which resolves its alert."""
    scene = make_scene()
    watcher = _repair_broker_4(scene)
    del scene.memory.kafka.parts.brokers[4]
    scene.run_for(watcher, minutes=2)

    assert [e.broker for e in scene.events if e.event is EventKind.BROKER_REMOVED] == [4]
    assert not [p for p in watcher.summary().problems if p.startswith("broker")]


def test_a_flapping_broker_is_filled_once_it_stays(make_scene: Callable[[], Scene]) -> None:
    """As on Kafka, it is no longer listed once it is repaired; when it is back, its earlier absences still count."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=600.0)
    kafka = scene.memory.kafka
    for there, away in ((2, 8), (1, 4)):
        scene.run_for(watcher, minutes=there)
        kafka.kill(4)
        scene.run_for(watcher, minutes=away)
        kafka.start(4)
    assert scene.held()[3] == 0
    del kafka.parts.brokers[4]
    scene.run_for(watcher, minutes=2)
    kafka.add_broker(brokers(4)[3])

    scene.run_for(watcher, minutes=15)
    assert scene.held()[3] == 0
    assert "fill held back: broker 4 is flapping" in [e.message for e in scene.events]
    scene.run_for(watcher, minutes=10)

    assert scene.held()[3] > 5


@pytest.mark.parametrize("is_started_again", [True, False])
def test_a_broker_that_died_long_ago_holds_no_repair_back(
    make_scene: Callable[[], Scene], *, is_started_again: bool
) -> None:
    """Two that died more than a day apart are no network problem, also for a watch that is started in between."""
    scene = make_scene()
    policy = {"level": HealLevel.ALL, "dead_after_s": 36 * 3600.0}
    watcher = scene.watcher(**policy)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)
    scene.clock.sleep(25 * 3600.0)
    if is_started_again:
        watcher.end()
        watcher = scene.watcher(**policy)
        scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(3)
    scene.run_for(watcher, minutes=1)
    scene.clock.sleep(37 * 3600.0)
    scene.run_for(watcher, minutes=3)

    assert scene.held()[3] < 8


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_watch_that_is_started_again_knows_which_brokers_are_flapping(
    make_scene: Callable[[], Scene], *, is_killed: bool
) -> None:
    """Killed while the broker was back, or ended while it was missing again: its absences add up to --dead-after."""
    scene = make_scene()
    kafka = scene.memory.kafka
    policy = {"level": HealLevel.ALL, "dead_after_s": 600.0}
    watcher = scene.watcher(**policy)
    scene.run_for(watcher, minutes=2)
    kafka.kill(4)
    scene.run_for(watcher, minutes=8)
    kafka.start(4)
    scene.run_for(watcher, minutes=1)
    if is_killed:
        watcher = scene.watcher(**policy)
        scene.run_for(watcher, minutes=0.5)
        kafka.kill(4)
    else:
        kafka.kill(4)
        scene.run_for(watcher, minutes=2)
        watcher.end()
        watcher = scene.watcher(**policy)

    scene.run_for(watcher, minutes=0.25)
    assert scene.held()[3] == 8
    scene.run_for(watcher, minutes=3)

    assert scene.held()[3] == 0


def test_the_alert_of_a_failed_healing_ends_with_its_finding(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed repair whose broker comes back needs no other run to resolve its alert."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.kill(4)

    def fails(*_: object) -> None:
        raise OperationError("no plan")

    monkeypatch.setattr("kafkabal.watch.watcher.plan_of", fails)
    scene.run_for(watcher, minutes=2)
    assert EventKind.HEALING_FAILED in scene.kinds()
    scene.memory.kafka.start(4)
    scene.run_for(watcher, minutes=2)

    assert scene.kinds().count(EventKind.NOTHING_TO_HEAL) == 1


def test_the_alert_of_a_failed_healing_does_not_end_with_another_one(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a repair fails, a broker is demoted: that this succeeds does not resolve the alert of the repair."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(watcher, minutes=2)

    def fails_to_repair(healing: Healing, *arguments: Any) -> Plan:
        if healing.kind is HealKind.REPAIR:
            raise OperationError("no plan")
        return plan_of(healing, *arguments)

    monkeypatch.setattr("kafkabal.watch.watcher.plan_of", fails_to_repair)
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.parts.brokers[2].response_s = 0.2
    scene.run_for(watcher, minutes=2)

    of_healings = [e for e in scene.events if e.event in {EventKind.HEALED, EventKind.HEALING_FAILED}]
    assert [e.event for e in of_healings][:2] == [EventKind.HEALING_FAILED, EventKind.HEALED]
    assert of_healings[1].message.startswith("demote: ")
    assert (of_healings[2].event, of_healings[2].message) == (
        EventKind.HEALING_FAILED,
        "repair: not healed yet: no plan",
    )


def test_a_cluster_that_responds_but_cannot_be_read_is_reported_once(
    make_scene: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers that answer probes do not end the report that the cluster cannot be read; a reading does."""
    scene = make_scene()
    watcher = scene.watcher()

    def refuse(_: ReadRequest) -> None:
        raise OperationError("not authorized")

    with monkeypatch.context() as patched:
        patched.setattr(scene.memory, "read", refuse)
        scene.run_for(watcher, minutes=2)
    scene.run_for(watcher, minutes=1)

    assert scene.kinds() == [EventKind.BLIND, EventKind.SEEING]


def test_a_cluster_that_cannot_be_read_is_reported_once(make_scene: Callable[[], Scene]) -> None:
    """An unreadable cluster is reported once, and so is its return."""
    scene = make_scene()
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    for b in (1, 2, 3, 4):
        scene.memory.kafka.kill(b)
    scene.run_for(watcher, minutes=1)
    for b in (1, 2, 3, 4):
        scene.memory.kafka.start(b)
    scene.run_for(watcher, minutes=2)

    assert [k for k in scene.kinds() if k in {EventKind.BLIND, EventKind.SEEING}] == [EventKind.BLIND, EventKind.SEEING]


def test_without_a_controller_brokers_are_still_read(make_scene: Callable[[], Scene]) -> None:
    """What brokers report is shown while no controller responds, nothing is healed, and then all is as before."""
    scene = make_scene()
    watcher = scene.watcher(level=HealLevel.ALL, dead_after_s=0.0)
    scene.run_for(watcher, minutes=1)
    read_at_s = watcher.summary().read_at_s
    scene.memory.kafka.parts.controller_responds = False
    scene.run_for(watcher, minutes=2)
    assert [event.message for event in scene.events] == [
        "reassignments in flight are unknown: no controller responded within 3 s"
    ]
    scene.memory.kafka.fail_log_dir(1, "/d0")
    scene.memory.kafka.kill(4)
    scene.run_for(watcher, minutes=2)
    assert scene.kinds()[1:] == [
        EventKind.LOG_DIR_OFFLINE,
        EventKind.PARTITION_OFFLINE,
        EventKind.BROKER_UNREACHABLE,
        EventKind.BROKER_DEAD,
    ]
    assert watcher.summary().read_at_s - read_at_s < 60.0  # an alert tells of a cluster that is not read completely

    scene.memory.kafka.parts.controller_responds = True
    scene.run_for(watcher, minutes=3)
    assert EventKind.SEEING in scene.kinds()
    assert any(event.event is EventKind.HEALED and event.message.startswith("repair") for event in scene.events)


def test_moves_in_flight_are_not_out_of_sync_without_a_controller(make_scene: Callable[[], Scene]) -> None:
    """A copy that another tool makes raises no alert when the controller fails meanwhile."""
    scene = make_scene()
    rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
    slow = topic("t", *rows, size_bytes=50 * GB)
    scene.memory = InMemoryCluster.of(cluster(brokers(4), [slow]), scene.clock)
    watcher = scene.watcher()
    scene.run_for(watcher, minutes=1)
    scene.memory.alter_reassignments({TopicPartition("t", 0): (1, 3)})
    scene.run_for(watcher, minutes=1)
    scene.memory.kafka.parts.controller_responds = False
    scene.run_for(watcher, minutes=2)
    assert scene.memory.kafka.parts.topics["t"].partitions[0].is_moving
    assert scene.kinds() == [EventKind.BLIND]
