"""Throttles of a run, request by request: what is set when, what stays, and what is restored in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    Fault,
    PartitionStatus,
    ResourceKind,
)
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.partition_task import LONGEST_LAG_S, PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.run_events import Trouble
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.journal_records import EffectKind, Intended
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Goal, RunState
from kafkabal.executor.state.set_configs import SetConfigs
from kafkabal.executor.throttle.run_throttles import RunThrottles, read_originals
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS
from kafkabal.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIR_RATE,
    TopicPartition,
)
from kafkabal.plan import ANY_DIR
from tests.unit.executor.conftest import planned_partition, run_record

TOPIC = ConfigResource(ResourceKind.TOPIC, "t")
RATE = "1000"
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT
EVERYWHERE = frozenset(range(1, 9))


def _broker(number: int) -> ConfigResource:
    return ConfigResource(ResourceKind.BROKER, str(number))


class _Kafka:
    """Configs of brokers and topics, and every change of them; also the store of the run."""

    def __init__(self) -> None:
        self.own: dict[tuple[ConfigResource, str], str] = {}
        self.defaults: dict[str, str] = {}
        self.unread: dict[ConfigResource, Fault] = {}
        self.refused: dict[ConfigResource, Fault] = {}
        self.happened: list[Any] = []
        self.state = RunState()
        self.record: Any = None
        self.topic_id = "first"
        self.now_s = 0.0
        self.lags_until_s = 0.0
        """Until then, brokers show configs as they were when the lag began."""
        self.shown: dict[tuple[ConfigResource, str], str] = {}

    def configs(self, resources: Collection[ConfigResource], keys: Collection[str]) -> Any:
        """Effective values, and resources that did not respond."""
        self.happened.append(("read", sorted(map(str, resources))))
        found = {r: self._values(r, keys) for r in resources if r not in self.unread}
        return found, {r: fault for r, fault in self.unread.items() if r in resources}

    def lag_for(self, seconds: float) -> None:
        """Show what is set now for some time."""
        self.shown, self.lags_until_s = {**self.own}, self.now_s + seconds

    def monotonic(self) -> float:
        """The clock."""
        return self.now_s

    def utc_now(self) -> datetime:
        """The clock."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now_s)

    def sleep(self, seconds: float) -> None:
        """The clock."""
        self.now_s += seconds

    def _values(self, resource: ConfigResource, keys: Collection[str]) -> dict[str, ConfigValue]:
        found = {}
        own = self.own if self.now_s >= self.lags_until_s else self.shown
        for key in keys:
            if (resource, key) in own:
                found[key] = ConfigValue(own[resource, key], ConfigSource.OWN)
            elif key in self.defaults and resource.kind is ResourceKind.BROKER:
                found[key] = ConfigValue(self.defaults[key], ConfigSource.CLUSTER_DEFAULT)
        return found

    def alter_configs(self, changes: Collection[ConfigChange]) -> dict[ConfigResource, Fault]:
        """Apply the change, unless it is refused."""
        if not changes:
            return {}
        self.happened.append([(str(c.resource), c.key, c.operation.value, c.value) for c in changes])
        for change in changes:
            if change.resource not in self.refused:
                self._change(change)
        return {r: fault for r, fault in self.refused.items() if any(c.resource == r for c in changes)}

    def _change(self, change: ConfigChange) -> None:
        at = change.resource, change.key
        entries = [e for e in self.own.get(at, "").split(",") if e]
        given = (change.value or "").split(",")
        if change.operation is APPEND:
            self.own[at] = ",".join([*entries, *(e for e in given if e not in entries)])
        elif change.operation is SUBTRACT:
            self.own[at] = ",".join(e for e in entries if e not in given)
        elif change.value is None:
            self.own.pop(at, None)
        else:
            self.own[at] = change.value

    def partition_status(self, topics: Collection[str]) -> Any:
        """The topic as it is now."""
        status = PartitionStatus(leader=1, replicas=(1,), isr=(1,), topic_id=self.topic_id)
        return {TopicPartition(topic, 0): status for topic in topics}

    def announce_rates(self, rates: Collection[str]) -> None:
        """The store."""
        if new := sorted(set(rates) - self.state.rates):
            self.happened.append(("announced", new))
        self.state.rates |= set(rates)

    def keep_originals(self, originals: Collection[Original]) -> None:
        """The store."""
        if originals:
            self.happened.append(("kept", sorted({str(o.of) for o in originals})))
        self.state.later_originals += originals

    def keep_throttle(self, throttle: Throttle, asked_at: str) -> None:
        """The store."""
        self.state.throttle, self.state.asked_at = throttle, asked_at
        self.happened.append((throttle, asked_at))

    def on_event(self, event: Any) -> None:
        """The listener."""
        self.happened.append(("reported", event.error if isinstance(event, Trouble) else event.message))

    def new(self) -> list[Any]:
        """What happened since the last call."""
        happened, self.happened = self.happened, []
        return happened

    def changes(self) -> list[Any]:
        """Requests for changes since the last call."""
        return [what for what in self.new() if isinstance(what, list)]

    def throttles(
        self,
        *planned: RunPartition,
        bytes_per_s: int | None = 1000,
        originals: tuple[Original, ...] | None = None,
        **more: Any,
    ) -> RunThrottles:
        """The throttles of a run, started now unless its originals are given."""
        some: Any = self
        if originals is None:
            originals, _ = read_originals(some, planned)
            self.new()
        self.record = run_record(*planned, originals=originals)
        return RunThrottles(some, some, some, Throttle(bytes_per_s=bytes_per_s, **more), some, some)


