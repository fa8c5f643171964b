"""The record of a new run: everything that resumes or undoes it, compared with the cluster as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Capability, Fault, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import DriftError, MissingCapabilityError, NotAuthorizedError
from kafkabal.executor.new_run_record import new_run_record
from kafkabal.executor.run_events import Warned
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.model import TopicPartition
from kafkabal.plan import ANY_DIR, Placement, Plan
from tests.unit.executor.conftest import MB, change, planned_partition

_A0, _B0 = TopicPartition("a", 0), TopicPartition("b", 0)


def _record(scene: Any, plan: Plan, options: RunOptions | None = None, **changes: Any) -> RunRecord | None:
    arguments: dict[str, Any] = {"previous": {}, "skip_drifted": False, **changes}
    return new_run_record(scene.environment(user="me"), plan, options or scene.options, **arguments)


def _plan(*names: str, plan: Plan, **more: Any) -> Plan:
    chosen = tuple(c for c in plan.partitions if c.topic + "-" + str(c.partition) in names)
    return Plan(partitions=chosen, cluster_id="simulated", **more)


def test_what_is_recorded(scene: Any) -> None:
    """Who, when, where and why; each partition as it is and as planned, with the bytes of a copy and its topic's id."""
    plan = _plan("a-0", "b-0", plan=scene.plan, options={"drain": [3]})
    carried = planned_partition((1,), (2,))
    record = _record(scene, plan, carried=(carried,))
    assert record is not None
    now = scene.memory.kafka.clock.utc_now()
    assert record.run_id == f"{now:%Y%m%dT%H%M%S}-x"
    assert (record.plan_id, record.cluster_id, record.host, record.user) == (plan.plan_id, "simulated", "one", "me")
    assert (record.started_at, record.why) == (now.isoformat(timespec="milliseconds"), "--drain 3")
    assert record.options == scene.options
    a, b, last = record.partitions
    assert a.previous == Placement(replicas=(1, 2, 3), leader=1, log_dirs=("/d0",) * 3)
    assert (a.replicas, a.log_dirs, a.copy_bytes) == ((4, 2, 3), ("/d1", ANY_DIR, ANY_DIR), 60 * MB)
    assert (b.name, b.copy_bytes) == (_B0, 30 * MB)
    status = scene.memory.partition_status({"a", "b"})
    assert (a.topic_id, b.topic_id) == (status[_A0].topic_id, status[_B0].topic_id)
    assert a.topic_id
    assert last == carried
    assert {str(o.of) for o in record.originals if o.kind is ResourceKind.TOPIC} >= {"topic a", "topic b"}


def test_a_plan_that_is_done(scene: Any) -> None:
    """There is nothing to record, whatever another run has left to carry."""
    in_place = Plan(partitions=(change("a-0", (1, 2, 3), (1, 2, 3)), change("b-1", (2, 3), (2, 3), {2: "/d0"})))
    assert _record(scene, in_place, carried=(planned_partition((1,), (2,)),)) is None


@pytest.mark.parametrize(
    ("name", "replicas", "dirs"),
    [
        ("a-0", (2, 1, 3), None),  # another order
        ("a-1", (1, 2, 3), None),  # led by another than the first
        ("b-0", (1, 2), {2: "/d1"}),  # another log dir
        ("b-0", (1, 4), None),
    ],
)
def test_what_needs_a_change(scene: Any, name: str, replicas: tuple[int, ...], dirs: dict[int, str] | None) -> None:
    """Each of these alone is work."""
    previous = tuple(sorted(replicas)) if len(replicas) == 3 else (1, 2)
    leader = 2 if name == "a-1" else 0
    record = _record(scene, Plan(partitions=(change(name, replicas, previous, dirs, leader=leader),)))
    assert record is not None
    assert [str(p.name) for p in record.partitions] == [name]


