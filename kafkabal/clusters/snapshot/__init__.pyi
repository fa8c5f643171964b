from .cluster import SnapshotCluster as SnapshotCluster
from .import_kafka_tools import read_kafka_text as read_kafka_text
from .snapshot_reader import read_snapshot as read_snapshot
from .snapshot_writer import write_snapshot as write_snapshot