@pytest.fixture
def kafka() -> _Kafka:
    """Nothing is throttled."""
    return _Kafka()


MOVE, OTHER = planned_partition((1, 2), (2, 3)), planned_partition((2, 1), (2, 4), number=1)


def _task(planned: RunPartition, stage: Stage = Stage.WAITING, **changes: Any) -> PartitionTask:
    """As observed before its move, or during it."""
    task = PartitionTask(target_of(planned, Goal.APPLY, by_steps=False))
    task.stage, task.current, task.leader = stage, planned.previous.replicas, planned.previous.leader
    task.to_add = planned.to_add if stage is Stage.WAITING else ()
    for name, value in changes.items():
        setattr(task, name, value)
    return task


def _running(planned: RunPartition) -> PartitionTask:
    current = (*planned.previous.replicas, *planned.to_add)
    return _task(planned, Stage.MOVING, current=current, arriving=planned.to_add)


def _rates(*pairs: tuple[int, str], value: str | None = RATE) -> list[Any]:
    return [(f"broker {b}", key, "set", value) for b, key in pairs]


def _lists(operation: ConfigOperation, leaders: str, followers: str) -> list[Any]:
    return [
        ("topic t", LEADER_REPLICAS, operation.value, leaders),
        ("topic t", FOLLOWER_REPLICAS, operation.value, followers),
    ]


def test_a_move_from_its_beginning_to_its_end(kafka: _Kafka) -> None:
    """Rates are announced, then set, then lists; nothing is set twice; in the end lists go before rates."""
    throttles = kafka.throttles(MOVE, OTHER)
    assert throttles.cover([_task(MOVE)], [], EVERYWHERE) == {}
    rates = ((1, LEADER_RATE), (2, LEADER_RATE), (3, FOLLOWER_RATE))
    assert kafka.new() == [
        ("read", ["broker 1", "broker 2", "broker 3"]),
        ("announced", [RATE]),
        _rates(*rates),
        ("read", ["topic t"]),
        _lists(APPEND, "0:1,0:2", "0:3"),
    ]
    assert throttles.cover([], [_running(MOVE)], EVERYWHERE) == {}
    assert kafka.new() == [("read", ["broker 1", "broker 2", "broker 3"]), ("read", ["topic t"])]
    throttles.cover([_task(OTHER)], [_running(MOVE)], EVERYWHERE)
    assert kafka.changes() == [_rates((4, FOLLOWER_RATE)), _lists(APPEND, "1:1,1:2", "1:4")]
    # the first one has ended
    throttles.cover([], [_running(OTHER)], EVERYWHERE)
    assert kafka.changes() == [_lists(SUBTRACT, "0:1,0:2", "0:3")]
    left = throttles.restore()
    assert (left.pending, left.complaints) == ([], [])
    deleted = _rates(*rates, (4, FOLLOWER_RATE), value=None)
    lists, restored = kafka.changes()
    assert lists == [("topic t", key, "set", None) for key in LIST_KEYS]
    assert sorted(restored) == sorted(deleted)
    assert kafka.own == {}
    # a pause ends: all of it is set again
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    assert kafka.changes() == [_rates(*rates), _lists(APPEND, "0:1,0:2", "0:3")]


