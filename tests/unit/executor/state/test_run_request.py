"""Requests to a live run: put where it looks, and honest about whether it will see them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import (
    NoResponseError,
    NotAuthorizedError,
    OperationError,
    RefusedByClusterError,
    UnreachableError,
    UsageError,
)
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Trouble
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import find_run, open_cluster_record
from kafkabal.executor.state.journal_records import ThrottleTaken
from kafkabal.executor.state.run_request import (
    POLL_EVERY_S,
    RunRequest,
    RunRequests,
    ThrottleChange,
    is_pause_requested,
    request_cancel,
    request_pause,
    request_throttle,
)

_FASTER = RunRequest(is_paused=True, asked_at="now")
_TOO_FEW = RefusedByClusterError("write to topic __kafkabal: NOT_ENOUGH_REPLICAS")


class _Store:
    """Records whose reads and writes fail as scripted, and how long each may take."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.put_fails: OperationError | None = None
        self.appends = True
        self.read_fails: OperationError | None = None
        self.limits_s: list[float | None] = []

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        """Append, and fail if not all that should have it do."""
        self.limits_s.append(within_s)
        if value is not None and (self.appends or self.put_fails is None):
            self.kept[key] = value
        if self.put_fails is not None:
            raise self.put_fails

    def get_all(self, *, within_s: float | None = None) -> dict[str, bytes]:
        """All of them."""
        self.limits_s.append(within_s)
        if self.read_fails is not None:
            raise self.read_fails
        return dict(self.kept)


@pytest.fixture
def store() -> _Store:
    """An empty one."""
    return _Store()


@pytest.fixture
def requests(store: _Store, tmp_path: Path) -> RunRequests:
    """Those of a run."""
    return RunRequests(tmp_path / "run.jsonl", ClusterRecord(store), "a", FakeClock())


def test_a_request_that_can_be_read_is_there(requests: RunRequests, store: _Store) -> None:
    """Not all replicas acknowledge it, since some are dead; the run reads it all the same."""
    store.put_fails = _TOO_FEW
    requests.put(_FASTER)
    assert requests.current() == _FASTER
    assert store.limits_s == [4.0, 1.0, 5.0]


@pytest.mark.parametrize("read_fails", [None, UnreachableError("no leader")])
def test_a_request_that_cannot_be_read_is_refused(
    requests: RunRequests, store: _Store, read_fails: OperationError | None
) -> None:
    """With the reason for which it could not be written."""
    requests.put(RunRequest(asked_at="before"))
    store.put_fails, store.appends, store.read_fails = _TOO_FEW, False, read_fails
    store.limits_s.clear()
    with pytest.raises(
        OperationError, match="cannot ask run a: write to topic __kafkabal: NOT_ENOUGH_REPLICAS"
    ) as refused:
        requests.put(_FASTER)
    assert "the run may still follow" in (refused.value.hint or "")
    assert store.limits_s == [4.0, 1.0] * 4


def test_a_leader_that_waits_for_a_follower_is_given_longer(requests: RunRequests, store: _Store) -> None:
    """Kafka drops the follower after 30 s, beyond the usual 20 s; one line says how long the command tries."""
    store.put_fails, store.appends = NoResponseError("b:1 did not respond within 4 s"), False
    store.limits_s.clear()
    said: list[Any] = []
    listener = SimpleNamespace(on_event=lambda event: said.append((event, len(store.limits_s))))
    with pytest.raises(OperationError, match="did not respond"):
        requests.put(_FASTER, listener)  # type: ignore[arg-type]
    assert store.limits_s == [4.0, 1.0] * 10
    # after the first write, which was not read back
    assert said == [
        (Trouble(error="b:1 did not respond within 4 s", since_s=0.0, next_try_s=0.0, give_up_s=40.0), 2),
    ]


def test_a_request_without_permission_is_not_repeated(requests: RunRequests, store: _Store) -> None:
    """It is reported with what lacks."""
    store.put_fails = NotAuthorizedError("no Write on topic __kafkabal")
    with pytest.raises(NotAuthorizedError):
        requests.put(_FASTER)
    assert len(store.limits_s) == 1


