"""The run record on the cluster: in parts, whole or not at all, confirmed before every write, with a history."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kafkabal.errors import BusyError, OperationError
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.state import cluster_record
from kafkabal.executor.state.cluster_record import ClusterRecord, DamagedRunRecordError
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.plan import Placement


def _partition(number: int) -> RunPartition:
    """A run that a separate process will take over."""
    previous = Placement(replicas=(1, 2), leader=1, log_dirs=("/a", "/b"))
    return RunPartition(
        topic=f"t{number**5}",
        partition=number,
        previous=previous,
        replicas=(1, 3),
        log_dirs=("any", "any"),
        copy_bytes=10,
    )


def _run(run_id: str, partitions: int = 2) -> RunRecord:
    return RunRecord(
        run_id=run_id,
        plan_id=f"plan of {run_id}",
        cluster_id="c",
        started_at="2026-01-01T00:00:00",
        host="one",
        user="me",
        why="--drain 2",
        options=RunOptions(),
        partitions=tuple(map(_partition, range(partitions))),
    )


class _Store:
    """Records in memory, and the order in which they were written."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.writes: list[str] = []

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        """Write or delete one."""
        self.writes.append(f"-{key}" if value is None else key)
        if value is None:
            self.kept.pop(key, None)
        else:
            self.kept[key] = value

    def get_all(self, *, within_s: float | None = None) -> dict[str, bytes]:
        """All of them."""
        return dict(self.kept)


@pytest.fixture
def store() -> _Store:
    """An empty one."""
    return _Store()


def test_there_is_no_run_at_first(store: _Store) -> None:
    """No record, no request, no previous run."""
    record = ClusterRecord(store)
    assert (record.load(), record.run_id(), record.request("a"), record.earlier_runs()) == (None, None, None, ())
    assert not record.is_as_left("a")
    assert not record.was_replaced("a")


def test_a_run_in_parts(store: _Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large run is split, is read back whole, and exists only once its head is written; then the former one is
    deleted."""
    monkeypatch.setattr(cluster_record, "_PART_BYTES", 200)
    record, large = ClusterRecord(store), _run("b", 100)
    record.begin(_run("a"), RunState(at="1"))
    record.put_request("a", b"slower")
    former = [f"-{key}" for key in store.writes]
    store.writes.clear()
    record.begin(large, RunState(at="2", phase=Phase.MOVING))
    assert record.load() == (large, RunState(at="2", phase=Phase.MOVING))
    *parts, state, summary, head = (w for w in store.writes if not w.startswith("-"))
    assert parts == [f"run/b/{n}" for n in range(len(parts))]
    assert len(parts) > 3
    assert all(len(store.kept[key]) <= 200 for key in parts)
    assert (state, summary, head) == ("run/b/state", "history/a", "run/b/head")
    assert store.writes[-len(former) :] == former
    assert former[-3:] == ["-run/a/state", "-run/a/head", "-run/a/request"]
    assert record.run_id() == "b"


@pytest.mark.parametrize("crash_after", range(5))
def test_a_crash_leaves_the_former_run(store: _Store, crash_after: int) -> None:
    """Until the head is written, the previous run is there, whole; from then on, the new one."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1"))
    put, left = store.put, crash_after

    def die(key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        put(key, value)

    store.put = die  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        record.begin(_run("b"), RunState(at="2"))
    # one part, the state, the summary, the head
    known = ClusterRecord(store).load()
    assert known is not None
    assert known[0] == _run("b" if crash_after == 4 else "a")


def test_a_head_that_arrives_late(store: _Store) -> None:
    """The head of a process that was suspended as it began its run replaces no run that another began since, or
    resumed."""
    ClusterRecord(store).begin(_run("a"), RunState(at="1"))
    late, put = ClusterRecord(store), store.put
    held_back = dict[str, bytes | None]()

    def hold_back_the_head(key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        if key == "run/late/head":
            held_back[key] = value
            raise KeyboardInterrupt
        put(key, value)

    store.put = hold_back_the_head  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        late.begin(_run("late"), RunState(at="2"))
    store.put = put  # type: ignore[method-assign]
    newer = ClusterRecord(store)
    newer.begin(_run("b"), RunState(at="3"))
    assert not [key for key in store.kept if "late" in key]
    for key, value in held_back.items():
        put(key, value)
    assert newer.load() == (_run("b"), RunState(at="3"))
    assert newer.is_as_left("b")
    assert not late.is_as_left("late")
    newer.begin(_run("c"), RunState(at="4"))
    assert newer.run_id() == "c"
    assert not [key for key in store.kept if "late" in key]
    assert [run.run_id for run in newer.earlier_runs()] == ["a", "b"]


def test_a_run_of_an_earlier_version(store: _Store) -> None:
    """The one head that earlier versions wrote is read, and replaced by the next run."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1"))
    store.kept["run"] = store.kept.pop("run/a/head")
    assert record.load() == (_run("a"), RunState(at="1"))
    record.begin(_run("b"), RunState(at="2"))
    assert (record.run_id(), "run" in store.kept) == ("b", False)
    assert [run.run_id for run in record.earlier_runs()] == ["a"]


def test_damage_is_reported(store: _Store) -> None:
    """A missing or wrong part makes the run unreadable, and the error says what to do."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1"))
    part = store.kept["run/a/0"]
    for damaged in ({}, {"run/a/0": part[:-1]}, {"run/a/0": part[:-1] + b"x"}):
        del store.kept["run/a/0"]
        store.kept |= damaged
        with pytest.raises(OperationError) as caught:
            record.load()
        assert str(caught.value) == "the run record of a on the cluster is incomplete"
        assert "'kafkabal rebalance resume --journal FILE' where its journal is" in (caught.value.hint or "")
        store.kept["run/a/0"] = part
    del store.kept["run/a/state"]
    assert record.load() == (_run("a"), RunState())
    # a new run begins over what is damaged, of which no line can be kept
    del store.kept["run/a/0"]
    record.begin(_run("b"), RunState(at="2"))
    assert record.earlier_runs() == ()