@pytest.mark.parametrize("turns_later", [0, 3])
def test_throttles_that_brokers_show_late_are_restored(kafka: _Kafka, turns_later: int) -> None:
    """What busy brokers do not show yet is waited for at the end, also if the move itself ended long before."""
    throttles = kafka.throttles(MOVE)
    kafka.lag_for(40.0)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    for _ in range(turns_later):
        kafka.sleep(1.0)
        throttles.cover([], [], EVERYWHERE)
    left = throttles.restore()
    assert (left.pending, left.complaints, kafka.own) == ([], [], {})
    assert kafka.now_s == 40.0


@pytest.mark.parametrize(("set_ago_s", "restored_s"), [(0.0, 12.0), (20.0, 22.0)])
def test_throttles_that_another_tool_has_cleared_last(kafka: _Kafka, set_ago_s: float, restored_s: float) -> None:
    """They are not shown, which looks like a lag: the run says so if it lasts, and soon sets them again. Brokers that
    show that do not lag."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.own.clear()
    kafka.sleep(set_ago_s)
    kafka.new()
    assert throttles.restore().pending == []
    assert (kafka.own, kafka.now_s) == ({}, restored_s)
    said = [what for what in kafka.new() if what[0] == "reported"]
    assert said == ([] if set_ago_s else [("reported", "brokers do not show the throttle of topic t yet")])
    throttles.restore()
    assert kafka.now_s == restored_s


def test_throttles_that_are_never_shown_are_not_waited_for_forever(kafka: _Kafka) -> None:
    """Another tool clears them as soon as they are set: the run ends once the longest lag has passed since then."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.own.clear()
    kafka.lag_for(1000.0)
    assert throttles.restore().pending == []

    assert kafka.now_s == 10.0 + LONGEST_LAG_S


def test_topic_that_was_created_again_is_not_waited_for(kafka: _Kafka) -> None:
    """What was set is gone with the former topic; a list of the new one is none of the run's, whatever it contains."""
    throttles = kafka.throttles(replace(MOVE, topic_id="first"))
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.topic_id = "second"
    del kafka.own[TOPIC, LEADER_REPLICAS]
    kafka.own[TOPIC, FOLLOWER_REPLICAS] = "0:3"
    assert throttles.restore().pending == []
    assert (kafka.own, kafka.now_s) == ({(TOPIC, FOLLOWER_REPLICAS): "0:3"}, 0.0)


def test_request_that_was_never_sent(kafka: _Kafka) -> None:
    """A process was killed after it had recorded a request: the next one waits until that could no longer arrive."""
    throttles, earlier = kafka.throttles(MOVE), SetConfigs()
    kafka.state.rates.add(RATE)
    at = kafka.utc_now().isoformat()
    lists: dict[str, Any] = {"topic t": {LEADER_REPLICAS: {"append": "0:1"}}}
    for number, items in enumerate((lists, {"broker 1": {LEADER_RATE: RATE}})):
        earlier.take(Intended(at=at, number=number, kind=EffectKind.CONFIGS, items=items))
    throttles.await_earlier(earlier)
    assert throttles.restore().pending == []
    assert (kafka.own, kafka.now_s) == ({}, 12.0)


def test_rates_that_were_shown_and_are_gone_are_not_waited_for(kafka: _Kafka) -> None:
    """A broker does not return to an earlier state: what it shows no longer, another tool has removed."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    kafka.own = {at: value for at, value in kafka.own.items() if at[0] == TOPIC}
    assert throttles.restore().pending == []
    assert (kafka.own, kafka.now_s) == ({}, 0.0)


def test_a_rate_that_is_set_again_is_waited_for_again(kafka: _Kafka) -> None:
    """Another tool clears a rate, and the broker shows late that the run has set it again."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    kafka.own = {at: value for at, value in kafka.own.items() if at[0] == TOPIC}
    kafka.lag_for(30.0)
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert throttles.restore().pending == []
    assert (kafka.own, kafka.now_s) == ({}, 30.0)


