"""Healings that are stopped, resumed, planned again or held back, on a simulated cluster."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from kafkabal.clusters import ConfigChange
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.config.time_window import TimeWindow
from kafkabal.errors import NotAuthorizedError, UnreachableError
from kafkabal.executor.execute_run import apply, cancel, resume
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions, Throttle, Timeouts
from kafkabal.executor.state.run_request import request_cancel, request_pause
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal import RunHealer
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import read_ledger
from kafkabal.watch.watch_events import EventKind, WatchEvent
from kafkabal.watch.watch_options import WatchOptions
from kafkabal.watch.watcher import Watcher

LOOK_S = 10.0
LOST = "this watch lost its lock for a while"


class Crash(BaseException):
    """The process is killed."""


class Stage:
    """Four brokers, the last empty, so that filling it takes an hour, and a watch that keeps observing meanwhile."""

    def __init__(self, folder: Path, *, size_bytes: int = 10 * GB) -> None:
        self.clock, self.folder = FakeClock(), folder
        rows = [partition(n, (n % 3 + 1, (n + 1) % 3 + 1), size_bytes) for n in range(24)]
        self.memory = InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="t", partitions=rows)]), self.clock)
        self.events: list[WatchEvent] = []
        self.ledger = folder / "ledger" / "watch.json"

    def on_event(self, event: WatchEvent) -> None:
        """Keep the event."""
        self.events.append(event)

    def watcher(
        self,
        *,
        state_every_s: float = 60.0,
        healer_type: type[RunHealer] = RunHealer,
        why_not_alone: Callable[[], str] = lambda: "",
        level: HealLevel = HealLevel.ALL,
        **policy: object,
    ) -> Watcher:
        """A watch with all healings allowed; it observes while it heals."""
        healer = healer_type(
            lambda stop: RunEnvironment(
                cluster=self.memory, state_dir=self.folder / "runs", clock=self.clock, stop=stop, host="h"
            ),
            50_000_000,
            timeouts=Timeouts(poll_s=15.0),
            in_background=False,
        )
        limits = HealPolicy(level=level, **policy)  # type: ignore[arg-type]
        options = WatchOptions(every_s=LOOK_S, state_every_s=state_every_s, policy=limits)
        return Watcher(self.memory, options, self.clock, self, healer, self.ledger, why_not_alone=why_not_alone)

    def after_crash(self, at_s: float) -> Stage:
        """Let a watch be killed while it fills the empty broker; returns the stage of the next one."""

        def crash() -> None:
            raise Crash

        self.clock.at(at_s, crash)
        with pytest.raises(Crash):
            self.run_for(self.watcher(), hours=1)
        assert self.memory.kafka.parts.moving
        self.clock.sleep(60.0)
        follower = Stage(self.folder)
        follower.clock, follower.memory = self.clock, self.memory.connect("again")
        self.memory.kafka.parts.locks.clear()
        return follower

    @property
    def is_clean(self) -> bool:
        """Whether no reassignment is in flight, and no throttle is left."""
        return not self.memory.kafka.catch_up().moving and not any(
            b.own_configs for b in self.memory.kafka.parts.brokers.values()
        )

    def run_for(self, watcher: Watcher, hours: float, every_s: float = LOOK_S) -> None:
        """Observe every ten seconds, also during a healing."""
        ends_at_s = self.clock.monotonic() + hours * 3600

        def look() -> None:
            if self.clock.monotonic() < ends_at_s:
                self.clock.at(self.clock.monotonic() + every_s, look)
                watcher.observe()

        self.clock.at(self.clock.monotonic(), look)
        self.clock.sleep(hours * 3600)

    def messages(self, kind: EventKind) -> list[str]:
        """Messages of this kind."""
        return [event.message for event in self.events if event.event is kind]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A stage in its own folder."""
    return Stage(tmp_path)


