from .cluster import SnapshotCluster as SnapshotCluster
from .snapshot_reader import read_snapshot as read_snapshot
from .snapshot_writer import write_snapshot as write_snapshot
