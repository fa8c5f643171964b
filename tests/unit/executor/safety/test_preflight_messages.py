"""What each preflight check says, and when: a table per check."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Capability, InFlight, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import UnsafeError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle
from kafkabal.executor.safety.overridable_check_names import Overridable
from kafkabal.executor.safety.preflight import CheckVerdict, PreflightCheck, enforce, preflight
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import Original
from kafkabal.executor.state.run_states import Phase, RunOutcome, RunState
from kafkabal.model import BrokerRow, ClusterState, PartitionRow, TopicPartition, TopicRow
from kafkabal.plan import ANY_DIR, Action, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.unit.executor.conftest import found_run

OK, WARNING, OVERRIDABLE, REFUSED = CheckVerdict
NO_OTHER = [Capability.LOCK, Capability.RECORDS]


def _with(row: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(row, **changes)


def _state(rows: Sequence[PartitionRow], broker_rows: Sequence[BrokerRow] = (), topic: str = "t") -> ClusterState:
    """A cluster with one topic; log dirs on dead brokers are unknown."""
    listed = broker_rows or brokers(5)
    dead = {b.broker for b in listed if b.state == "dead"}
    parts = [_with(row, log_dirs=[None if b in dead else 0 for b in row.replicas]) for row in rows]
    return cluster(listed, [TopicRow(topic=topic, partitions=parts)])


def _move(
    number: int = 0,
    to: tuple[int, ...] = (2, 3),
    previous: tuple[int, ...] = (1, 2),
    dirs: tuple[str, ...] | None = None,
    **more: Any,
) -> PartitionChange:
    """Partition of ``t`` that moves between brokers, with 1 GB per new copy."""
    copies = len(set(to) - set(previous))
    fields = {"topic": "t", "log_dirs": dirs or (ANY_DIR,) * len(to), "bytes": copies * GB, **more}
    placement = Placement(replicas=previous, leader=previous[0], log_dirs=("/d0",) * len(previous))
    return PartitionChange(**{"partition": number, "replicas": to, "previous": placement, **fields})


class _Checks:
    """Preflight checks of a plan for partition t-0 on brokers 1 and 2, of five."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        rows: Sequence[PartitionRow] = (partition(0, [1, 2]),),
        changes: Sequence[PartitionChange] = (_move(),),
        *,
        broker_rows: Sequence[BrokerRow] = (),
        options: RunOptions | None = None,
        unfinished: FoundRun | None = None,
        without: Collection[Capability] = (),
        in_flight: Sequence[int] = (),
        read: InFlight = InFlight.REQUIRED,
        is_known: bool = True,
        topic: str = "t",
        plan: Plan | None = None,
        **more: Any,
    ) -> dict[str, tuple[CheckVerdict, str]]:
        state = _state(rows, broker_rows, topic).replace(reassignments_known=is_known)
        memory = InMemoryCluster.of(state)
        for number in in_flight:
            assert not memory.alter_reassignments({TopicPartition(topic, number): (4, 5)})
        environment = RunEnvironment(
            cluster=InMemoryCluster(memory.kafka, without=without), state_dir=self._folder, in_flight=read
        )
        plan = plan or Plan(partitions=tuple(changes), cluster_id="simulated")
        checks = preflight(environment, plan, options or RunOptions(), unfinished, state=state, **more)
        return {check.name: (check.verdict, check.message) for check in checks}


@pytest.fixture
def checks(tmp_path: Path) -> _Checks:
    """Run the checks."""
    return _Checks(tmp_path)


def test_a_cluster_without_findings(checks: _Checks) -> None:
    """Each check reports its success, in a fixed order."""
    found = checks(options=RunOptions(throttle=Throttle(bytes_per_s=10**7)))
    assert list(found.items()) == [
        ("cluster", (OK, "this is cluster simulated")),
        ("capabilities", (OK, "the cluster supports everything the plan needs")),
        ("earlier run", (OK, "no unfinished run")),
        ("drift", (OK, "no partition has changed since planning")),
        ("other-reassignments", (OK, "no other reassignment in flight")),
        ("recently-dead", (OK, "no planned partition waits for a broker to come back")),
        ("replication-factor", (OK, "no planned partition would get another replication factor")),
        ("rack-spread", (OK, "no planned partition would be spread over fewer racks")),
        (
            "closed-target",
            (OK, "no planned partition would get a replica on a dead, cordoned, offline or unknown broker or log dir"),
        ),
        ("offline-partitions", (OK, "every partition has a leader")),
        ("under-replicated", (OK, "no planned partition has a live replica out of sync")),
        ("log dirs", (OK, "Kafka can choose every log dir that the plan names")),
        ("disks", (OK, "every disk has room for all of its new replicas at once")),
        ("throttle", (OK, "10 MB/s per broker in each direction")),
        ("other hosts", (OK, "runs from other hosts are blocked, and can resume this one")),
    ]


