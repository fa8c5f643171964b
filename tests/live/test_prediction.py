"""The time predicted before a run, compared with its time on real brokers under its throttle."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafkabal.clusters.cluster_protocol import Cluster, NewTopic, ReplicaOn
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Event, Started
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.sandbox import Sandbox, SandboxSpec
from tests.live.conftest import MakeSandbox

MB = 10**6
RECORD_BYTES = 10_000
OPTIONS = RunOptions(throttle=Throttle(bytes_per_s=8 * MB), limits=RunLimits(disk_fraction=1.0))


class _Prediction:
    """Listener that keeps what was predicted."""

    seconds: float | None = None

    def on_event(self, event: Event) -> None:
        """Keep the prediction."""
        if isinstance(event, Started):
            self.seconds = event.predicted_s


def _fill(sandbox: Sandbox, topic: str, partitions: int, partition_bytes: int) -> None:
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "acks": "all", "linger.ms": 50})
    for number in range(partitions * partition_bytes // RECORD_BYTES):
        producer.produce(topic, bytes(RECORD_BYTES), partition=number % partitions)
        if number % 1000 == 0:
            producer.flush()
    producer.flush()


def _placement(cluster: Cluster, name: TopicPartition, replicas: tuple[int, ...]) -> Placement:
    """The placement, once every broker reports it."""
    while len(logs := cluster.replica_logs(replicas, [name])[0]) < len(replicas):
        time.sleep(0.1)
    dirs = tuple(logs[ReplicaOn(*name, b)].log_dir for b in replicas)
    return Placement(replicas=replicas, leader=replicas[0], log_dirs=dirs)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("topic", "sources", "partition_bytes"),
    [
        pytest.param("predicted-skewed", ((1, 2, 3),) * 6, 8 * MB, id="all leaders on one broker"),
        pytest.param("predicted-spread", ((1, 2, 3), (2, 3, 1), (3, 1, 2)) * 4, 12 * MB, id="leaders spread"),
    ],
)
def test_a_run_takes_about_the_predicted_time(
    make_sandbox: MakeSandbox, tmp_path: Path, topic: str, sources: tuple[tuple[int, ...], ...], partition_bytes: int
) -> None:
    """If the throttle is the limit, a prediction is right within a factor of two, however busy this machine is."""
    listener, six_brokers = _Prediction(), make_sandbox(SandboxSpec(brokers=6))
    with connect(ConnectionSettings(bootstrap_servers=tuple(six_brokers.bootstrap_servers.split(",")))) as cluster:
        assert cluster.create_topics([NewTopic(name=topic, assignment=sources)]) == {}
        time.sleep(1.0)
        _fill(six_brokers, topic, len(sources), partition_bytes)
        changes = tuple(
            PartitionChange(
                topic=topic,
                partition=number,
                replicas=tuple(b + 3 for b in held),
                log_dirs=(ANY_DIR,) * len(held),
                previous=_placement(cluster, TopicPartition(topic, number), held),
            )
            for number, held in enumerate(sources)
        )
        environment = RunEnvironment(cluster=cluster, state_dir=tmp_path, listener=listener)
        result = apply(environment, Plan(partitions=changes, cluster_id=cluster.cluster_id()), OPTIONS)
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    assert listener.seconds is not None
    assert 0.5 <= listener.seconds / result.elapsed_s <= 2.0