def test_a_long_run_is_planned_again_every_hour(stage: Stage) -> None:
    """Copies in flight complete, the rest is planned for the current cluster, and no byte is copied for nothing."""
    stage.run_for(stage.watcher(replan_after_s=900.0), hours=2)

    assert "its plan is older than 15 min" in stage.messages(EventKind.HEALING_STOPPED)[0]
    assert len(stage.messages(EventKind.HEALED)) == 1
    assert not stage.memory.kafka.catch_up().moving


def test_a_paused_run_stays_paused(stage: Stage) -> None:
    """A run that an operator has paused is not planned again, however old its plan; it continues when it is told to."""
    watcher = stage.watcher(replan_after_s=900.0)
    environment = RunEnvironment(cluster=stage.memory, state_dir=stage.folder / "runs", clock=stage.clock, host="h")
    begin_s = stage.clock.monotonic()
    stage.clock.at(begin_s + 300.0, lambda: request_pause(environment, is_paused=True))
    seen: list[tuple[int, bool]] = []
    stage.clock.at(
        begin_s + 7000.0, lambda: seen.append((len(stage.messages(EventKind.HEALING_STOPPED)), stage.is_clean))
    )
    stage.clock.at(begin_s + 7100.0, lambda: request_pause(environment, is_paused=False))
    stage.run_for(watcher, hours=4)

    assert seen == [(0, True)]
    assert stage.messages(EventKind.HEALED)
    (held_back,) = stage.messages(EventKind.HELD_BACK)
    assert held_back.startswith("fill held back: its run is paused, although its plan is older than 15 min; ")


def test_a_window_that_closes_stops_a_run(stage: Stage) -> None:
    """Outside the window no reassignment is in flight, and no throttle is left."""
    stage.run_for(stage.watcher(window=TimeWindow.parse("00:00-00:20")), hours=0.5)

    assert "the window 00:00-00:20 has closed" in stage.messages(EventKind.HEALING_STOPPED)[0]
    assert not stage.memory.kafka.catch_up().moving
    assert not any(b.own_configs for b in stage.memory.kafka.parts.brokers.values())


def test_a_broker_that_dies_during_a_run_is_repaired(stage: Stage) -> None:
    """The run yields although it cannot restore the dead broker's throttle, and the repair proceeds; once the broker is
    back, its throttle is restored, and that is what is reported."""
    stage.clock.at(600.0, lambda: stage.memory.kafka.kill(1))

    stage.run_for(stage.watcher(dead_after_s=300.0), hours=2)

    assert "a repair comes first: broker 1 dead for 5 min or longer" in stage.messages(EventKind.HEALING_STOPPED)[0]
    assert not [p.name for p in stage.memory.kafka.catch_up().partitions() if 1 in p.replicas]
    assert not stage.messages(EventKind.HEALING_FAILED)
    (repaired,) = [m for m in stage.messages(EventKind.HEALED) if m.startswith("repair: ")]
    assert "not restored: replication rates of broker 1" in repaired
    stage.memory.kafka.start(1)
    stage.run_for(stage.watcher(), hours=1)
    assert not any(b.own_configs for b in stage.memory.kafka.parts.brokers.values())
    # its partitions were in place before: a count of those that it has looked at would say that none is
    (restored,) = [m for m in stage.messages(EventKind.HEALED) if m.startswith("resume: ")]
    assert restored.startswith("resume: all throttles restored in ")


def test_a_repair_that_is_impossible_stops_no_run(stage: Stage) -> None:
    """Replicas that stay on a dead broker, here of an excluded topic, do not make a fill begin and stop forever."""
    held = [partition(n, (1, 3), GB) for n in range(3)]
    rows = [partition(n, (n % 3 + 1, (n + 1) % 3 + 1), 2 * GB) for n in range(24)]
    topics = [TopicRow(topic="t", partitions=rows), TopicRow(topic="keep", partitions=held)]
    stage.memory = InMemoryCluster.of(cluster(brokers(5), topics), stage.clock)
    stage.clock.at(30.0, lambda: stage.memory.kafka.kill(1))

    stage.run_for(stage.watcher(dead_after_s=40.0, exclude_topics=("keep",)), hours=0.3)

    stopped = stage.messages(EventKind.HEALING_STOPPED)
    assert len(stopped) == 1
    assert "a repair comes first: " in stopped[0]