def test_the_state_is_read_where_none_is_given(tmp_path: Path) -> None:
    """Without a given state, checks use the current cluster, including drift."""
    environment = RunEnvironment(cluster=InMemoryCluster.of(_state([partition(0, [4, 5])])), state_dir=tmp_path)
    found = preflight(environment, Plan(partitions=(_move(),)), RunOptions(), None)
    assert "1 planned partition changed since planning: t-0 was on brokers 1,2 and is now on 4,5" in [
        c.message for c in found
    ]


@pytest.mark.parametrize(
    ("cluster_id", "expected"),
    [
        (None, (WARNING, "the plan has no cluster id")),
        ("other", (REFUSED, "the plan is for cluster other, this is simulated")),
        (
            "imported",
            (
                REFUSED,
                (
                    "the plan is for a snapshot that was imported without the id of its cluster, this is simulated: "
                    "if it is of this cluster, import it with '--cluster-id simulated' and make the plan again"
                ),
            ),
        ),
    ],
)
def test_which_cluster(checks: _Checks, cluster_id: str | None, expected: Any) -> None:
    """A plan for another cluster is refused, and so is one for an unknown cluster; one that names none is not."""
    assert checks(plan=Plan(partitions=(_move(),), cluster_id=cluster_id))["cluster"] == expected


@pytest.mark.parametrize(
    ("change", "options", "needed"),
    [
        (_move(), RunOptions(elect_leaders=False), "reassign"),
        (_move(to=(2, 1), action=Action.REORDER), RunOptions(elect_leaders=False), "reassign"),
        (
            _move(to=(1, 2), dirs=("any", "/d1"), action=Action.LOG_DIR),
            RunOptions(elect_leaders=False),
            "move-log-dirs",
        ),
        (_move(to=(1, 2), action=Action.ELECT), RunOptions(), "elect-leaders"),
        (_move(), RunOptions(), "elect-leaders, reassign"),
        (
            _move(to=(1, 2), action=Action.ELECT),
            RunOptions(elect_leaders=False, throttle=Throttle(bytes_per_s=10**7)),
            "configs",
        ),
        (
            _move(to=(1, 2), action=Action.ELECT),
            RunOptions(elect_leaders=False, throttle=Throttle(log_dir_bytes_per_s=10**7)),
            "configs",
        ),
        (_move(to=(1, 2), action=Action.ELECT), RunOptions(elect_leaders=False), None),
    ],
)
def test_missing_needs_of_the_plan(
    checks: _Checks, change: PartitionChange, options: RunOptions, needed: str | None
) -> None:
    """Exactly what a plan and its options need is required, whatever else a cluster cannot do."""
    found = checks(changes=[change], options=options, without=list(Capability))["capabilities"]
    expected = (REFUSED, f"not supported by this cluster or not authorized: {needed}")
    assert found == (expected if needed else (OK, "the cluster supports everything the plan needs"))


def _run(phase: Phase, *pending: str, outcome: RunOutcome | None = None) -> FoundRun:
    original = Original(kind=ResourceKind.BROKER, resource="4", key="leader.replication.throttled.rate")
    other = Original(kind=ResourceKind.BROKER, resource="3", key="leader.replication.throttled.rate")
    state = RunState(phase=phase, pending=list(pending), outcome=outcome)
    return found_run(state=state, run_id="r7", host="h1", originals=(original, other))


_ADVICE = "finish it with 'kafkabal rebalance resume', 'rollback' or 'cancel'"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (_run(Phase.PREPARED), (OK, "no unfinished run")),
        (_run(Phase.CLOSED, outcome=RunOutcome.COMPLETE), (OK, "no unfinished run")),
        (_run(Phase.MOVING), (REFUSED, f"run r7 of h1 is unfinished (phase: moving): {_ADVICE}")),
        (
            _run(Phase.CLOSED, outcome=RunOutcome.DETACHED),
            (REFUSED, f"run r7 of h1 is unfinished (phase: detached): {_ADVICE}"),
        ),
        (
            _run(Phase.CLOSED, "replication rates of broker 4: timeout", "replication rates of broker 3: timeout"),
            (WARNING, "throttles of run r7 remain on brokers 3, 4; this run restores them"),
        ),
    ],
)
def test_an_earlier_run(checks: _Checks, run: FoundRun, expected: Any) -> None:
    """An unfinished run is refused, except for rates that this run can restore."""
    assert checks(unfinished=run)["earlier run"] == expected


