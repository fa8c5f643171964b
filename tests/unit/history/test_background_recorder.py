"""Background recording of history: it repeats, and no error disturbs the command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.simulated import InMemoryCluster
from kafkabal.errors import OutputError, UnreachableError
from kafkabal.history import background_recorder
from kafkabal.history.background_recorder import BackgroundRecorder
from kafkabal.history.history_files import HistoryFolder
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, for at most ten seconds."""
    end_s = time.monotonic() + 10
    while not condition() and time.monotonic() < end_s:
        time.sleep(0.01)
    assert condition()


def test_history_is_recorded_until_the_block_ends(tmp_path: Path) -> None:
    """A moment is recorded at each interval, and none after the block."""
    state = cluster(brokers(2), [topic("t", [1, 2])])
    folder, clock = HistoryFolder(tmp_path, state.cluster_id), iter(range(1_700_000_000, 1_800_000_000, 3600))
    with BackgroundRecorder(
        lambda: InMemoryCluster.of(state), tmp_path, lambda _: None, every_s=0.01, wall_clock=lambda: float(next(clock))
    ):
        wait_for(lambda: len(folder.times_s()) >= 3)
    left = len(folder.times_s())
    time.sleep(0.05)
    assert len(folder.times_s()) == left
    assert folder.read(folder.times_s()[:1])[0].topics == ("t",)


def test_a_failure_is_reported_once(tmp_path: Path) -> None:
    """An unreachable cluster is reported once, not every ten minutes."""
    said, tries = list[str](), list[None]()

    def connect() -> Cluster:
        tries.append(None)
        raise UnreachableError("cannot reach a:1")

    with BackgroundRecorder(connect, tmp_path, said.append, every_s=0.001):
        wait_for(lambda: len(tries) > 5)
    assert said == ["history not recorded: cannot reach a:1"]


def test_a_full_disk_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever files of history cannot be written: each has a name of its own."""
    state, said = cluster(brokers(2), [topic("t", [1, 2])]), list[str]()
    clock, tries = iter(range(1_700_000_000, 1_800_000_000, 3600)), list[Path]()

    def full(path: Path, **_: object) -> IO[bytes]:
        tries.append(path)
        raise OutputError(f"{path}: cannot write: No space left on device")

    monkeypatch.setattr("kafkabal.history.history_files.replacing", full)
    with BackgroundRecorder(
        lambda: InMemoryCluster.of(state), tmp_path, said.append, every_s=0.001, wall_clock=lambda: float(next(clock))
    ):
        wait_for(lambda: len(tries) > 5)
    assert len(set(tries)) == len(tries)
    assert said == [f"history not recorded: {tries[0]}: cannot write: No space left on device"]


def test_a_hanging_read_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block ends even if a reading never does."""
    monkeypatch.setattr(background_recorder, "_LEAVING_S", 0.01)
    hangs = threading.Event()

    def connect() -> Cluster:
        hangs.wait()
        raise UnreachableError("too late")

    with BackgroundRecorder(connect, tmp_path, lambda _: None):
        pass
    hangs.set()
