"""The sandbox is a real cluster that can be disturbed, found again and removed without a trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from kafkabal.errors import OperationError, UsageError
from kafkabal.sandbox import (
    NodeState,
    Sandbox,
    SandboxSpec,
    WaitLimit,
    find_sandbox,
    list_sandboxes,
    sandboxes_up,
    up,
)

MakeSandbox = Callable[..., Sandbox]


def test_brokers_register_with_their_racks_and_log_dirs(three_brokers: Sandbox) -> None:
    """Kafka itself reports the requested brokers, racks and log dirs."""
    with _admin(three_brokers.bootstrap_servers) as admin:
        brokers = admin.describe_cluster()["brokers"]
        log_dirs = admin.describe_log_dirs()
    assert {broker["broker_id"]: broker["rack"] for broker in brokers} == {1: "r0", 2: "r1", 3: "r2"}
    found = {path["log_dir"] for broker in log_dirs for path in broker["log_dirs"]}
    assert found == {str(path) for broker in (1, 2, 3) for path in three_brokers.log_dirs(broker)}


@pytest.fixture(scope="module")
def fresh_brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    """Three brokers for this file only."""
    with up(SandboxSpec(brokers=3), f"fresh-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


def test_idle_brokers_are_small(fresh_brokers: Sandbox) -> None:
    """An idle broker takes less than the promised 300 MB."""
    status = fresh_brokers.status()
    assert [node.state for node in status] == [NodeState.RUNNING] * 3
    assert all(node.rss_bytes is not None and node.rss_bytes < 300_000_000 for node in status)


def test_profile_gives_every_log_dir_a_volume_and_a_capacity_of_its_own(three_brokers: Sandbox) -> None:
    """The profile names the brokers, and no two log dirs share a volume."""
    profile = yaml.safe_load(three_brokers.profile_path.read_text(encoding="utf-8"))
    assert profile["bootstrap_servers"] == three_brokers.bootstrap_servers
    dirs = {str(path) for broker in (1, 2, 3) for path in three_brokers.log_dirs(broker)}
    assert {path for paths in profile["capacity"].values() for path in paths} == dirs
    volumes = [volume for paths in profile["volumes"].values() for volume in paths.values()]
    assert len(set(volumes)) == len(volumes) == len(dirs)


def test_kafkas_own_tools_run_against_it(three_brokers: Sandbox) -> None:
    """A topic created with one of Kafka's tools is seen by another."""
    made = three_brokers.kafka_tool(
        "TopicCommand", "--create", "--topic", "by-tool", "--partitions", "3", "--replication-factor", "2"
    )
    assert made.exit_code == 0, made.stderr
    described = three_brokers.kafka_tool("LogDirsCommand", "--describe", "--topic-list", "by-tool")
    report = json.loads(described.stdout.splitlines()[-1])
    partitions = [p for broker in report["brokers"] for d in broker["logDirs"] for p in d["partitions"]]
    assert len(partitions) == 6


def test_nodes_are_disturbed_and_brought_back(fresh_brokers: Sandbox) -> None:
    """Kill, pause and stop are visible in the status and to the cluster; a second up starts only what is missing."""
    sandbox = fresh_brokers
    sandbox.kill(3)
    sandbox.pause(2)
    assert _states(sandbox) == {1: NodeState.RUNNING, 2: NodeState.PAUSED, 3: NodeState.KILLED}
    steps: list[str] = []
    sandbox.start(1, 2, 3, on_step=steps.append)
    assert steps == ["resuming broker 2", "starting broker 3"]
    sandbox.kill(3)
    sandbox.stop(2)
    assert _states(sandbox)[2] is NodeState.STOPPED
    pid_before = _pids(sandbox)[1]

    again = up(None, sandbox.name, home=sandbox.folder.parent)

    assert set(_states(again).values()) == {NodeState.RUNNING}
    assert _pids(again)[1] == pid_before
    with _admin(again.bootstrap_servers) as admin:
        assert {broker["broker_id"] for broker in admin.describe_cluster()["brokers"]} == {1, 2, 3}
    pids = _pids(again).values()
    again.down()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not sandbox.folder.exists()


def test_up_refuses_another_shape_under_the_same_name(three_brokers: Sandbox) -> None:
    """An existing sandbox is not taken for one with another shape."""
    with pytest.raises(UsageError, match="already exists with other settings"):
        up(SandboxSpec(brokers=2), three_brokers.name, home=three_brokers.folder.parent)