def test_drift(checks: _Checks) -> None:
    """Changes since planning are refused, or skipped on request; five are named."""
    rows = [partition(n, [4, 5]) for n in range(7)]
    changes = [_move(n) for n in range(7)]
    moved = "; ".join(f"t-{n} was on brokers 1,2 and is now on 4,5" for n in range(5))
    message = f"7 planned partitions changed since planning: {moved} and 2 more"
    assert checks(rows, changes)["drift"] == (REFUSED, message)
    assert checks(rows, changes, skip_drifted=True)["drift"] == (WARNING, message)


@pytest.mark.parametrize(
    ("read", "verdict", "message"),
    [
        (InFlight.REQUIRED, OK, "no other reassignment in flight"),
        (InFlight.IF_KNOWN, WARNING, "reassignments in flight are unknown: the controller did not respond"),
        (InFlight.OMITTED, OK, "reassignments in flight are unknown: the controller did not respond"),
    ],
)
def test_unknown_reassignments(checks: _Checks, read: InFlight, verdict: CheckVerdict, message: str) -> None:
    """A run asks the controller whatever the state says; a dry run warns, unless it has already been warned."""
    assert checks(read=read, is_known=False)["other-reassignments"] == (verdict, message)


def test_other_reassignments(checks: _Checks) -> None:
    """A reassignment outside the plan can be overridden; one of a planned partition is drift."""
    rows = [partition(n, [1, 2]) for n in range(3)]
    assert checks(rows, in_flight=[0])["other-reassignments"] == (OK, "no other reassignment in flight")
    expected = (OVERRIDABLE, "2 other reassignments in flight: t-1, t-2")
    assert checks(rows, in_flight=[0, 1, 2])["other-reassignments"] == expected


def test_rules_of_the_planner(checks: _Checks) -> None:
    """Changes that the planner would not make are named with the current state, and can be overridden by name."""
    racks = brokers(4, racks=2)
    found = checks(broker_rows=racks, changes=[_move(to=(2, 4))])
    assert found["rack-spread"] == (
        OVERRIDABLE,
        "1 planned partition would be spread over fewer racks: t-0 from 2 to 1",
    )
    found = checks(changes=[_move(to=(2, 3, 4))])
    message = "1 planned partition would get another replication factor: t-0 from 2 to 3"
    assert found["replication-factor"] == (OVERRIDABLE, message)
    offline = [_with(b, log_dirs=[_with(d, state="offline") for d in b.log_dirs]) for b in brokers(5)[4:]]
    found = checks(broker_rows=brokers(5)[:4] + offline, changes=[_move(to=(2, 5))])
    message = (
        "1 planned partition would get a replica on a dead, cordoned, offline or unknown broker or log dir: "
        "t-0 to broker 5"
    )
    assert found["closed-target"] == (OVERRIDABLE, message)


def _on_dead(*dead: int) -> list[BrokerRow]:
    """Five brokers, of which some are dead."""
    return [_with(b, state="dead", log_dirs=[]) if b.broker in dead else b for b in brokers(5)]


def test_brokers_that_may_come_back(checks: _Checks) -> None:
    """Planned partitions with a replica on a broker that has just died wait for it; others do not."""
    rows = [partition(0, [3, 2]), partition(1, [3, 4]), partition(2, [3, 5]), partition(3, [1, 2])]
    changes = [_move(n, (1, 3), previous=tuple(rows[n].replicas)) for n in (0, 1, 3)]
    found = checks(rows, changes, broker_rows=_on_dead(2, 4), recently_dead=[4, 2])["recently-dead"]
    message = "3 planned partitions with a replica on brokers 2, 4, dead for less than --dead-after"
    assert found == (OVERRIDABLE, message)
    fine = (OK, "no planned partition waits for a broker to come back")
    assert checks(rows, changes, broker_rows=_on_dead(2, 5), recently_dead=[5])["recently-dead"] == fine
    assert checks(rows, changes, broker_rows=_on_dead(2, 4))["recently-dead"] == fine


