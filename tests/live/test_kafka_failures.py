"""Brokers that hang, disks that fail, brokers that die: each is reported as what it is, and the rest is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkabal.clusters.cluster_protocol import InFlight, NewTopic, Reading, ReadRequest, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.errors import NoResponseError, UnreachableError
from kafkabal.model.cluster_state import LogDirState
from kafkabal.model.replica_sizes import is_estimated, replica_bytes
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit, up

_eventually = WaitLimit(deadline_s=30.0).until
_TOPIC = "data"
_ASSIGNMENT = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 3, 2))
_DEADLINE_S = 3.0
_BRIEFLY = ReadRequest(deadline_s=_DEADLINE_S)


@pytest.fixture(scope="module")
def sandbox(sandbox_home: Path) -> Iterator[Sandbox]:
    """Three brokers that fail over quickly; the controllers are separate. Tests break them in turn."""
    spec = SandboxSpec(
        brokers=3,
        controllers=3,
        properties={"broker.session.timeout.ms": "3000", "replica.high.watermark.checkpoint.interval.ms": "300"},
    )
    with up(spec, f"failures-{os.getpid()}", home=sandbox_home) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(sandbox: Sandbox) -> Iterator[KafkaCluster]:
    """A client with a topic of four partitions on the first three brokers."""
    controllers = tuple(f"127.0.0.1:{node.main_port}" for node in sandbox.record.nodes if node.id > 100)
    servers = tuple(sandbox.bootstrap_servers.split(","))
    settings = ConnectionSettings(bootstrap_servers=servers, bootstrap_controllers=controllers, request_timeout_s=5.0)
    with KafkaCluster(settings) as made:
        assert made.create_topics([NewTopic(name=_TOPIC, assignment=_ASSIGNMENT)]) == {}
        assert _eventually(lambda: len(_known(made.read(ReadRequest()))) == 12)
        yield made


def _known(reading: Reading) -> list[int]:
    """Ids of the brokers of the replicas whose size is known."""
    replicas = reading.state.replicas
    known = ~is_estimated(reading.state)
    return [int(b) for b in reading.state.brokers.id[replicas.broker[known]]]


def test_controllers_that_are_no_brokers_are_not_listed(cluster: KafkaCluster) -> None:
    """Three separate processes vote; the cluster has three brokers."""
    assert cluster.read(ReadRequest()).state.brokers.id.tolist() == [1, 2, 3]


def test_a_broker_that_hangs_costs_its_deadline_and_is_named(cluster: KafkaCluster, sandbox: Sandbox) -> None:
    """The other brokers are shown in full; sizes of its replicas are estimated from other copies and marked."""
    sandbox.pause(2)
    try:
        reading = cluster.read(_BRIEFLY)
        assert [problem.broker for problem in reading.problems] == [2]
        assert f"did not respond within {_DEADLINE_S:g} s" in reading.problems[0].message
        assert set(_known(reading)) == {1, 3}
        assert (replica_bytes(reading.state) >= 0).all()
        found, faults = cluster.replica_logs([1, 2], [TopicPartition(_TOPIC, 0)])
        assert [replica.broker for replica in found] == [1]
        assert faults[2].retriable
    finally:
        sandbox.start(2)
    assert _eventually(lambda: len(_known(cluster.read(ReadRequest()))) == 12)


def test_controllers_that_hang_hide_only_reassignments(cluster: KafkaCluster, sandbox: Sandbox) -> None:
    """What brokers know is read within the deadline; a change ends after the time that one broker may take."""
    controllers = [node.id for node in sandbox.record.nodes if node.id > 100]
    sandbox.pause(*controllers)
    try:
        reading = cluster.read(ReadRequest(deadline_s=_DEADLINE_S, in_flight=InFlight.IF_KNOWN))
        assert len(_known(reading)) == 12
        assert (reading.problems, reading.state.reassignments_known) == ((), False)
        with pytest.raises(UnreachableError, match=f"no controller responded within {_DEADLINE_S:g} s"):
            cluster.read(_BRIEFLY)
        servers = tuple(sandbox.bootstrap_servers.split(","))
        with (
            KafkaCluster(ConnectionSettings(bootstrap_servers=servers, broker_timeout_s=1.0)) as brief,
            pytest.raises(NoResponseError, match="no controller responded within 1 s"),
        ):
            # a topic would be created once the controllers continue
            brief.create_topics([NewTopic(name="never", assignment=((1,),))], validate_only=True)
    finally:
        sandbox.start(*controllers)
    assert _eventually(lambda: cluster.reassignments() == {})


def test_planning_while_a_broker_hangs(cluster: KafkaCluster, sandbox: Sandbox) -> None:
    """The capacity of a broker that reports no log dirs is assumed, and the targets of the others stay finite."""
    sandbox.pause(2)
    try:
        state = cluster.read(_BRIEFLY).state
        plan = make_plan(state, PlanOptions(replication_factor=2))
        assert {len(change.replicas) for change in plan.partitions} == {2}
    finally:
        sandbox.start(2)
    assert _eventually(lambda: len(_known(cluster.read(ReadRequest()))) == 12)


def test_a_bootstrap_server_that_hangs_does_not_keep_a_new_client_out(sandbox: Sandbox) -> None:
    """The first address in the list may be the one that hangs."""
    sandbox.pause(1)
    try:
        settings = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))
        with KafkaCluster(settings) as another:
            # a busy machine may keep another broker silent for its session of three seconds
            assert _eventually(lambda: another.broker_ids() >= {2, 3})
    finally:
        sandbox.start(1)


def test_a_failed_disk_is_shown_with_its_replicas(cluster: KafkaCluster, sandbox: Sandbox) -> None:
    """The dir is offline, its replicas are known to be there, and nothing may move between the broker's dirs."""
    assert _eventually(lambda: len(_known(cluster.read(ReadRequest()))) == 12)
    before = cluster.read(ReadRequest()).state
    lost = sandbox.log_dirs(3)[0]
    replicas = before.replicas
    there = [row for row in range(len(replicas)) if before.log_dirs.path[replicas.log_dir[row]] == str(lost)]
    assert there
    lost.rename(lost.with_name("gone"))  # at once, since a folder that is still written to cannot be emptied
    lost.write_text("a file where a folder was")

    def is_offline() -> bool:
        dirs = cluster.read(ReadRequest()).state.log_dirs
        return bool(dirs.state[dirs.path.index(str(lost))] == LogDirState.OFFLINE)

    assert _eventually(is_offline)
    assert _eventually(lambda: not cluster.read(ReadRequest()).state.replicas.in_sync[there].any())
    # a busy machine may keep another broker silent for its session of three seconds
    assert _eventually(lambda: cluster.read(ReadRequest()).state.brokers.is_live.all())
    reading = cluster.read(ReadRequest())
    assert reading.problems == ()
    assert reading.state.replicas.size_bytes[there].tolist() == [-1] * len(there)
    assert {reading.state.log_dirs.path[d] for d in reading.state.replicas.log_dir[there]} == {str(lost)}
    healthy = reading.state.log_dirs.state != LogDirState.OFFLINE
    assert healthy.sum() == 5
    name, other = ReplicaOn(_TOPIC, 0, 3), str(sandbox.log_dirs(3)[1])
    assert cluster.move_log_dirs({name: other})[name].name == "KAFKA_STORAGE_ERROR"


