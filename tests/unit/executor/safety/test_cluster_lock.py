"""The lock of a host, and the fence before every effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.executor.safety.cluster_lock import Fence, FileLock, LockRegainedError, take_lock


def test_file_lock(tmp_path: Path) -> None:
    """The lock of a host keeps a second process out and names the first."""
    lock = FileLock(tmp_path / "lock", "kafkabal on one (process 7)")
    with pytest.raises(BusyError, match="process 7"):
        FileLock(tmp_path / "lock", "two")
    assert lock.is_held()
    lock.release()
    lock.release()
    FileLock(tmp_path / "lock", "two").release()


def test_lock_without_permission_is_one_of_the_host(scene: Any, tmp_path: Path) -> None:
    """If the cluster allows no lock, a lock of this host is used, and a message says so."""
    bare = InMemoryCluster(scene.memory.kafka, without=[Capability.LOCK])
    lock = take_lock(bare, "me", 30.0, tmp_path / "lock")
    assert lock.scope == "this host only"
    lock.release()


class _Lock:
    """A lock with scripted heartbeat ages."""

    scope = "test"

    def __init__(self, ages: list[float]) -> None:
        self.ages = ages

    def seconds_since_heartbeat(self) -> float:
        """The next age; the last one stays."""
        return self.ages.pop(0) if len(self.ages) > 1 else self.ages[0]

    def is_held(self) -> bool:
        """Always."""
        return True

    def release(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("ages", "raises"),
    [([1.0], None), ([16.0, 16.0, 1.0], LockRegainedError), ([16.0], UnreachableError)],
)
def test_fence(ages: list[float], raises: type[Exception] | None) -> None:
    """After a fresh heartbeat an effect passes; after an old one the lock is checked again, up to a deadline."""
    lock = _Lock(list(ages))
    fence = Fence(lock, lambda: lock, lambda: None, FakeClock(), session_s=30.0, give_up_s=60.0)
    if raises is None:
        fence.check()
    else:
        with pytest.raises(raises):
            fence.check()