def test_partitions_that_have_changed_since_planning(scene: Any) -> None:
    """They are named and refused, or left out if that was asked for; one that is taken over has not drifted."""
    scene.memory.alter_reassignments({_B0: (1, 4)})
    scene.memory.kafka.clock.sleep(600.0)
    plan = _plan("a-0", "b-0", plan=scene.plan)
    with pytest.raises(DriftError, match="1 of 2 planned partitions changed since planning: b-0") as refused:
        _record(scene, plan)
    assert "--skip-drifted" in (refused.value.hint or "")
    skipped = _record(scene, plan, skip_drifted=True)
    assert skipped is not None
    assert [p.name for p in skipped.partitions] == [_A0]
    before = Placement(replicas=(1, 2), leader=1, log_dirs=(ANY_DIR, ANY_DIR))
    adopted = _record(scene, plan, previous={_B0: before})
    assert adopted is not None
    assert [(p.name, p.previous.replicas) for p in adopted.partitions] == [(_A0, (1, 2, 3)), (_B0, (1, 2))]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "balance"),
        ({"tolerance": 5, "seed": 3, "scores": ["disk"], "keep_moved": True}, "balance"),
        ({"drain": [3, 4], "seed": 3}, "--drain 3,4"),
        ({"mode": "leaders-only", "max_moves": 7}, "--leaders-only --max-moves 7"),
        ({"mode": "repair-only", "include_internal": True}, "--repair-only --include-internal"),
        ({"max_bytes": 500 * 10**9, "max_cross_rack_bytes": 2**40}, "--max-bytes 500GB --max-cross-rack-bytes 1.00TiB"),
        ({"max_duration_s": 5400.0, "throttle_bytes_per_s": 50_000_000}, "--max-duration 90m"),
        ({"below": 0.85}, "--below 85%"),
        (
            {"broker_limits": {"3": {"replicas": None, "bytes": 10**12}, "4": {"replicas": 7, "bytes": None}}},
            "--broker-limit 3::1TB --broker-limit 4:7",
        ),
        ({"demote": [3, 4]}, "demote brokers 3, 4"),
        ({"demote": []}, "promote"),
        ({"adopted": True}, "adopted from another tool"),
    ],
)
def test_why_a_run_was_begun(scene: Any, options: Mapping[str, Any], why: str) -> None:
    """The options of the plan that say what was special about it, as they are typed."""
    record = _record(scene, _plan("a-0", plan=scene.plan, options=options))
    assert record is not None
    assert record.why == why


def test_a_plan_of_another_tool(scene: Any) -> None:
    """A plan that names no cluster is recorded as that of another tool."""
    record = _record(scene, Plan(partitions=scene.plan.partitions[:1]))
    assert record is not None
    assert record.why == "plan of another tool"


@pytest.mark.parametrize(
    ("throttle", "removes", "is_read"),
    [
        (Throttle(), False, False),
        (Throttle(), True, True),
        (Throttle(bytes_per_s=1), False, True),
        (Throttle(log_dir_bytes_per_s=1), False, True),
    ],
)
def test_configs_are_read_if_they_may_be_changed(scene: Any, throttle: Throttle, removes: bool, is_read: bool) -> None:
    """A run that neither sets nor removes a throttle needs no permission for them."""
    options = msgspec.structs.replace(scene.options, throttle=throttle, removes_found_throttles=removes)
    record = _record(scene, scene.plan, options)
    assert record is not None
    assert bool(record.originals) is is_read
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=[Capability.CONFIGS])
    if is_read:
        with pytest.raises(MissingCapabilityError, match="throttles not supported") as refused:
            _record(scene, scene.plan, options)
        assert "--throttle none" in (refused.value.hint or "")
    else:
        assert _record(scene, scene.plan, options) is not None


@pytest.mark.parametrize(
    ("fault", "is_refused"),
    [("CLUSTER_AUTHORIZATION_FAILED", True), ("TOPIC_AUTHORIZATION_FAILED", True), ("REQUEST_TIMED_OUT", False)],
)
def test_configs_that_cannot_be_read(scene: Any, monkeypatch: pytest.MonkeyPatch, fault: str, is_refused: bool) -> None:
    """Without permission the run is refused; a broker that is down is only warned of."""
    read = scene.memory.configs

    def without_broker_3(resources: Any, keys: Any) -> Any:
        lost = {r for r in resources if str(r) == "broker 3"}
        values, faults = read(set(resources) - lost, keys)
        return values, {**faults, **dict.fromkeys(lost, Fault(fault, "no"))}

    monkeypatch.setattr(scene.memory, "configs", without_broker_3)
    if is_refused:
        with pytest.raises(NotAuthorizedError, match="not authorized to read the configs of broker 3") as refused:
            _record(scene, scene.plan)
        assert "grant DescribeConfigs on" in (refused.value.hint or "")
        return
    record = _record(scene, scene.plan)
    assert record is not None
    assert record.originals
    assert [str(e.message) for e in scene.recorder.of(Warned)] == [
        f"cannot read the configs of broker 3: {Fault(fault, 'no')}"
    ]
