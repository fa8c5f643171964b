"""A run on a cluster with ZooKeeper, which keeps its lock."""

from __future__ import annotations

import pytest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.zookeeper.znode_lock import LOCK_PATH
from kafkabal.errors import BusyError
from tests.live.executor.stage import Stage


def test_killed_run_is_resumed(zookeeper_stage: Stage) -> None:
    """The lock is taken while it works; after a kill, another host ends the run once the session has expired, and
    undoes it."""
    stage = zookeeper_stage
    process = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    lock = f"cluster locked by kafkabal on one (process {process.popen.pid}, id "
    with pytest.raises(BusyError) as busy:
        stage.cluster.lock(LockRequest("a second one", stage.slow.session_s))
    assert busy.value.message.startswith(lock)
    process.kill()
    stage.finish("resume", host="two")
    stage.assert_as_planned()
    stage.finish("roll back", host="two")
    stage.assert_as_at_start()


def test_command(zookeeper_stage: Stage) -> None:
    """``rebalance --yes`` balances the cluster under a throttle, names the lock in use, and leaves no throttle."""
    stage = zookeeper_stage
    ended = stage.command("--yes", "--throttle", "20MB", "--tolerance", "0.3")
    assert ended.returncode == 0, ended.stderr
    assert f"zookeeper {LOCK_PATH}" in ended.stderr
    assert stage.placement() != stage.start
    stage.assert_clean()