def test_a_watch_that_ends_during_a_run_leaves_nothing_in_flight(stage: Stage) -> None:
    """On SIGTERM reassignments in flight are cancelled and throttles restored, and the next watch starts clean."""
    watcher = stage.watcher()
    stage.clock.at(600.0, watcher.end)
    stage.run_for(watcher, hours=0.17)

    assert "the watch ends" in stage.messages(EventKind.HEALING_STOPPED)[0]
    assert not stage.memory.kafka.catch_up().moving
    assert not any(b.own_configs for b in stage.memory.kafka.parts.brokers.values())
    stage.events.clear()
    stage.run_for(stage.watcher(), hours=2)
    assert stage.messages(EventKind.HEALING)[0].startswith("fill: ")
    assert stage.messages(EventKind.HEALED)[0].startswith("fill: ")


def test_a_watch_that_another_one_replaced_leaves_nothing_in_flight(stage: Stage) -> None:
    """Its run is cancelled gracefully while it goes on observing, and it says why."""
    watcher = stage.watcher(why_not_alone=lambda: "" if stage.clock.monotonic() < 300.0 else LOST)
    for at_s in (300.0, 310.0):
        stage.clock.at(at_s, lambda: watcher.give_way("another watch heals this cluster: kafkabal on h (process 7)"))
    stage.run_for(watcher, hours=0.2)

    (stopped,) = stage.messages(EventKind.HEALING_STOPPED)
    assert stopped.startswith("fill: another watch heals this cluster: kafkabal on h (process 7); ")
    assert stage.is_clean


def test_what_the_end_waits_for_is_said(stage: Stage) -> None:
    """Cancelling may take minutes; without a healing in progress there is nothing to say."""
    watcher, said = stage.watcher(), list[Healing]()
    stage.clock.at(60.0, lambda: watcher.run(lambda: True, on_cancel=said.append))
    stage.run_for(watcher, hours=0.1)
    assert [healing.kind for healing in said] == [HealKind.FILL]

    watcher.run(lambda: True, on_cancel=said.append)

    assert len(said) == 1


def test_a_throttle_set_after_the_end_of_a_run_is_restored(stage: Stage) -> None:
    """A broker that hung executes a request of a run that was cancelled since; the next healing restores what it has
    set, and does not keep it as a lower rate of an operator."""
    alter, late = InMemoryCluster.alter_configs, list[Sequence[ConfigChange]]()

    def die(cluster: InMemoryCluster, changes: Sequence[ConfigChange]) -> Any:
        late.append(changes)
        raise Crash

    before = Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))
    change = PartitionChange(topic="t", partition=0, replicas=(4, 2), log_dirs=("any", "any"), previous=before)

    def cron() -> RunEnvironment:
        memory = stage.memory.connect("cron")
        return RunEnvironment(cluster=memory, state_dir=stage.folder / "runs", clock=stage.clock, host="h")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(InMemoryCluster, "alter_configs", die)
        with pytest.raises(Crash):
            apply(cron(), Plan(partitions=(change,)), RunOptions(throttle=Throttle(bytes_per_s=20_000_000)))
    stage.memory.kafka.parts.locks.clear()
    cancel(cron())
    assert not alter(stage.memory, late[0])
    assert not stage.is_clean

    stage.run_for(stage.watcher(), hours=2)

    assert len(stage.messages(EventKind.HEALED)) == 1
    assert stage.is_clean