def test_throttles_set_by_an_operator(kafka: _Kafka) -> None:
    """A lower rate is kept, a higher one lowered and restored, other people's entries stay; a default applies again."""
    before = {
        (_broker(1), LEADER_RATE): "900",
        (_broker(2), LEADER_RATE): "5000",
        (TOPIC, LEADER_REPLICAS): "7:7,0:1",
        (TOPIC, FOLLOWER_REPLICAS): "*",
    }
    kafka.own |= before
    kafka.defaults[FOLLOWER_RATE] = "4000"
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    assert kafka.changes() == [
        _rates((2, LEADER_RATE), (3, FOLLOWER_RATE)),
        [("topic t", LEADER_REPLICAS, "append", "0:2")],
    ]
    # what is set meanwhile stays, and is reported
    kafka.own[_broker(3), FOLLOWER_RATE] = "77"
    kafka.own[TOPIC, LEADER_REPLICAS] += ",8:8"
    left = throttles.restore()
    assert left.complaints == [f"{FOLLOWER_RATE} of broker 3: set to 77 by another tool; left unchanged"]
    assert kafka.own == before | {
        (_broker(3), FOLLOWER_RATE): "77",
        (TOPIC, LEADER_REPLICAS): "7:7,0:1,8:8",
    }


def test_a_rate_set_by_another_during_the_run_is_not_set_again(kafka: _Kafka) -> None:
    """An operator set it on purpose, also if a resumed run has another rate of its own."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.own[_broker(3), FOLLOWER_RATE] = "77"
    kafka.new()
    throttles.change(Throttle(bytes_per_s=2000), "asked")
    assert throttles.rate == 2000
    assert throttles.throttle == Throttle(bytes_per_s=2000)
    assert kafka.new() == [(Throttle(bytes_per_s=2000), "asked")]
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert kafka.changes() == [_rates((1, LEADER_RATE), (2, LEADER_RATE), value="2000")]
    throttles.change(Throttle(bytes_per_s=3000))
    assert kafka.new() == [(Throttle(bytes_per_s=3000), "asked")]
    assert set(throttles.restore().pending) == set()
    assert kafka.own == {(_broker(3), FOLLOWER_RATE): "77"}


def test_throttles_cleared_by_another_tool_are_set_again(kafka: _Kafka) -> None:
    """At the next look; what is still there is not set a second time."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    in_force = dict(kafka.own)
    del kafka.own[_broker(3), FOLLOWER_RATE], kafka.own[TOPIC, LEADER_REPLICAS]
    kafka.new()
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert kafka.changes() == [_rates((3, FOLLOWER_RATE)), [("topic t", LEADER_REPLICAS, "append", "0:1,0:2")]]
    assert kafka.own == in_force


