"""Snapshot files as written."""

import gzip
import json
import os
from pathlib import Path

import pytest

from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import OutputError
from kafkabal.testing import cluster_builders

CLUSTER = cluster_builders.cluster(
    cluster_builders.brokers(2, racks=2, dirs=2), [cluster_builders.topic("t", [1, 2], [2, 1], size_bytes=7)]
)
TEXT = """\
{"kafkabal_snapshot":1,"cluster_id":"simulated","taken_at":"2026-01-01T00:00:00Z"}
{"broker":1,"rack":"r0","host":"b1","port":9092,"log_dirs":[{"path":"/d0","total_bytes":1000000000000,\
"usable_bytes":1000000000000,"volume":"0"},{"path":"/d1","total_bytes":1000000000000,"usable_bytes":1000000000000,\
"volume":"1"}]}
{"broker":2,"rack":"r1","host":"b2","port":9092,"log_dirs":[{"path":"/d0","total_bytes":1000000000000,\
"usable_bytes":1000000000000,"volume":"0"},{"path":"/d1","total_bytes":1000000000000,"usable_bytes":1000000000000,\
"volume":"1"}]}
{"topic":"t","partitions":[{"partition":0,"leader":1,"replicas":[1,2],"isr":[1,2],"sizes":[7,7],"log_dirs":[0,0]},\
{"partition":1,"leader":2,"replicas":[2,1],"isr":[2,1],"sizes":[7,7],"log_dirs":[0,0]}]}
"""


def test_a_snapshot_is_written_one_line_a_broker_and_a_topic(tmp_path: Path) -> None:
    """Only known values are written, in the order of ids and names."""
    write_snapshot(CLUSTER, tmp_path / "s.jsonl")
    assert (tmp_path / "s.jsonl").read_text() == TEXT
    assert all(json.loads(line) for line in TEXT.splitlines())


def test_a_name_that_ends_in_gz_packs_it(tmp_path: Path) -> None:
    """Equal states give equal bytes: neither name nor time is in the compressed file."""
    for name in ("a.gz", "b.gz"):
        write_snapshot(CLUSTER, tmp_path / name)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == TEXT
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert read_snapshot(tmp_path / "a.gz").topics.name == ("t",)


def test_unknown_reassignments_stay_unknown(tmp_path: Path) -> None:
    """A snapshot of a cluster without a controller does not pass them off as none."""
    write_snapshot(CLUSTER.replace(reassignments_known=False), tmp_path / "s.jsonl")
    assert '"reassignments_known":false' in (tmp_path / "s.jsonl").read_text().splitlines()[0]
    assert not read_snapshot(tmp_path / "s.jsonl").reassignments_known
    assert read_snapshot(_written(tmp_path / "known.jsonl")).reassignments_known


def _written(path: Path) -> Path:
    write_snapshot(CLUSTER, path)
    return path


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_a_full_disk_leaves_the_old_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The previous file is unchanged, and no partial file is left next to it."""
    path = tmp_path / name
    path.write_text("old")

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OutputError, match="cannot write: No space left on device"):
        write_snapshot(CLUSTER, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [name]
