"""A host's lock file, the fence of a run, and the lock of a command with several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import BusyError, UnnamedHolderError, UnreachableError
from kafkabal.executor.run_events import LockAwaited
from kafkabal.executor.safety.cluster_lock import (
    Fence,
    FileLock,
    LockLostError,
    LockRegainedError,
    TakenOverError,
    confirm_lock,
)
from kafkabal.executor.safety.lock_across_runs import LockAcrossRuns, StoppedWaitingError, lock_cluster
from kafkabal.executor.safety.stop_request import StopReason

SESSION_S = 30.0


class _Lock:
    """A lock that is held or not, with a given heartbeat age."""

    scope = "test"

    def __init__(self, age_s: float = 0.0, *, is_held: bool = True) -> None:
        self.age_s = age_s
        self.holds = is_held
        self.released = 0

    def seconds_since_heartbeat(self) -> float:
        """As given."""
        return self.age_s

    def is_held(self) -> bool:
        """As given."""
        return self.holds

    def release(self) -> None:
        """Count it; an unresponsive coordinator is ignored."""
        self.released += 1
        raise UnreachableError("no answer")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"kafkabal on one (process 7)", "kafkabal on one (process 7)"),
        (b"", "another kafkabal on this host"),
        (b"\xff", "�"),
        (b"x" * 5000, "x" * 1000),
    ],
)
def test_the_holder_of_the_file_lock_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    """By the name it gave, however odd the file is, with what to do."""
    path = tmp_path / "new" / "lock"
    lock = FileLock(path, "kafkabal on one (process 7)")
    assert (path.read_text(), lock.scope, lock.seconds_since_heartbeat()) == (
        "kafkabal on one (process 7)",
        "this host only",
        0.0,
    )
    path.write_bytes(content)
    with pytest.raises(BusyError) as busy:
        FileLock(path, "two")
    assert busy.value.message == f"cluster locked by {named}"
    assert busy.value.hint == "wait until it has finished, then try again"
    assert path.read_bytes() == content
    lock.release()
    assert not lock.is_held()


def test_a_deleted_lock_file_locks_nothing(tmp_path: Path) -> None:
    """Another process can lock a new file of that name, so a request must not pass; the folder may be gone with it."""
    path = tmp_path / "new" / "lock"
    lock = FileLock(path, "one")
    fence = Fence(lock, lambda: FileLock(path, "one"), lambda: None, FakeClock(), session_s=SESSION_S, give_up_s=1.0)
    fence.check_file()
    path.unlink()
    path.parent.rmdir()
    assert not lock.is_held()
    with pytest.raises(LockRegainedError):
        fence.check_file()
    fence.check_file()
    with pytest.raises(BusyError):
        FileLock(path, "two")


@pytest.mark.parametrize(
    ("age_s", "is_held", "passes"),
    [(0.0, True, True), (14.9, True, True), (15.0, True, False), (0.0, False, False)],
)
def test_only_a_fresh_lock_is_confirmed(age_s: float, is_held: bool, passes: bool) -> None:
    """Half a session after its last heartbeat, or when it is lost, nothing starts."""
    lock = _Lock(age_s, is_held=is_held)
    if passes:
        return confirm_lock(lock, SESSION_S)
    with pytest.raises(LockLostError) as lost:
        confirm_lock(lock, SESSION_S)
    assert (lost.value.message, lost.value.hint) == (
        "lost the lock of this cluster before anything changed",
        "run the same command again",
    )
    return None


class _Retaking:
    """The results of successive attempts to acquire the lock again."""

    def __init__(self, *outcomes: _Lock | Exception) -> None:
        self.outcomes = list(outcomes)
        self.tries = 0

    def __call__(self) -> _Lock:
        self.tries += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def _fence(lock: _Lock, retake: _Retaking, give_up_s: float = 300.0) -> tuple[Fence, FakeClock]:
    clock = FakeClock()
    return Fence(lock, retake, lambda: None, clock, session_s=SESSION_S, give_up_s=give_up_s), clock


def test_a_lost_lock_is_taken_again() -> None:
    """The old lock is released; knowledge of the cluster is stale, and then effects pass under the new lock."""
    old, new = _Lock(is_held=False), _Lock()
    retake = _Retaking(UnreachableError("no coordinator"), UnreachableError("no coordinator"), new)
    fence, clock = _fence(old, retake)
    with pytest.raises(LockRegainedError, match="the lock was not confirmed for a while; re-reading the cluster"):
        fence.check()
    assert (retake.tries, old.released, clock.monotonic()) == (3, 3, 2.0)
    fence.check()
    assert fence.scope == "test"
    fence.release()
    assert (old.released, new.released) == (3, 1)


def test_our_own_old_session_is_waited_for() -> None:
    """For a session the cluster may still count our old membership; after that, any holder is another process."""
    busy = BusyError("cluster locked by kafkabal on one (process 7)")
    fence, clock = _fence(_Lock(is_held=False), _Retaking(busy))
    with pytest.raises(BusyError) as lost:
        fence.check()
    assert lost.value.message == "lost the lock of this cluster: cluster locked by kafkabal on one (process 7)"
    assert lost.value.hint == (
        "only a request that was already being sent may still take effect; "
        "once the other run has finished, 'kafkabal rebalance repair' lists throttles that are left"
    )
    assert lost.value.__cause__ is busy
    assert clock.monotonic() == SESSION_S
    fence, _ = _fence(_Lock(is_held=False), _Retaking(busy, busy, _Lock()))
    with pytest.raises(LockRegainedError):
        fence.check()


def test_our_own_old_session_counts_from_the_first_refusal() -> None:
    """A new coordinator restarts that time, even if it takes over only after more than a session."""
    busy, silent = BusyError("cluster locked by kafkabal on one (process 7)"), UnreachableError("no coordinator")
    away, refused = int(SESSION_S) + 5, int(SESSION_S) - 1
    fence, clock = _fence(_Lock(is_held=False), _Retaking(*[silent] * away, *[busy] * refused, _Lock()))
    with pytest.raises(LockRegainedError):
        fence.check()
    assert clock.monotonic() == away + refused


def test_a_run_that_was_taken_over_is_left_at_once() -> None:
    """There is no waiting for a session if another process has used the lock."""
    taken_over = TakenOverError("run r was resumed by another process", hint="what to do now")
    fence, clock = _fence(_Lock(is_held=False), _Retaking(taken_over))
    with pytest.raises(BusyError, match="lost the lock of this cluster: run r was resumed by another process") as lost:
        fence.check()
    assert lost.value.hint == "what to do now"
    assert clock.monotonic() == 0.0


def test_a_lock_that_cannot_be_confirmed_ends_the_run() -> None:
    """After the given time, with how to continue."""
    fence, clock = _fence(_Lock(age_s=20.0), _Retaking(_Lock()), give_up_s=60.0)
    with pytest.raises(UnreachableError) as lost:
        fence.check()
    assert lost.value.message == "cannot confirm the lock of the cluster"
    assert lost.value.hint == "run 'kafkabal rebalance resume'"
    assert clock.monotonic() == 60.0


def test_the_lock_is_waited_for_as_long_as_asked(scene: Any) -> None:
    """Reported once, with the holder and how long; acquired within a second of its release."""
    other = scene.memory.connect("other").lock(LockRequest("kafkabal on two (process 9)", SESSION_S))
    scene.memory.kafka.clock.at(20.5, other.release)
    lock = lock_cluster(scene.environment(), SESSION_S, wait_s=40.0)
    assert lock.is_held()
    assert scene.memory.kafka.clock.monotonic() == 21.0
    (reported,) = scene.recorder.of(LockAwaited)
    assert reported == LockAwaited(holder="cluster locked by kafkabal on two (process 9)", wait_s=40.0)


def test_a_lock_that_kafka_cannot_grant_yet_is_reported(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that waits for a free lock says why."""
    take = scene.memory.lock

    def take_late(request: LockRequest) -> Any:
        for _ in range(2):
            request.on_delay("Kafka cannot store the lock of the cluster yet", 75.0)
        return take(request)

    monkeypatch.setattr(scene.memory, "lock", take_late)
    assert lock_cluster(scene.environment(), SESSION_S).is_held()
    (reported,) = scene.recorder.of(LockAwaited)
    assert reported == LockAwaited(holder="Kafka cannot store the lock of the cluster yet", wait_s=75.0)