def test_a_list_that_is_needed_no_more_when_it_is_read_again_is_taken_off(kafka: _Kafka) -> None:
    """A move that ends just then leaves no entry behind until the end of the run."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    throttles.cover([], [], EVERYWHERE)
    assert (TOPIC, LEADER_REPLICAS) not in kafka.own
    kafka.new()
    throttles.cover([], [], EVERYWHERE)
    assert kafka.new() == []


def test_a_rate_of_an_operator_that_another_tool_has_cleared(kafka: _Kafka) -> None:
    """The copy gets the run's rate, whether the operator's was lower or higher; in the end it stays cleared."""
    kafka.own |= {(_broker(1), LEADER_RATE): "900", (_broker(2), LEADER_RATE): "5000"}
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    del kafka.own[_broker(1), LEADER_RATE], kafka.own[_broker(2), LEADER_RATE]
    kafka.new()
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    happened = kafka.new()
    assert [said for said in happened if said[0] == "reported"] == [
        ("reported", f"{LEADER_RATE} of broker {b}: earlier value {v} deleted by another tool; not restored")
        for b, v in ((1, "900"), (2, "5000"))
    ]
    assert _rates((1, LEADER_RATE), (2, LEADER_RATE)) in happened
    left = throttles.restore()
    assert (left.pending, left.complaints) == ([], [])
    assert kafka.own == {}


@pytest.mark.parametrize("later", [{}, {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}], ids=["deleted", "raised"])
def test_a_lower_default_that_goes_away_during_the_run(kafka: _Kafka, later: dict[str, str]) -> None:
    """As long as it applies, the run sets no rate; then it sets its own, once, and deletes that in the end."""
    kafka.defaults = {LEADER_RATE: "900", FOLLOWER_RATE: "900"}
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert not any(key in (LEADER_RATE, FOLLOWER_RATE) for _, key in kafka.own)
    kafka.defaults = later
    kafka.new()
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert kafka.changes() == [_rates((1, LEADER_RATE), (2, LEADER_RATE), (3, FOLLOWER_RATE))]
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert kafka.changes() == []
    left = throttles.restore()
    assert (left.pending, left.complaints, kafka.own) == ([], [], {})


def test_a_list_of_an_operator_that_another_tool_has_cleared(kafka: _Kafka) -> None:
    """The copy gets its entries again; in the end no empty list is left."""
    kafka.own |= dict.fromkeys([(TOPIC, key) for key in LIST_KEYS], "7:7")
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    del kafka.own[TOPIC, LEADER_REPLICAS], kafka.own[TOPIC, FOLLOWER_REPLICAS]
    throttles.cover([], [_running(MOVE)], EVERYWHERE)
    assert [kafka.own[TOPIC, key] for key in LIST_KEYS] == ["0:1,0:2", "0:3"]
    throttles.restore()
    assert kafka.own == {}


def test_a_rate_of_another_tool_is_reported_once(kafka: _Kafka) -> None:
    """However often it is read, and not again in the end; a different one is reported again."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.own[_broker(3), FOLLOWER_RATE] = "77"
    kafka.new()
    for _ in range(2):
        throttles.cover([], [_running(MOVE)], EVERYWHERE)
    said = ("reported", f"{FOLLOWER_RATE} of broker 3: set to 77 by another tool; left unchanged")
    assert [what for what in kafka.new() if what[0] == "reported"] == [said]
    assert throttles.restore().complaints == []
    kafka.own[_broker(3), FOLLOWER_RATE] = "78"
    assert throttles.restore().complaints == [f"{FOLLOWER_RATE} of broker 3: set to 78 by another tool; left unchanged"]


def test_entries_of_another_that_equal_ours_stay(kafka: _Kafka) -> None:
    """Entries listed before the run added them belong to another tool, also for a process that resumes the run."""
    throttles = kafka.throttles(MOVE, OTHER)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.own[TOPIC, LEADER_REPLICAS] += ",1:2"
    kafka.own[TOPIC, FOLLOWER_REPLICAS] += ",1:4,9:9"
    throttles.cover([_task(OTHER)], [_running(MOVE)], EVERYWHERE)
    others = {(TOPIC, LEADER_REPLICAS): "1:2", (TOPIC, FOLLOWER_REPLICAS): "1:4,9:9"}
    kept, kafka.own[TOPIC, LEADER_REPLICAS] = kafka.own[TOPIC, LEADER_REPLICAS], "1:2,0:1,0:2,1:1"
    kafka.throttles(MOVE, OTHER, originals=kafka.record.originals).restore()
    assert {at: v for at, v in kafka.own.items() if at[0] == TOPIC} == others
    kafka.own[TOPIC, LEADER_REPLICAS] = kept
    throttles.restore()
    assert kafka.own == others