def test_partitions_without_a_leader(checks: _Checks) -> None:
    """A planned partition without a leader cannot be copied and is refused; others are only reported."""
    rows = [_with(partition(n, [1, 2]), leader=-1) for n in (0, 1)] + [partition(2, [1, 2])]
    found = [checks(rows, [_move(n) for n in planned])["offline-partitions"] for planned in ((0, 1, 2), (2,), (1,))]
    assert found == [
        (OVERRIDABLE, "2 planned partitions without a leader: t-0, t-1"),
        (WARNING, "2 unplanned partitions without a leader: t-0, t-1"),
        (OVERRIDABLE, "1 planned partition without a leader: t-1"),
    ]


_SYNCED = (OK, "no planned partition has a live replica out of sync")
_LAGGING = (OVERRIDABLE, "1 planned partition with live replicas out of sync: t-0")


@pytest.mark.parametrize(
    ("replicas", "isr", "to", "dead", "expected"),
    [
        ((1, 2), [1], (2, 3), (), _LAGGING),
        # the copy that is in sync stays, the one that lags goes
        ((1, 2), [1], (1, 3), (), _SYNCED),
        ((1, 2), [1], (4, 3), (), _LAGGING),
        ((1, 2, 3), [1], (1, 3, 4), (), _LAGGING),
        ((1, 2, 3), [1], (1, 4, 5), (), _SYNCED),
        ((1, 2, 3), [1, 2], (1, 4, 5), (), _LAGGING),
        # what is on a dead broker is what a repair is there for
        ((1, 2), [1], (2, 3), (2,), _SYNCED),
        ((1, 2, 3), [1], (1, 3, 4), (2,), _LAGGING),
    ],
)
def test_replicas_out_of_sync(
    checks: _Checks,
    replicas: tuple[int, ...],
    isr: list[int],
    to: tuple[int, ...],
    dead: tuple[int, ...],
    expected: Any,
) -> None:
    """Live replicas that lag stop a plan, unless it removes just them."""
    # two partitions in sync before and after: rows of replicas are not those of partitions
    rows = [partition(0, [4, 5]), _with(partition(1, replicas), isr=isr), partition(2, [3, 4])]
    planned = [_move(1, to, previous=replicas)]
    found = checks(rows, planned, broker_rows=_on_dead(*dead))["under-replicated"]
    assert found == (expected[0], expected[1].replace("t-0", "t-1"))


def test_replicas_out_of_sync_elsewhere(checks: _Checks) -> None:
    """Lagging replicas of other partitions are only reported; a copy being added does not lag."""
    rows = [partition(0, [1, 2])] + [_with(partition(n, [3, 4]), isr=[3]) for n in (1, 2)]
    message = "2 unplanned partitions with live replicas out of sync"
    assert checks(rows)["under-replicated"] == (WARNING, message)
    assert checks([rows[0], _with(partition(1, [3, 4]), isr=[3], adding=[4])])["under-replicated"] == _SYNCED


def test_names_too_long_for_a_log_dir(checks: _Checks) -> None:
    """Only if a plan names a log dir is it reported that Kafka chooses."""
    long, short = "x" * 249, "y"
    dirs = ("/d0", "/d0")
    found = checks(topic=long, changes=[_move(topic=long, dirs=dirs), _move(topic=short, dirs=dirs)])["log dirs"]
    assert found == (
        WARNING,
        f"1 planned partition with a name too long for Kafka to choose a log dir: {long}-0",
    )
    assert checks(topic=long, changes=[_move(topic=long, dirs=("any", "/d0"))])["log dirs"][0] is WARNING
    assert checks(topic=long, changes=[_move(topic=long)])["log dirs"][0] is OK


_TIGHT = (WARNING, "little disk space on broker 3: moves will wait for free space")
_ROOM = (OK, "every disk has room for all of its new replicas at once")


@pytest.mark.parametrize(
    ("changes", "gb", "expected"),
    [
        ([_move()], 1, _ROOM),
        ([_move(bytes=GB + 1)], 1, _TIGHT),
        ([_move(), _move(1)], 1, _TIGHT),
        ([_move(), _move(1)], 2, _ROOM),
        ([_move(dirs=("any", "/d0")), _move(1, dirs=("any", "/d1"))], 1, _ROOM),
        ([_move(dirs=("/d0", "/d1")), _move(1, dirs=("/d0", "/d1"))], 1, _TIGHT),
        # each copy has its half of the bytes
        ([_move(to=(3, 4))], 1, _ROOM),
        ([_move(to=(3, 4), bytes=3 * GB)], 1, (WARNING, _TIGHT[1].replace("broker 3", "brokers 3, 4"))),
        # what another tool has planned says nothing of its bytes
        ([_with(_move(to=(3, 4), bytes=9 * GB), previous=None)], 1, _ROOM),
    ],
)
def test_room_on_disks(checks: _Checks, changes: Sequence[PartitionChange], gb: int, expected: Any) -> None:
    """All copies to a volume must fit at once, below the run's limit."""
    rows = [partition(n, [1, 2]) for n in range(2)]
    options = RunOptions(limits=RunLimits(disk_fraction=0.5))
    volumes = brokers(5, dirs=2, dir_bytes=2 * gb * GB)
    assert checks(rows, changes, broker_rows=volumes, options=options)["disks"] == expected


