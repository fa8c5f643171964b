"""Requests to a live run: put where it looks, and honest about whether it will see them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import NoResponseError, NotAuthorizedError, OperationError, RefusedByClusterError, UnreachableError
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.run_request import RunRequest, RunRequests

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
    listener = SimpleNamespace(on_event=said.append)
    with pytest.raises(OperationError, match="did not respond"):
        requests.put(_FASTER, listener)  # type: ignore[arg-type]
    assert store.limits_s == [4.0, 1.0] * 10
    assert [event.give_up_s for event in said] == [40.0]


def test_a_request_without_permission_is_not_repeated(requests: RunRequests, store: _Store) -> None:
    """It is reported with what lacks."""
    store.put_fails = NotAuthorizedError("no WRITE on topic __kafkabal")
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
    (tmp_path / "run.throttle").write_text("{")
    assert requests.current() is None