def test_a_watch_that_was_killed_resumes_its_run(stage: Stage) -> None:
    """The next watch completes the run of a killed one before it decides on anything else."""
    follower = stage.after_crash(600.0)
    follower.run_for(follower.watcher(), hours=2)

    assert follower.messages(EventKind.HEALING)[0].startswith("resume: run ")
    assert follower.messages(EventKind.HEALED)[0].startswith("resume: ")
    (entry,) = read_ledger(stage.ledger).entries
    assert entry.plan is not None
    assert entry.moved_bytes == entry.plan.moved_bytes, "what the killed watch copied counts as well"


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"window": TimeWindow.parse("00:30-00:40")}, "the window 00:30-00:40 has closed"),
        ({"level": HealLevel.LEADERS}, "--heal leaders moves no replica"),
    ],
    ids=["window", "level"],
)
def test_a_run_that_may_not_move_anything_now_is_cancelled_instead_of_resumed(
    stage: Stage, policy: dict[str, Any], why: str
) -> None:
    """A restart outside the window, or with less allowed, moves nothing: what the killed watch began is cancelled."""
    follower = stage.after_crash(600.0)
    held = len([p for p in follower.memory.kafka.catch_up().partitions() if 4 in p.replicas and not p.adding])
    follower.run_for(follower.watcher(**policy), hours=0.1)

    (begun,) = follower.messages(EventKind.HEALING)
    assert begun.endswith(f"was left unfinished, and is cancelled: {why}")
    assert follower.messages(EventKind.HEALING_STOPPED)[0].startswith(f"resume: {why}; ")
    assert not follower.messages(EventKind.HEALED)
    assert follower.is_clean
    assert len([p for p in follower.memory.kafka.catch_up().partitions() if 4 in p.replicas]) == held


def test_no_run_is_resumed_while_more_brokers_are_missing_than_die_at_once(stage: Stage) -> None:
    """A watch that is started again during a network failure waits, as with everything else, until it is over."""
    follower = stage.after_crash(600.0)
    for broker in (1, 2):
        follower.memory.kafka.kill(broker)
    watcher = follower.watcher()
    follower.run_for(watcher, hours=0.1)
    assert not follower.messages(EventKind.HEALING)
    for broker in (1, 2):
        follower.memory.kafka.start(broker)

    follower.run_for(watcher, hours=2)

    assert follower.messages(EventKind.HEALED)[0].startswith("resume: ")


def test_a_resumed_run_stops_when_its_window_closes(stage: Stage) -> None:
    """What was resumed inside the window does not continue after it."""
    follower = stage.after_crash(600.0)
    follower.run_for(follower.watcher(window=TimeWindow.parse("00:00-00:20")), hours=0.3)

    assert follower.messages(EventKind.HEALING_STOPPED)[0].startswith("resume: the window 00:00-00:20 has closed; ")
    assert follower.is_clean


def test_a_run_of_a_watch_that_held_the_lock_in_between_is_resumed(stage: Stage) -> None:
    """A suspended watch that gets its lock back finishes what the one that was killed meanwhile has begun."""
    answers = list[str]()
    suspended = stage.watcher(why_not_alone=lambda: answers.pop() if answers else "")
    stage.memory.kafka.kill(4)
    stage.run_for(suspended, hours=0.05)
    stage.memory.kafka.start(4)
    stage.memory = stage.after_crash(stage.clock.monotonic() + 600.0).memory
    stage.events.clear()

    answers.append(LOST)  # it was lost, and is held again
    stage.run_for(suspended, hours=2)

    assert stage.messages(EventKind.HEALING)[0].startswith("resume: run ")
    assert not stage.messages(EventKind.HEALING_FAILED)


def test_what_an_operator_has_cancelled_does_not_begin_again_at_once(stage: Stage) -> None:
    """'rebalance cancel' ends a run of the watch: it is tried again after 15 minutes, like one that failed."""
    operator = RunEnvironment(cluster=stage.memory, state_dir=stage.folder / "runs", clock=stage.clock, host="h")
    stage.clock.at(600.0, lambda: request_cancel(operator))

    stage.run_for(stage.watcher(), hours=0.35)
    (stopped,) = stage.messages(EventKind.HEALING_STOPPED)
    assert stopped.startswith("fill: cancelled by 'kafkabal rebalance cancel', and tried again later; ")
    assert len(stage.messages(EventKind.HEALING)) == 1
    assert stage.is_clean
    stage.run_for(stage.watcher(), hours=0.2)

    assert len(stage.messages(EventKind.HEALING)) == 2