@pytest.mark.parametrize("key", ["run/a/head", "run/a/state", "run/a/0"])
@pytest.mark.parametrize("text", [b"", b"\xff\x00", b"[]", b'{"options":{"throttle":{"bytes_per_s":0}},"goal":"x"}'])
def test_records_that_cannot_be_decoded(store: _Store, key: str, text: bytes) -> None:
    """Of any origin: the run counts as damaged, for the next run too, which replaces it."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1"))
    if key == "run/a/0":
        packed = zlib.compress(text)
        head = msgspec.json.decode(store.kept["run/a/head"]) | {"sha256": hashlib.sha256(packed).hexdigest()}
        store.kept |= {key: packed, "run/a/head": msgspec.json.encode(head)}
    else:
        store.kept[key] = text
    with pytest.raises(DamagedRunRecordError, match="the run record of a on the cluster is damaged"):
        record.load()
    record.begin(_run("b"), RunState(at="2"))
    assert record.load() == (_run("b"), RunState(at="2"))
    assert [k for k in store.kept if k.startswith("run/a/")] == []
    store.kept["history/a"] = text
    with pytest.raises(DamagedRunRecordError, match="the run record of a on the cluster is damaged"):
        record.earlier_runs()


def test_a_run_of_a_later_version(store: _Store) -> None:
    """It is not guessed at, nor taken for damaged, which would allow a run to begin over it."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1"))
    head = msgspec.json.decode(store.kept["run/a/head"]) | {"run_format": 2}
    store.kept["run/a/head"] = msgspec.json.encode(head)
    with pytest.raises(OperationError, match="run a was recorded on the cluster by a later version") as refused:
        record.load()
    assert not isinstance(refused.value, DamagedRunRecordError)