def test_a_dead_broker_is_first_a_problem_and_then_dead(cluster: KafkaCluster, sandbox: Sandbox) -> None:
    """A dead broker is unreadable while it is registered, and known to be dead afterwards."""
    sandbox.kill(2)
    reading = cluster.read(_BRIEFLY)
    if reading.problems:  # unless its session expired before the first observation
        assert [problem.broker for problem in reading.problems] == [2]
        assert "connection refused" in reading.problems[0].message
    assert _eventually(lambda: cluster.broker_ids() == {1, 3})
    reading = cluster.read(_BRIEFLY)
    assert reading.problems == ()
    assert dict(zip(reading.state.brokers.id.tolist(), reading.state.brokers.is_live.tolist(), strict=True)) == {
        1: True,
        2: False,
        3: True,
    }
    of_the_dead = reading.state.replicas.broker == reading.state.brokers.index_of(2)
    assert is_estimated(reading.state)[of_the_dead].all()


def test_the_configs_of_a_dead_broker_are_changed_through_the_controllers(
    cluster: KafkaCluster, sandbox: Sandbox
) -> None:
    """A dead broker's throttle can be removed through the controllers (KIP-919), not through another broker."""
    rate, dead = "leader.replication.throttled.rate", ConfigResource(ResourceKind.BROKER, "2")
    if 2 in cluster.broker_ids():
        sandbox.kill(2)
        assert _eventually(lambda: 2 not in cluster.broker_ids())
    with KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))) as without:
        assert without.alter_configs([ConfigChange(dead, rate, "1000")])[dead].name == "unreachable"
    assert cluster.alter_configs([ConfigChange(dead, rate, "1000")]) == {}
    sandbox.start(2)
    assert _eventually(lambda: 2 in cluster.broker_ids())
    values, faults = cluster.configs([dead], [rate])
    assert faults == {}
    assert values[dead][rate].value == "1000"
    assert cluster.alter_configs([ConfigChange(dead, rate, None)]) == {}


def test_no_broker_at_all_is_reported_with_the_reason(sandbox: Sandbox) -> None:
    """If all brokers are gone there is one line with the reason, and nothing else is shown."""
    sandbox.kill(1, 2, 3)
    servers = tuple(sandbox.bootstrap_servers.split(","))
    with (
        KafkaCluster(ConnectionSettings(bootstrap_servers=servers, request_timeout_s=3.0)) as gone,
        pytest.raises(Exception, match="connection refused") as caught,
    ):
        gone.read(_BRIEFLY)
    assert type(caught.value).__name__ == "UnreachableError"