@pytest.mark.parametrize(("killed_ago_s", "lag_s", "is_restored"), [(1.0, 30.0, True), (61.0, 30.0, False)])
def test_throttles_of_a_killed_process_that_are_shown_late(
    kafka: _Kafka, killed_ago_s: float, lag_s: float, is_restored: bool
) -> None:
    """A cancel waits for what the killed process has set by its journal, for as long as brokers may lag."""
    kafka.lag_for(lag_s)
    kafka.throttles(MOVE).cover([_task(MOVE)], [], EVERYWHERE)
    changes = [change for request in kafka.changes() for change in request]
    assert len(kafka.own) == 5
    earlier = SetConfigs()
    for number, (resource, key, operation, value) in enumerate(changes):
        change = value if operation == "set" else {operation: value}
        at = (kafka.utc_now() - timedelta(seconds=killed_ago_s)).isoformat()
        earlier.take(Intended(at=at, number=number, kind=EffectKind.CONFIGS, items={resource: {key: change}}))
    reopened = kafka.throttles(MOVE, originals=kafka.record.originals)
    reopened.await_earlier(earlier)
    assert reopened.restore().pending == []
    assert (kafka.own == {}, kafka.now_s) == (is_restored, lag_s if is_restored else 0.0)


def test_entries_that_an_earlier_process_may_have_added_are_ours(kafka: _Kafka) -> None:
    """They are removed, since a run that died could have added them unrecorded."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.state.openings = 1
    resumed = kafka.throttles(MOVE, originals=kafka.record.originals)
    resumed.cover([], [_running(MOVE)], EVERYWHERE)
    resumed.restore()
    assert kafka.own == {}


def test_a_throttle_that_was_changed_outlives_the_process(kafka: _Kafka) -> None:
    """A resume continues the latest one, or else the original."""
    kafka.state.throttle = Throttle(bytes_per_s=5)
    assert kafka.throttles(MOVE).rate == 5
    kafka.state.throttle = None
    assert kafka.throttles(MOVE).rate == 1000


def test_lower_rates_are_overridden_on_request(kafka: _Kafka) -> None:
    """With ``override``, a lower rate set by others is replaced during the run, and restored after it."""
    kafka.own[_broker(1), LEADER_RATE] = "900"
    throttles = kafka.throttles(MOVE, override=True)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    assert kafka.own[_broker(1), LEADER_RATE] == RATE
    throttles.restore()
    assert kafka.own == {(_broker(1), LEADER_RATE): "900"}


def test_copies_between_log_dirs(kafka: _Kafka) -> None:
    """Only their brokers get that rate, and no list; without a rate between brokers nothing else is set."""
    throttles = kafka.throttles(MOVE, OTHER, bytes_per_s=None, log_dir_bytes_per_s=50)
    misplaced = _task(MOVE, Stage.COPYING, misplaced={2: "/d1", 3: "/d1"})
    throttles.cover([_task(OTHER)], [misplaced], EVERYWHERE)
    assert kafka.changes() == [_rates((2, LOG_DIR_RATE), (3, LOG_DIR_RATE), value="50")]
    throttles.restore()
    assert kafka.own == {}


def test_brokers_that_do_not_respond(kafka: _Kafka) -> None:
    """A dead broker gets no request; a move that needs an unreadable broker does not start."""
    throttles = kafka.throttles(MOVE, OTHER)
    throttles.cover([_task(MOVE)], [], EVERYWHERE - {3})
    assert kafka.changes()[0] == _rates((1, LEADER_RATE), (2, LEADER_RATE))
    fault = Fault("unreachable", "connection refused")
    kafka.unread = {_broker(4): fault}
    move, other = _task(MOVE), _task(OTHER)
    assert throttles.cover([move, other], [], EVERYWHERE) == {other: str(fault)}
    assert kafka.changes() == [_rates((3, FOLLOWER_RATE))]
    # once it can be read, its rate is set
    kafka.unread = {}
    assert throttles.cover([other], [_running(MOVE)], EVERYWHERE) == {}
    assert kafka.changes() == [_rates((4, FOLLOWER_RATE)), _lists(APPEND, "1:1,1:2", "1:4")]


def test_rates_and_lists_that_are_refused(kafka: _Kafka) -> None:
    """Their moves do not start; they are requested again."""
    throttles, move = kafka.throttles(MOVE), _task(MOVE)
    kafka.refused = {_broker(1): Fault("POLICY_VIOLATION", "no")}
    assert throttles.cover([move], [], EVERYWHERE) == {move: "POLICY_VIOLATION: no"}
    assert len(kafka.changes()) == 1
    kafka.refused = {TOPIC: Fault("POLICY_VIOLATION", "no")}
    assert throttles.cover([move], [], EVERYWHERE) == {move: "POLICY_VIOLATION: no"}
    assert kafka.changes() == [_rates((1, LEADER_RATE)), _lists(APPEND, "0:1,0:2", "0:3")]
    kafka.refused = {}
    assert throttles.cover([move], [], EVERYWHERE) == {}
    assert kafka.changes() == [_lists(APPEND, "0:1,0:2", "0:3")]


@pytest.mark.parametrize(("resource", "where"), [(_broker(1), "the cluster"), (TOPIC, "topic t")])
def test_a_throttle_that_may_not_be_set(kafka: _Kafka, resource: ConfigResource, where: str) -> None:
    """Nothing moves without the requested throttle; the hint names the missing permission."""
    kafka.refused = {resource: Fault("CLUSTER_AUTHORIZATION_FAILED")}
    with pytest.raises(NotAuthorizedError) as denied:
        kafka.throttles(MOVE).cover([_task(MOVE)], [], EVERYWHERE)
    assert denied.value.message == f"not authorized to set the throttle of {resource}: CLUSTER_AUTHORIZATION_FAILED"
    assert denied.value.hint == f"grant AlterConfigs on {where}, or run without a throttle: --throttle none"


def test_a_topic_that_was_deleted(kafka: _Kafka) -> None:
    """Its throttle is gone with it: neither a fault, nor a leftover."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.new()
    kafka.unread = {TOPIC: Fault("UNKNOWN_TOPIC_OR_PARTITION")}
    assert throttles.cover([], [], EVERYWHERE) == {}
    throttles.cover([], [], EVERYWHERE)
    assert kafka.new() == [("read", ["topic t"])]
    assert throttles.restore().pending == []