def test_crash_of_the_tool_leaves_a_sandbox_that_is_found_and_removed(sandbox_home: Path) -> None:
    """A tool killed while brokers start leaves processes that another one finds and ends."""
    name = f"crashed-{os.getpid()}"
    script = (
        "import sys; from pathlib import Path; from kafkabal.sandbox import SandboxSpec, up\n"
        "up(SandboxSpec(brokers=2), sys.argv[1], home=Path(sys.argv[2]), on_step=lambda step: print(step, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script, name, str(sandbox_home)], stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        assert b"starting broker 1" in tool.stdout.readline()
        left = _wait_for_processes(name, sandbox_home)
        tool.send_signal(signal.SIGKILL)

    sandbox = find_sandbox(name, home=sandbox_home)
    assert _states(sandbox)[1] is NodeState.RUNNING
    sandbox.down()
    assert not any(psutil.pid_exists(pid) for pid in left)
    assert name not in [other.name for other in list_sandboxes(home=sandbox_home)]


def test_sandboxes_run_side_by_side(sandbox_home: Path, make_sandbox: MakeSandbox) -> None:
    """Two sandboxes started at the same moment share no port, and the end of one does not affect the other."""
    made: list[Sandbox] = []
    threads = [
        threading.Thread(target=lambda label=label: made.append(make_sandbox(SandboxSpec(brokers=1), label)))
        for label in ("left", "right")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left, right = made
    assert _ports(left).isdisjoint(_ports(right))
    latest_first = sorted(made, key=lambda sandbox: sandbox.record.created_at_s, reverse=True)
    profiles = [sandbox.profile_path for sandbox in latest_first]
    # there may be sandboxes of other tests
    assert [path for path in sandboxes_up(home=sandbox_home) if path in profiles] == profiles
    left.down()
    with _admin(right.bootstrap_servers) as admin:
        assert len(admin.describe_cluster()["brokers"]) == 1


def test_controllers_of_their_own_survive_the_loss_of_one(make_sandbox: MakeSandbox) -> None:
    """With three controllers one may die, and topics can still be created."""
    sandbox = make_sandbox(SandboxSpec(brokers=1, controllers=3), "quorum")
    sandbox.kill(101)
    with _admin(sandbox.bootstrap_servers) as admin:
        admin.create_topics({"after-the-loss": {"num_partitions": 1, "replication_factor": 1}})
        assert WaitLimit(10).until(lambda: "after-the-loss" in admin.list_topics())


def test_a_later_kafka_cordons_log_dirs(newest_broker: Sandbox) -> None:
    """With Kafka 4.3 a log dir can be cordoned (KIP-1066), and is described as such."""
    cordoned = str(newest_broker.log_dirs(1)[1])
    with _admin(newest_broker.bootstrap_servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", {"cordoned.log.dirs": cordoned})])
        assert WaitLimit(10).until(lambda: _cordoned(admin) == {cordoned})
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", {"cordoned.log.dirs": ""})])
        assert WaitLimit(10).until(lambda: _cordoned(admin) == set())


def test_a_failed_start_gives_the_reason_and_keeps_the_log(make_sandbox: MakeSandbox, sandbox_home: Path) -> None:
    """A bad setting is named in one line, no process is left, and the log is kept."""
    with pytest.raises(OperationError, match=r"broker 1 .* did not start: .*num\.io\.threads") as caught:
        make_sandbox(SandboxSpec(brokers=1, properties={"num.io.threads": "many"}), "bad")
    assert "\n" not in caught.value.message
    sandbox = find_sandbox(f"bad-{os.getpid()}", home=sandbox_home)
    assert _states(sandbox) == {1: NodeState.ENDED}
    assert str(sandbox.log(1)) in (caught.value.hint or "")


def test_a_broker_out_of_heap_exits_and_the_status_reports_it(make_sandbox: MakeSandbox, sandbox_home: Path) -> None:
    """A broker that needs more memory than its heap exits instead of lingering half dead."""
    too_much = {"log.cleaner.dedupe.buffer.size": str(1 << 30)}
    with pytest.raises(OperationError, match="OutOfMemoryError"):
        make_sandbox(SandboxSpec(brokers=1, heap_bytes=128 << 20, properties=too_much), "full")
    assert _states(find_sandbox(f"full-{os.getpid()}", home=sandbox_home)) == {1: NodeState.OUT_OF_MEMORY}


def _admin(servers: str) -> Any:
    return closing(KafkaAdminClient(bootstrap_servers=servers))


def _cordoned(admin: Any) -> set[str]:
    return {
        path["log_dir"] for broker in admin.describe_log_dirs() for path in broker["log_dirs"] if path["is_cordoned"]
    }


def _states(sandbox: Sandbox) -> dict[int, NodeState]:
    return {status.node.id: status.state for status in sandbox.status()}


def _pids(sandbox: Sandbox) -> dict[int, int]:
    return {status.node.id: status.pid for status in sandbox.status() if status.pid is not None}


def _ports(sandbox: Sandbox) -> set[int]:
    return {port for node in sandbox.record.nodes for port in node.ports.values()}


def _wait_for_processes(name: str, home: Path) -> set[int]:
    while not (pids := set(_pids(find_sandbox(name, home=home)).values())):
        pass
    return pids