def _hide_holder(scene: Any, until_s: float) -> None:
    """Let the cluster name no holder of the lock before this time."""

    def refuse(call: Any) -> None:
        if call.method == "lock" and scene.memory.kafka.clock.monotonic() < until_s:
            raise UnnamedHolderError("cluster locked by a process that Kafka does not name yet")

    scene.faulty.before.append(refuse)


@pytest.mark.parametrize("named_after_s", [4.5, 35.0])
def test_a_holder_without_a_name_is_waited_for_until_it_has_one(scene: Any, named_after_s: float) -> None:
    """Without --wait too, at most for its session: a line says so, and a live holder with a name is busy at once."""
    scene.memory.connect("other").lock(LockRequest("kafkabal on two (process 9)", SESSION_S))
    _hide_holder(scene, named_after_s)
    with pytest.raises(BusyError, match="process 9"):
        lock_cluster(scene.environment(), SESSION_S)
    assert scene.memory.kafka.clock.monotonic() == pytest.approx(named_after_s, abs=1.0)
    (told,) = scene.recorder.of(LockAwaited)
    assert (told.holder, told.wait_s) == ("cluster locked by a process that Kafka does not name yet", SESSION_S + 10.0)


def test_a_holder_without_a_name_that_died_blocks_for_a_session_at_most(scene: Any) -> None:
    """When its session has expired the lock is acquired; a holder that still has no name then is reported as busy."""
    _hide_holder(scene, SESSION_S)
    assert lock_cluster(scene.environment(), SESSION_S).is_held()
    _hide_holder(scene, 1000.0)
    with pytest.raises(UnnamedHolderError):
        lock_cluster(scene.environment(), SESSION_S)
    assert scene.memory.kafka.clock.monotonic() == pytest.approx(2 * SESSION_S + 10.0, abs=1.0)