_TOO_LOW = "throttle below the write rate of partitions that move from or to broker 1: 7.63 MiB/s"
_BELOW = "throttle below 1 MB/s, which Kafka enforces inaccurately: "


@pytest.mark.parametrize(
    ("rate", "without", "expected"),
    [
        (None, (), (WARNING, "no throttle: copies may take all the bandwidth that clients need")),
        (None, [Capability.CONFIGS], (OK, "throttles not supported by this cluster")),
        (10**6 - 1, [Capability.CONFIGS], (WARNING, _BELOW + "977 KiB/s")),
        (10**6 - 1, (), (OVERRIDABLE, _TOO_LOW)),
        (10**6, [Capability.CONFIGS], (OK, "1 MB/s per broker in each direction")),
        # broker 1 sends 3 MB/s twice and 2 MB/s once
        (8 * 10**6, (), (OVERRIDABLE, _TOO_LOW)),
        (8 * 10**6 + 1, (), (OK, "7.63 MiB/s per broker in each direction")),
    ],
)
def test_the_throttle(checks: _Checks, rate: int | None, without: Collection[Capability], expected: Any) -> None:
    """A rate that copies would never catch up with can be overridden; a rate that Kafka does not enforce is
    reported."""
    rows = [
        _with(partition(0, [1, 2]), in_bytes_per_s=3e6),
        _with(partition(1, [1, 2]), in_bytes_per_s=2e6),
        _with(partition(2, [1, 2]), in_bytes_per_s=900e6),
    ]
    changes = [_move(to=(3, 4)), _move(1, (2, 3))]
    if without:
        rows = [partition(0, [1, 2])]
    options = RunOptions(throttle=Throttle(bytes_per_s=rate))
    assert checks(rows, changes[: len(rows)], options=options, without=without)["throttle"] == expected


@pytest.mark.parametrize("missing", [[Capability.LOCK], [Capability.RECORDS], NO_OTHER])
def test_other_hosts(checks: _Checks, missing: Sequence[Capability]) -> None:
    """Reports what other hosts can do to this run."""
    message = "runs from other hosts are not blocked, or cannot resume this one: not supported or not authorized: "
    assert checks(without=missing)["other hosts"] == (WARNING, message + ", ".join(missing))


def _check(name: str, verdict: CheckVerdict) -> PreflightCheck:
    return PreflightCheck(name, verdict, f"{name} is wrong")


@pytest.mark.parametrize(
    ("found", "message", "hint"),
    [
        (
            [_check("throttle", OVERRIDABLE), _check("rack-spread", OVERRIDABLE)],
            "not safe to start: throttle is wrong; rack-spread is wrong",
            "to override: --allow throttle --allow rack-spread",
        ),
        (
            [_check("other-reassignments", OVERRIDABLE), _check("drift", WARNING)],
            "not safe to start: other-reassignments is wrong",
            (
                "wait for them, or take them over with 'kafkabal rebalance adopt'; "
                "to override: --allow other-reassignments"
            ),
        ),
        (
            [_check("drift", REFUSED), _check("throttle", WARNING)],
            "not safe to start: drift is wrong",
            "make a new plan, or skip them with --skip-drifted",
        ),
        # an option that does not help is not advised
        (
            [_check("other-reassignments", OVERRIDABLE), _check("drift", REFUSED)],
            "not safe to start: other-reassignments is wrong; drift is wrong",
            None,
        ),
    ],
)
def test_refusals(found: Sequence[PreflightCheck], message: str, hint: str | None) -> None:
    """Every obstacle is named, with the options that would override it, if any."""
    with pytest.raises(UnsafeError) as refused:
        enforce(found)
    assert (str(refused.value), refused.value.hint) == (message, hint)


def test_nothing_is_refused() -> None:
    """Warnings, overrides and successes stop nothing."""
    enforce([_check("drift", WARNING), _check("cluster", OK), _check("throttle", OVERRIDABLE)], {Overridable.THROTTLE})
