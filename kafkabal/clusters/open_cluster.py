"""Opens a cluster from its address: the only module that knows all back ends."""

from __future__ import annotations

from kafkabal.clusters.clock import Clock
from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.config import ClusterAddress, ConnectionSettings, SnapshotAddress


def connect(address: ClusterAddress, clock: Clock | None = None) -> Cluster:
    """Return the cluster at an address; its first call contacts brokers.

    Back ends are imported on demand: a snapshot needs no Kafka library.

    Raises
    ------
    InputFileError
        If a snapshot cannot be read.
    UnreachableError
        If ZooKeeper does not respond.
    ConfigError
        If the address of a bootstrap server is invalid, or a certificate cannot be used.
    """
    if isinstance(address, SnapshotAddress):
        from kafkabal.clusters.snapshot import SnapshotCluster

        return SnapshotCluster(address.path, save_to=address.save_to)
    if isinstance(address, ConnectionSettings):
        from kafkabal.clusters.kafka import KafkaCluster

        return KafkaCluster(address, clock)
    from kafkabal.clusters.zookeeper import ZookeeperCluster

    return ZookeeperCluster(address, clock)