def test_a_run_that_no_watch_of_this_state_folder_began_is_reported(stage: Stage) -> None:
    """A watch that takes over with another state folder resumes nothing, but says what is left and what finishes it."""

    def crash() -> None:
        raise Crash

    stage.clock.at(600.0, crash)
    with pytest.raises(Crash):
        stage.run_for(stage.watcher(), hours=1)
    stage.clock.sleep(60.0)

    standby = Stage(stage.folder)
    standby.clock, standby.memory = stage.clock, stage.memory.connect("standby")
    standby.ledger = stage.folder / "elsewhere" / "ledger.json"
    stage.memory.kafka.parts.locks.clear()
    standby.run_for(standby.watcher(), hours=0.5)

    (left,) = [text for text in standby.messages(EventKind.HELD_BACK) if text.startswith("resume")]
    assert "of h is unfinished, and no watch of this state folder began it" in left
    assert left.endswith("finish it with 'kafkabal rebalance resume'")
    assert not standby.messages(EventKind.HEALED)


def test_bytes_that_a_failed_run_may_have_copied_count(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planned bytes of a run that failed after its start count towards the budget of the day."""

    def fails(*_: object, **__: object) -> None:
        raise UnreachableError("no broker responds")

    monkeypatch.setattr("kafkabal.watch.heal.apply", fails)
    stage.run_for(stage.watcher(), hours=0.1)

    assert stage.messages(EventKind.HEALING_FAILED) == ["fill: no broker responds"]
    assert read_ledger(stage.ledger).bytes_of_day(stage.clock.utc_now().timestamp()) > 0


def test_a_watch_that_was_killed_before_its_run_began_heals_at_once_when_it_is_back(stage: Stage) -> None:
    """An entry in the ledger without a run is not a failure: it spends no budget and causes no back-off."""

    class Killed(RunHealer):
        def begin(self, healing: Healing, plan: Plan) -> None:
            raise Crash

    with pytest.raises(Crash):
        stage.run_for(stage.watcher(healer_type=Killed, max_actions_per_day=1), hours=1)
    assert [e.succeeded for e in read_ledger(stage.ledger).entries] == [False]

    follower = Stage(stage.folder)
    follower.clock, follower.memory = stage.clock, stage.memory
    follower.run_for(follower.watcher(max_actions_per_day=1), hours=0.05)

    assert follower.messages(EventKind.HEALING)[0].startswith("fill: ")


def test_a_run_of_another_command_is_waited_for(tmp_path: Path) -> None:
    """A repair waits for a live run and is retried: it has not failed, and no message says to end that run."""
    stage = Stage(tmp_path, size_bytes=GB // 10)

    def stand_still() -> None:
        raise Crash

    cron = RunEnvironment(
        cluster=stage.memory.connect("cron"), state_dir=stage.folder / "cron", clock=stage.clock, host="cron"
    )
    move = PartitionChange(
        topic="t",
        partition=0,
        replicas=(4, 2),
        log_dirs=("any", "any"),
        previous=Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0")),
    )
    stage.clock.at(30.0, stand_still)
    with pytest.raises(Crash):
        apply(cron, Plan(partitions=(move,)), RunOptions(throttle=Throttle(bytes_per_s=100_000)))
    stage.memory.kafka.kill(3)
    stage.run_for(stage.watcher(dead_after_s=60.0), hours=0.3)

    assert not stage.messages(EventKind.HEALING_FAILED)
    assert not stage.messages(EventKind.HEALING)
    (held_back,) = stage.messages(EventKind.HELD_BACK)
    assert held_back.startswith("repair held back: cluster locked by kafkabal on cron ")
    cron.cluster.stop()
    stage.clock.sleep(60.0)
    resume(replace(cron, cluster=stage.memory.connect("cron again")))
    stage.run_for(stage.watcher(dead_after_s=60.0), hours=0.3)
    assert stage.messages(EventKind.HEALED)[0].startswith("repair: ")


@pytest.mark.parametrize("kind", ["fill", "repair"])
def test_reassignments_of_another_tool_are_waited_for(stage: Stage, kind: str) -> None:
    """A healing beside them has not failed: it is reported once, spends no action, and begins when they have ended."""
    target = (1, 3) if kind == "fill" else (1, 4)
    stage.memory.alter_reassignments({TopicPartition("t", 0): target})
    if kind == "repair":
        stage.memory.kafka.kill(3)

    stage.run_for(stage.watcher(dead_after_s=20.0, max_actions_per_day=1), hours=0.5)

    held = [text for text in stage.messages(EventKind.HELD_BACK) if text.startswith(kind)]
    assert held == [
        f"{kind} held back: 1 other reassignment in flight: t-0; 'kafkabal rebalance adopt' takes them over"
    ]
    assert not stage.messages(EventKind.HEALING_FAILED)
    assert [text.split(":")[0] for text in stage.messages(EventKind.HEALED)] == [kind]


class _HealerOfChangingCluster(RunHealer):
    """Something changes the cluster between each plan and its beginning."""

    change: Callable[[Plan], None]

    def begin(self, healing: Healing, plan: Plan) -> None:
        """Begin after the change."""
        self.change(plan)
        super().begin(healing, plan)


def test_topics_deleted_since_planning_stop_no_healing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster where topics come and go every second no rebalance would ever begin: the rest of the plan does."""
    brief = [topic(f"brief-{n}", (1, 2), (2, 3), (3, 1)) for n in range(4)]
    lasting = topic("lasting", *[(1, 2), (2, 3), (3, 1)] * 4)
    stage.memory = InMemoryCluster.of(cluster(brokers(4), [*brief, lasting]), stage.clock)

    def delete(plan: Plan) -> None:
        for name in sorted({change.topic for change in plan.partitions} - {"lasting"}):
            stage.memory.kafka.delete_topic(name)

    monkeypatch.setattr(_HealerOfChangingCluster, "change", staticmethod(delete), raising=False)
    stage.run_for(stage.watcher(healer_type=_HealerOfChangingCluster), hours=0.2)

    assert not stage.messages(EventKind.HEALING_FAILED)
    begun, healed = (stage.messages(kind)[0] for kind in (EventKind.HEALING, EventKind.HEALED))
    planned, done = (int(re.findall(r"(\d+) (?:of|partitions)", text)[0]) for text in (begun, healed))
    assert 0 < done < planned


def test_a_plan_that_another_tool_has_overtaken_is_made_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that moved between planning and the beginning is no failure: no alert, and no pause of 15 minutes."""
    moved: list[TopicPartition] = []

    def move_one(plan: Plan) -> None:
        if not moved:
            moved.append(plan.partitions[0].name)
            stage.memory.alter_reassignments({moved[0]: (2, 1)})

    monkeypatch.setattr(_HealerOfChangingCluster, "change", staticmethod(move_one), raising=False)
    stage.run_for(stage.watcher(healer_type=_HealerOfChangingCluster, max_actions_per_day=1), hours=0.05)

    assert not stage.messages(EventKind.HEALING_FAILED)
    (held_back,) = stage.messages(EventKind.HELD_BACK)
    assert held_back.startswith("fill held back: 1 planned partition changed since planning: ")
    assert len(stage.messages(EventKind.HEALING)) == 2


def test_the_alert_of_a_rebalance_that_failed_stays(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure does not restart the count of readings outside the band, which would end the alert."""

    def fails(*_: object, **__: object) -> None:
        raise UnreachableError("no broker responds")

    monkeypatch.setattr("kafkabal.watch.heal.apply", fails)
    rows = [partition(n, (n % 2 + 1,), GB) for n in range(24)]
    rows += [partition(24 + n, (n + 3,), GB) for n in range(2)]
    stage.memory = InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="t", partitions=rows)]), stage.clock)

    stage.run_for(stage.watcher(), hours=1)

    assert len(stage.messages(EventKind.HEALING_FAILED)) > 1
    assert not stage.messages(EventKind.NOTHING_TO_HEAL)