def test_partitions_in_flight_keep_their_throttle(kafka: _Kafka) -> None:
    """Its entries, and the rates of its brokers, which belong to other moves too; both are named."""
    throttles = kafka.throttles(MOVE, OTHER)
    throttles.cover([_task(MOVE), _task(OTHER)], [], EVERYWHERE)
    kafka.new()
    left = throttles.restore([OTHER.name])
    assert left.pending == ["the throttle of t-1, still in flight"]
    assert kafka.changes()[0] == _lists(SUBTRACT, "0:1,0:2", "0:3")
    assert kafka.own[TOPIC, LEADER_REPLICAS] == "1:1,1:2"
    assert kafka.own[_broker(1), LEADER_RATE] == RATE


def test_partitions_in_flight_keep_no_other_throttle(kafka: _Kafka) -> None:
    """Rates of brokers that they are not on are restored, and rates between log dirs where they choose none.

    What cannot be restored yet is not named beside them: a later run takes them over only if nothing else is left.
    """
    elsewhere = planned_partition((4, 5), (4, 6), number=2)
    throttles = kafka.throttles(MOVE, elsewhere)
    throttles.cover([_task(MOVE), _task(elsewhere)], [], EVERYWHERE)
    kafka.own[_broker(1), LOG_DIR_RATE] = kafka.own[_broker(5), LOG_DIR_RATE] = RATE
    kafka.refused = {_broker(6): Fault("REQUEST_TIMED_OUT")}
    left = throttles.restore([MOVE.name])
    assert left.pending == ["the throttle of t-0, still in flight"]
    assert {int(at.name) for at, _ in kafka.own if at.kind is ResourceKind.BROKER} == {1, 2, 3, 6}
    assert (_broker(1), LOG_DIR_RATE) not in kafka.own


@pytest.mark.parametrize(
    ("goal", "keep"), [(Goal.APPLY, {3}), (Goal.ROLL_BACK, {1, 2}), (Goal.CANCEL, {1, 2, 3})], ids=str
)
def test_rates_between_log_dirs_that_partitions_in_flight_keep(kafka: _Kafka, goal: Goal, keep: set[int]) -> None:
    """Those of the brokers whose log dirs the goal chooses: a cancelled run may have been on its way to either end."""
    planned = planned_partition((1, 2), (3, 2), ("/d1", ANY_DIR))
    throttles = kafka.throttles(planned)
    throttles.cover([_task(planned)], [], EVERYWHERE)
    kafka.own |= dict.fromkeys(((_broker(b), LOG_DIR_RATE) for b in (1, 2, 3)), RATE)
    kafka.state.goal = goal
    throttles.restore([planned.name])
    assert {int(at.name) for at, key in kafka.own if key == LOG_DIR_RATE} == keep