def test_a_request_is_written_once_a_leader_is_back(
    requests: RunRequests, store: _Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that has just died is replaced in seconds, and the request is not refused for it."""
    fails = iter([_TOO_FEW, _TOO_FEW])
    put = store.put

    def put_later(key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        store.put_fails, store.appends = next(fails, None), False
        put(key, value, within_s=within_s)

    monkeypatch.setattr(store, "put", put_later)
    requests.put(_FASTER)
    assert requests.current() == _FASTER


def test_requests_are_polled_at_intervals(requests: RunRequests, store: _Store) -> None:
    """A record that cannot be read holds up its moves for 5 s at most; a command that asks now hears the reason."""
    requests.put(_FASTER)
    store.read_fails = UnreachableError("no leader")
    assert requests.latest() is None
    assert store.limits_s[-1] == 5.0
    with pytest.raises(UnreachableError):
        requests.current()


def test_a_request_on_this_host_only(tmp_path: Path) -> None:
    """Without a record of the cluster it is a file beside the journal; one that cannot be understood is none."""
    requests = RunRequests(tmp_path / "run.jsonl", None, "a", FakeClock())
    assert requests.current() is None
    requests.put(_FASTER)
    assert requests.current() == _FASTER
    # a rate that the journal could not read back would make the run unreadable
    for rates in ("{", '{"bytes_per_s":0}', f'{{"log_dir_bytes_per_s":{2**63}}}'):
        (tmp_path / "run.throttle").write_text(f'{{"asked_at":"1","requested":{rates}}}')
        assert requests.current() is None


def test_a_request_is_read_again_once_the_interval_is_over(store: _Store, tmp_path: Path) -> None:
    """Not before, and again after it: also one that came meanwhile."""
    clock = FakeClock()
    requests = RunRequests(tmp_path / "run.jsonl", ClusterRecord(store), "a", clock)
    assert requests.latest() is None
    requests.put(_FASTER)
    clock.sleep(POLL_EVERY_S - 0.5)
    assert requests.latest() is None
    clock.sleep(0.5)
    assert requests.latest() == _FASTER
    assert requests.latest() is None


def test_a_request_that_was_left_on_this_host(store: _Store, tmp_path: Path) -> None:
    """A command that found no record of the run leaves a file; the record, once it has a request, comes first."""
    RunRequests(tmp_path / "run.jsonl", None, "a", FakeClock()).put(_FASTER)
    requests = RunRequests(tmp_path / "run.jsonl", ClusterRecord(store), "a", FakeClock())
    assert requests.current() == _FASTER
    requests.put(RunRequest(asked_at="later"))
    assert requests.current() == RunRequest(asked_at="later")


def _interrupted(scene: Any, *, has_record: bool) -> RunEnvironment:
    """A run that died before its first move, and another process of its host."""
    if not has_record:
        scene.memory = InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])
        scene.faulty.inner = scene.memory
    environment: RunEnvironment = scene.crash_before("alter_reassignments")
    if not has_record:
        scene.memory = InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])
        environment = scene.environment(scene.memory)
    return environment


def _stored(environment: RunEnvironment) -> RunRequest | None:
    """The request that the run will read."""
    found = find_run(environment)
    assert found is not None
    path = environment.journal_path(found.record.cluster_id, found.record.run_id)
    record = open_cluster_record(environment.cluster)
    return RunRequests(path, record, found.record.run_id, environment.clock).current()


_RATE, _DIRS, _AUTO = ThrottleChange(bytes_per_s=7), ThrottleChange(log_dir_bytes_per_s=8), ThrottleChange(is_auto=True)


@pytest.mark.parametrize("has_record", [True, False])
def test_a_request_keeps_what_still_holds(scene: Any, has_record: bool) -> None:
    """A pause holds until another request ends it, a throttle until the run takes it; a cancel keeps neither."""
    environment = _interrupted(scene, has_record=has_record)
    found = find_run(environment)
    assert found is not None
    assert not is_pause_requested(environment)

    def expect(requested: ThrottleChange, *, is_paused: bool = False, is_cancelled: bool = False) -> None:
        stored = _stored(environment)
        assert stored is not None
        assert (stored.requested, stored.is_paused, stored.is_cancelled) == (requested, is_paused, is_cancelled)
        assert stored.asked_at == environment.clock.utc_now().isoformat()
        assert is_pause_requested(environment) == is_paused
        environment.clock.sleep(1.0)

    assert request_throttle(environment, _RATE) == found.record.run_id
    expect(_RATE)
    assert request_pause(environment, is_paused=True) == found.record.run_id
    expect(_RATE, is_paused=True)
    request_throttle(environment, _DIRS)
    both = ThrottleChange(bytes_per_s=7, log_dir_bytes_per_s=8)
    expect(both, is_paused=True)
    request_pause(environment, is_paused=False)
    expect(both)
    request_throttle(environment, _AUTO)
    expect(ThrottleChange(is_auto=True, log_dir_bytes_per_s=8))
    assert request_cancel(environment) == found.record.run_id
    expect(ThrottleChange(), is_cancelled=True)


def test_a_throttle_that_was_taken_is_not_requested_again(scene: Any) -> None:
    """A pause repeats only what the run has not taken yet."""
    environment = _interrupted(scene, has_record=False)
    request_throttle(environment, _RATE)
    stored = _stored(environment)
    assert stored is not None
    taken = ThrottleTaken(at="", asked_at=stored.asked_at, throttle=scene.options.throttle)
    with scene.journal().open("ab") as file:
        file.write(msgspec.json.encode(taken) + b"\n")
    environment.clock.sleep(1.0)
    request_pause(environment, is_paused=True)
    later = _stored(environment)
    assert later is not None
    assert (later.requested, later.is_paused) == (ThrottleChange(), True)


def test_a_journal_that_is_given_names_the_run(scene: Any) -> None:
    """A request through a copy of the journal is left beside the copy's original only if the cluster has no record."""
    environment = _interrupted(scene, has_record=True)
    copy = scene.folder / "copy.jsonl"
    copy.write_bytes(scene.journal().read_bytes())
    request_cancel(environment, journal=copy)
    stored = _stored(environment)
    assert stored is not None
    assert stored.is_cancelled


def test_no_run_takes_a_request(scene: Any) -> None:
    """Before the first run, and after it is closed."""
    environment = scene.environment()
    for _ in range(2):
        assert not is_pause_requested(environment)
        with pytest.raises(UsageError, match="no active run on this cluster"):
            request_pause(environment, is_paused=True)
        apply(environment, scene.plan, scene.options)


def test_the_record_of_another_run_takes_no_request(scene: Any) -> None:
    """A run whose record was replaced by that of another is asked through its own file."""
    environment = _interrupted(scene, has_record=True)
    copy = scene.folder / "copy.jsonl"
    run_id = scene.journal().stem
    copy.write_bytes(scene.journal().read_bytes().replace(run_id.encode(), b"29990101T000000-x"))
    assert request_cancel(environment, journal=copy) == "29990101T000000-x"
    assert _stored(environment) is None
    assert msgspec.json.decode(copy.with_suffix(".throttle").read_bytes(), type=RunRequest).is_cancelled


def test_a_request_from_another_host_that_has_to_be_repeated(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches the run, and the one who waits is told why."""
    environment = _interrupted(scene, has_record=True)
    put, fails = ClusterRecord.put_request, iter([_TOO_FEW])

    def put_later(record: ClusterRecord, *arguments: Any, **options: Any) -> None:
        if fault := next(fails, None):
            raise fault
        put(record, *arguments, **options)

    monkeypatch.setattr(ClusterRecord, "put_request", put_later)
    request_pause(scene.environment(host="two"), is_paused=True)
    assert is_pause_requested(environment)
    assert [event.error for event in scene.recorder.of(Trouble)] == [_TOO_FEW.message]