def test_the_alert_of_a_run_that_could_not_be_resumed_stays_until_it_is_finished(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for the next attempt, its moves and throttles are left; not so once an operator resumes it."""
    follower = stage.after_crash(600.0)

    def fails(*_: object, **__: object) -> None:
        raise UnreachableError("no broker responds")

    monkeypatch.setattr("kafkabal.watch.heal.resume", fails)
    watcher = follower.watcher()
    follower.run_for(watcher, hours=0.1)
    assert len(follower.messages(EventKind.HEALING_FAILED)) == 1
    assert not follower.messages(EventKind.NOTHING_TO_HEAL)
    assert not follower.is_clean

    resume(
        RunEnvironment(
            cluster=follower.memory.connect("operator"), state_dir=stage.folder / "runs", clock=stage.clock, host="h"
        )
    )
    follower.run_for(watcher, hours=0.05)
    assert len(follower.messages(EventKind.NOTHING_TO_HEAL)) == 1


def test_a_missing_permission_is_named(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A healing that the cluster denies fails with one line that says what to grant."""

    def deny(*_: object, **__: object) -> None:
        raise NotAuthorizedError("cannot alter reassignments: denied", hint="grant Alter on the cluster")

    monkeypatch.setattr(stage.memory, "alter_reassignments", deny)
    stage.run_for(stage.watcher(), hours=0.1)
    (failed,) = stage.messages(EventKind.HEALING_FAILED)
    assert "cannot alter reassignments: denied (grant Alter on the cluster" in failed


def test_a_full_disk_stops_healing_not_watching(stage: Stage) -> None:
    """A full disk is reported once, events are still reported, and healing resumes once there is room again."""
    stage.ledger.parent.write_text("a file where the folder should be")
    watcher = stage.watcher()
    stage.clock.at(300.0, lambda: stage.memory.kafka.pause(2))
    stage.clock.at(305.0, lambda: stage.memory.kafka.start(2))

    stage.run_for(watcher, hours=0.15)
    assert len(stage.messages(EventKind.NOT_SAVED)) == 1
    assert not stage.messages(EventKind.HEALING)
    stage.ledger.parent.unlink()
    stage.run_for(watcher, hours=0.05)

    assert stage.messages(EventKind.SAVED)
    assert stage.messages(EventKind.HEALING)


def test_unreachable_goals_are_named(tmp_path: Path) -> None:
    """With one of three brokers dead, three replicas are impossible: this is reported once, with the reason."""
    stage = Stage(tmp_path)
    rows = [topic("t", *[(1, 2, 3)] * 6)]
    stage.memory = InMemoryCluster.of(cluster(brokers(3), rows), stage.clock)
    stage.clock.at(60.0, lambda: stage.memory.kafka.kill(3))

    stage.run_for(stage.watcher(dead_after_s=60.0), hours=1)

    (unmet,) = [text for text in stage.messages(EventKind.UNMET) if text.startswith("repair")]
    assert "no broker can take" in unmet


def test_a_day_leaves_nothing_behind(stage: Stage) -> None:
    """Memory and open files after a day of observations are those after an hour."""
    rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
    stage.memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", *rows)]), stage.clock)
    watcher = stage.watcher(state_every_s=600.0)
    stage.run_for(watcher, hours=1)
    process = psutil.Process()
    tracemalloc.start()
    files, (bytes_before, _) = process.num_fds(), tracemalloc.get_traced_memory()

    stage.run_for(watcher, hours=24, every_s=60.0)

    bytes_after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert process.num_fds() == files
    assert bytes_after - bytes_before < 500_000
