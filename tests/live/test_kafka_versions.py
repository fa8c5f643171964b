"""What later versions of Kafka add: cordoned log dirs, share groups."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.cluster_protocol import NewTopic, ReadRequest
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.model.cluster_state import LogDirState
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit
from kafkabal.telemetry import with_rates

_eventually = WaitLimit(deadline_s=30.0).until


def test_cordoned_log_dirs_are_shown(newest_broker: Sandbox) -> None:
    """A cordoned dir (KIP-1066, Kafka 4.3) is marked, and one that is uncordoned is not."""
    sandbox = newest_broker
    cordoned = str(sandbox.log_dirs(1)[1])
    resource = ConfigResource(ResourceKind.BROKER, "1")
    with KafkaCluster(ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))) as cluster:

        def states() -> dict[str, int]:
            dirs = cluster.read(ReadRequest()).state.log_dirs
            return dict(zip(dirs.path, dirs.state.tolist(), strict=True))

        assert set(states().values()) == {LogDirState.ONLINE}
        assert cluster.alter_configs([ConfigChange(resource, "cordoned.log.dirs", cordoned)]) == {}
        assert _eventually(lambda: states()[cordoned] == LogDirState.CORDONED)
        assert sorted(states().values()) == [LogDirState.ONLINE, LogDirState.CORDONED]
        assert cluster.alter_configs([ConfigChange(resource, "cordoned.log.dirs", None)]) == {}
        assert _eventually(lambda: states()[cordoned] == LogDirState.ONLINE)


def test_a_drained_broker_is_cordoned(make_sandbox: Callable[..., Sandbox], tmp_path: Path) -> None:
    """Topics created after a drain avoid the broker (KIP-1066), which may be stopped; a rollback uncordons it."""
    sandbox = make_sandbox(SandboxSpec(brokers=4, kafka_version="4.4.0"), "drained")
    address = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))

    def run(*words: str) -> tuple[int, str]:
        err = io.StringIO()
        folders = {kind: tmp_path / kind for kind in ("config", "cache", "state")}
        context = CommandContext(stdout=io.StringIO(), stderr=err, environ={}, folders=folders)
        return main([*words, "--profile", str(sandbox.profile_path)], context), err.getvalue()

    with KafkaCluster(address) as cluster:

        def states() -> set[int]:
            state = cluster.read(ReadRequest()).state
            return set(state.log_dirs.state[state.log_dirs.broker == state.brokers.index_of(4)].tolist())

        assert cluster.create_topics([NewTopic(name="t", assignment=((1, 4), (4, 2)))]) == {}
        code, said = run("rebalance", "--yes", "--drain", "4", "--throttle", "50MB")
        assert code == 0, said
        assert "broker 4 is safe to stop" in said
        assert "not a voter of the controller quorum" in said
        assert _eventually(lambda: states() == {LogDirState.CORDONED})
        run_id = re.search(r"run (\d{8}T\d{6}-\w+)", said)
        assert run_id is not None, said
        assert run("rebalance", "rollback", run_id[1], "--yes")[0] == 0
        assert _eventually(lambda: states() == {LogDirState.ONLINE})


def test_share_groups_count_as_readers(newest_broker: Sandbox) -> None:
    """The acknowledged offsets of a share group (KIP-932) are read under its name, and count as bytes out."""
    sandbox = newest_broker
    servers = ("--bootstrap-server", sandbox.bootstrap_servers)
    request = ReadRequest(offsets=True, group_offsets=True)

    def read_records(number: int) -> None:
        tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
        limits = ("--max-messages", str(number), "--timeout-ms", "20000")
        sandbox.run_main(tool, *servers, "--topic", "t", "--group", "workers", *limits)

    with KafkaCluster(ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))) as cluster:
        assert cluster.create_topics([NewTopic(name="t", assignment=((1,),))]) == {}
        earliest = ("--add-config", "share.auto.offset.reset=earliest")
        group = ("--entity-type", "groups", "--entity-name", "workers")
        sandbox.run_main("org.apache.kafka.tools.ConfigCommand", *servers, "--alter", *group, *earliest)
        producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
        for _ in range(100):
            producer.produce("t", b"x" * 1000, partition=0)
        assert producer.flush(30) == 0

        def come_to() -> int:
            committed = cluster.read(request).state.committed
            mine = [i for i, g in enumerate(committed.group.tolist()) if committed.groups[g] == "workers"]
            return int(committed.offset[mine[0]]) if mine else -1

        read_records(40)
        assert _eventually(lambda: come_to() == 40)
        before = cluster.read(request).state
        read_records(30)
        assert _eventually(lambda: come_to() == 70)
        after = with_rates(before, cluster.read(request).state, 10.0, group_offsets=True)
        row = after.topics.name.index("t")
        (out,) = after.partitions.out_bytes_per_s[after.partitions.topic == row].tolist()
        assert 30 * 900 / 10 < out < 30 * 1200 / 10