def test_throttles_that_cannot_be_restored_are_named(kafka: _Kafka) -> None:
    """By broker and topic, with the reason; what another tool has deleted is reported."""
    kafka.own[_broker(1), LEADER_RATE] = "5000"
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    del kafka.own[_broker(1), LEADER_RATE]
    kafka.refused = dict.fromkeys((_broker(2), TOPIC), Fault("REQUEST_TIMED_OUT"))
    kafka.unread = {_broker(3): Fault("BROKER_NOT_AVAILABLE")}
    left = throttles.restore()
    assert sorted(left.pending) == [
        "replication rates of broker 2: REQUEST_TIMED_OUT",
        "replication rates of broker 3: BROKER_NOT_AVAILABLE",
        "throttled replicas of topic t: REQUEST_TIMED_OUT",
    ]
    assert left.complaints == [f"{LEADER_RATE} of broker 1: earlier value 5000 deleted by another tool; not restored"]


def test_a_dead_broker_is_restored_unread(kafka: _Kafka) -> None:
    """Controllers accept its configs on request: its own values, all of them."""
    kafka.own[_broker(3), LEADER_RATE] = "5000"
    throttles = kafka.throttles(MOVE)
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    kafka.unread = {_broker(3): Fault("unreachable", "connection refused")}
    assert throttles.restore().pending == []
    assert kafka.own == {(_broker(3), LEADER_RATE): "5000"}


def test_originals_that_are_seen_later(kafka: _Kafka) -> None:
    """A broker that did not respond when the run started is read, and recorded, before anything of it is changed."""
    throttles = kafka.throttles(MOVE, originals=())
    kafka.own[_broker(1), LEADER_RATE] = "5000"
    # without originals there is nothing that could be ours
    assert throttles.restore().pending == []
    assert kafka.new() == []
    throttles.cover([_task(MOVE)], [], EVERYWHERE)
    read, kept, *_ = kafka.new()
    assert read == ("read", ["broker 1", "broker 2", "broker 3"])
    assert kept == ("kept", ["broker 1", "broker 2", "broker 3"])
    throttles.restore()
    assert kafka.own == {(_broker(1), LEADER_RATE): "5000"}


def test_a_run_that_never_set_a_rate_reads_none(kafka: _Kafka) -> None:
    """What it could have set is not its own."""
    throttles = kafka.throttles(MOVE)
    throttles.restore()
    assert kafka.new() == [("read", ["topic t"])]


def test_a_partition_that_another_moves_too(kafka: _Kafka) -> None:
    """Only entries that follow from the plan are added: no other would be removed again."""
    throttles = kafka.throttles(MOVE)
    throttles.cover([], [_task(MOVE, Stage.MOVING, current=(1, 2, 3, 9), arriving=(3, 9))], EVERYWHERE)
    assert kafka.changes()[-1] == _lists(APPEND, "0:1,0:2", "0:3")


def test_reading_the_originals(kafka: _Kafka) -> None:
    """All rates of a run's brokers and the lists of its topics, with those that do not respond."""
    kafka.own[_broker(3), FOLLOWER_RATE] = "7"
    kafka.defaults[LEADER_RATE] = "8"
    kafka.unread = {_broker(2): Fault("unreachable")}
    some: Any = kafka
    found, faults = read_originals(some, [MOVE])
    assert faults == kafka.unread
    values: Mapping[Any, Any] = {(str(o.of), o.key): o.value for o in found}
    assert set(values) == {("topic t", key) for key in LIST_KEYS} | {
        (f"broker {b}", key) for b in (1, 3) for key in RATE_KEYS
    }
    assert {at: v for at, v in values.items() if v is not None} == {
        ("broker 3", FOLLOWER_RATE): "7",
        ("broker 1", LEADER_RATE): "8",
        ("broker 3", LEADER_RATE): "8",
    }
    assert {str(o.of): o.own_value for o in found if o.own_value} == {"broker 3": "7"}