@pytest.mark.parametrize(("wait_s", "stops_at_s", "ends_at_s"), [(0.0, None, 0.0), (2.5, None, 2.5), (40.0, 3.5, 4.0)])
def test_waiting_for_the_lock_ends(scene: Any, wait_s: float, stops_at_s: float | None, ends_at_s: float) -> None:
    """When the time is up, or on a signal."""
    scene.memory.connect("other").lock(LockRequest("kafkabal on two (process 9)", SESSION_S))
    environment, clock = scene.environment(), scene.memory.kafka.clock
    if stops_at_s is not None:
        clock.at(stops_at_s, lambda: environment.stop.request(StopReason.TERMINATE))
    with pytest.raises(BusyError, match="process 9") as ended:
        lock_cluster(environment, SESSION_S, wait_s=wait_s)
    assert clock.monotonic() == ends_at_s
    assert isinstance(ended.value, StoppedWaitingError) is (stops_at_s is not None)


def test_a_stop_ends_the_wait_for_a_lock_that_kafka_cannot_grant_yet(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noticed at the next attempt, unless a run needs its lock to stop gracefully."""
    environment, take = scene.environment(), scene.memory.lock
    environment.stop.request(StopReason.TERMINATE)

    def take_late(request: LockRequest) -> Any:
        request.on_delay("Kafka cannot store the lock of the cluster yet", 75.0)
        return take(request)

    monkeypatch.setattr(scene.memory, "lock", take_late)
    with pytest.raises(StoppedWaitingError, match="stopped while waiting for the lock: Kafka cannot store"):
        lock_cluster(environment, SESSION_S)
    assert lock_cluster(environment, SESSION_S, until_stopped=False).is_held()


def test_one_lock_for_a_command_with_several_runs(scene: Any) -> None:
    """Acquired once, again after a run has released it, and released at the end; waiting as requested."""
    across = LockAcrossRuns(scene.environment())
    across.release()
    first = across.take()
    assert across.take() is first
    first.release()
    second = across.take()
    assert second is not first
    assert second.is_held()
    across.release()
    assert not second.is_held()
    other = scene.memory.connect("other").lock(LockRequest("two", SESSION_S))
    with pytest.raises(BusyError):
        across.take()
    scene.memory.kafka.clock.at(scene.memory.kafka.clock.monotonic() + 5.0, other.release)
    assert LockAcrossRuns(scene.environment(lock_wait_s=10.0)).take().is_held()