def test_earlier_runs(store: _Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per replaced run, the oldest dropped beyond a limit; the same run again replaces nothing."""
    monkeypatch.setattr(cluster_record, "_MOST_SUMMARIES", 2)
    record = ClusterRecord(store)
    for name in "abcdd":
        record.begin(_run(name), RunState(at=f"at {name}"))
    assert [run.run_id for run in record.earlier_runs()] == ["b", "c"]
    record.begin(_run("e"), RunState())
    earlier = record.earlier_runs()
    assert [run.run_id for run in earlier] == ["b", "c", "d"]
    assert record.was_replaced("d")
    assert not record.was_replaced("e")
    last = earlier[-1]
    assert (last.plan_id, last.started_at, last.last_at) == ("plan of d", "2026-01-01T00:00:00", "at d")
    assert (last.host, last.user, last.why, last.partitions) == ("one", "me", "--drain 2", 2)
    assert (last.planned_bytes, last.outcome, last.phase) == (20, None, Phase.PREPARED)


def test_last_opening(store: _Store) -> None:
    """A run that another process has reopened is not as we left it, even if our own write arrives after theirs."""
    one, two = ClusterRecord(store), ClusterRecord(store)
    one.begin(_run("a"), RunState(at="1"))
    assert one.is_as_left("a")
    assert not one.is_as_left("b")
    assert not two.is_as_left("a")
    two.update("a", RunState(at="2", openings=1, goal=Goal.ROLL_BACK))
    one.update("a", RunState(at="3"))
    assert two.is_as_left("a")
    assert not one.is_as_left("a")
    known = one.load()
    assert known is not None
    assert known[1] == RunState(at="2", openings=1, goal=Goal.ROLL_BACK)


def test_two_openings_that_follow_the_same_one(store: _Store) -> None:
    """Neither is as its process left it, whichever write arrived first, and the later one counts."""
    first, one, two = (ClusterRecord(store) for _ in range(3))
    first.begin(_run("a"), RunState(at="1"))
    two.update("a", RunState(at="3", openings=1, phase=Phase.MOVING))
    one.update("a", RunState(at="2", openings=1))
    two.update("a", RunState(at="4", openings=1, phase=Phase.CLOSED))
    assert not one.is_as_left("a")
    known = first.load()
    assert known is not None
    assert known[1] == RunState(at="4", openings=1, phase=Phase.CLOSED)


def test_writes_without_a_response(store: _Store) -> None:
    """A lost answer or request hides nothing; an opening of which nothing arrived does not count."""
    one, two, put = ClusterRecord(store), ClusterRecord(store), store.put
    one.begin(_run("a"), RunState(at="1"))

    def lose_the_answer(key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        put(key, value)
        raise OperationError("no answer")

    def lose_the_request(key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        raise OperationError("no answer")

    for lost in (lose_the_request, lose_the_answer):
        store.put = lost  # type: ignore[method-assign]
        with pytest.raises(OperationError):
            one.update("a", RunState(at="2"))
        assert one.is_as_left("a")
        with pytest.raises(OperationError):
            two.update("a", RunState(at="3", openings=1))
        assert two.is_as_left("a") is (lost is lose_the_answer)


def test_an_opening_that_was_refused(store: _Store) -> None:
    """It was never written: the one of another process, with the same number and time, does not pass for it."""
    one, two = ClusterRecord(store), ClusterRecord(store)
    one.begin(_run("a"), RunState(at="1"))

    def refuse() -> None:
        raise BusyError("lost the lock")

    with one.confirming(refuse), pytest.raises(BusyError):
        one.update("a", RunState(at="2", openings=1))
    two.update("a", RunState(at="2", openings=1, goal=Goal.ROLL_BACK))
    assert not one.is_as_left("a")


def test_every_write_is_confirmed(store: _Store) -> None:
    """Before each write, and only as long as requested; if the confirmation raises, so does the write."""
    record, confirmed = ClusterRecord(store), list[int]()

    def confirm() -> None:
        confirmed.append(len(store.writes))

    with record.confirming(confirm):
        record.begin(_run("a"), RunState(at="1"))
        record.begin(_run("b"), RunState(at="2"))
        record.put_request("b", b"slower")
    assert confirmed == list(range(len(store.writes)))
    assert record.request("b") == b"slower"
    record.update("b", RunState(at="3"))
    assert len(confirmed) == len(store.writes) - 1

    def refuse() -> None:
        raise OperationError("lost the lock")

    before = store.kept.copy()
    with record.confirming(refuse), pytest.raises(OperationError):
        record.update("b", RunState(at="4"))
    assert store.kept == before


def test_a_record_keeps_all_of_a_run(store: _Store) -> None:
    """With later changes: rates, originals, another throttle."""
    state = RunState(at="1", rates={"7"}, pending=["x"])
    run = replace(_run("a"), cordons=())
    record: Any = ClusterRecord(store)
    record.begin(run, state)
    assert ClusterRecord(store).load() == (run, state)


_BEFORE_BATCHES = (
    b'{"at":"2026-01-01T00:00:00.000+00:00","openings":1,"goal":"apply","phase":"moving","rates":["5"],"throttle":null,'
    b'"asked_at":"","later_originals":[],"outcome":null,"pending":[]}'
)
"""The state of a run as versions wrote it that did not record the batches."""


class _EarlierState(msgspec.Struct, kw_only=True):
    """What these versions read of it."""

    at: str = ""
    openings: int = 0
    goal: Goal = Goal.APPLY
    phase: Phase = Phase.PREPARED
    rates: set[str] = set()
    throttle: Throttle | None = None
    asked_at: str = ""
    later_originals: list[Original] = []
    outcome: RunOutcome | None = None
    pending: list[str] = []


def test_a_state_of_an_earlier_version_is_read(store: _Store) -> None:
    """How many batches it has started is unknown, and stays so; the rest is as it was written."""
    record = ClusterRecord(store)
    record.begin(_run("a"), RunState(at="1", batches=3))
    store.kept["run/a/state"] = _BEFORE_BATCHES
    known = record.load()
    assert known is not None
    at = "2026-01-01T00:00:00.000+00:00"
    assert known[1] == RunState(at=at, openings=1, phase=Phase.MOVING, rates={"5"}, batches=None)
    known[1].count_batch()
    assert known[1].batches is None


def test_an_earlier_version_reads_a_state(store: _Store) -> None:
    """All that it knows of is there, under the same names, as long as the run was not reopened."""
    record, state = ClusterRecord(store), RunState(at="1", phase=Phase.MOVING, rates={"5"}, batches=3)
    record.begin(_run("a"), state)
    read = msgspec.json.decode(store.kept["run/a/state"], type=_EarlierState)
    assert read == _EarlierState(at="1", phase=Phase.MOVING, rates={"5"})
    assert set(_EarlierState.__struct_fields__) < set(RunState.__struct_fields__)
