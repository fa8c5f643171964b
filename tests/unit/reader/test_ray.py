"""What tasks of Ray Data read: equal bytes, each record once, as Arrow tables."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kafkabal.clusters.kafka import LazyRecords
from kafkabal.errors import DriftError, RefusedByClusterError, UsageError
from kafkabal.reader.manifest import Manifest, PartitionRange, block_count
from kafkabal.reader.ray import as_table, block_runs, read_block_runs, read_topic
from tests.unit.reader.conftest import MemoryTopic, packed_headers


def _manifest(counts: list[int], record_bytes: int) -> Manifest:
    sizes = [n * record_bytes for n in counts]
    cuts = [block_count(n, s, 24) for n, s in zip(counts, sizes, strict=True)]
    ranges = (
        PartitionRange(partition=p, begin=0, end=n, size_bytes=s, blocks=k)
        for p, (n, s, k) in enumerate(zip(counts, sizes, cuts, strict=True))
    )
    return Manifest(cluster_id="c", topic="t", topic_id="i", partitions=tuple(ranges))


@pytest.mark.parametrize("tasks", [1, 2, 5, 16])
def test_tasks_get_equal_bytes_of_uneven_partitions(tasks: int) -> None:
    """One partition holds 70% of the bytes; tasks cut through it, and differ by a block at most."""
    manifest = _manifest([70_000, 10_000, 10_000, 10_000], 20_000)
    found = block_runs(manifest, tasks)
    sizes = [sum(run.size_bytes for run in task) for task in found]
    assert len(found) == tasks
    assert max(sizes) - min(sizes) <= 2 * manifest.blocks.size_bytes.max()
    covered = sorted((run.partition, run.begin, run.end) for task in found for run in task)
    for p, count in enumerate([70_000, 10_000, 10_000, 10_000]):
        mine = [(begin, end) for partition, begin, end in covered if partition == p]
        assert [begin for begin, _ in mine] == [0, *(end for _, end in mine[:-1])]
        assert mine[-1][1] == count


def test_a_small_topic_is_not_cut_to_pieces() -> None:
    """Below 64 MiB a task costs more than it gains."""
    assert len(block_runs(_manifest([1000, 1000], 1000), 64)) == 1


def test_each_record_is_in_one_table() -> None:
    """All tasks together read every record once; one that is missing is an error, so that a retry cannot differ."""
    topic = MemoryTopic([300, 41])
    manifest = topic.manifest()
    tables = [table for task in block_runs(manifest, 3) for table in read_block_runs(topic, "t", task, headers=False)]
    got = [(p, o) for table in tables for p, o in zip(*table.select([0, 1]).to_pydict().values(), strict=True)]
    assert sorted(got) == [(p, o) for p, n in ((0, 300), (1, 41)) for o in range(n)]
    missing = MemoryTopic([300, 41], missing=frozenset({(0, 9)}))
    with pytest.raises(DriftError, match="hold 299 records, not 300"):
        list(read_block_runs(missing, "t", block_runs(manifest, 1)[0], headers=False))


def test_a_damaged_batch_ends_a_read_task() -> None:
    """Ray has no samples to leave out, so what differs from what was sent is refused."""
    topic = MemoryTopic([300, 31])
    topic.damaged = {(0, 7)}
    with pytest.raises(RefusedByClusterError, match="t-0: offset 7: the batch is damaged"):
        list(read_block_runs(topic, "t", block_runs(topic.manifest(), 1)[0], headers=False))


def test_a_manifest_of_another_topic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would give the records of that topic."""
    for name in ("ray", "ray.data"):  # an extra that is not installed here
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(UsageError, match="the manifest is of topic t, not u"):
        read_topic("u", bootstrap_servers="nowhere:9092", manifest=MemoryTopic([3]).manifest())


def test_columns_hold_all_fields_of_a_record() -> None:
    """Absent and empty values stay apart, and a header that occurs twice is there twice."""
    headers = packed_headers([("a", b"1"), ("a", None)])
    (row,) = as_table(LazyRecords.of([(4, (7, 1000, None, b"", headers))]).columns(), headers=True).to_pylist()
    assert row == {
        "partition": 4,
        "offset": 7,
        "timestamp": 1000,
        "key": None,
        "value": b"",
        "headers": [{"name": "a", "value": b"1"}, {"name": "a", "value": None}],
    }


def test_header_names_need_not_be_utf_8() -> None:
    """Arrow refuses such text, and the whole task would fail because of one record."""
    headers = b"\x04\x04\xffa\x02" + b"1" + packed_headers([("é", b"2")])[1:]
    (row,) = as_table(LazyRecords.of([(4, (7, 1000, None, b"", headers))]).columns(), headers=True).to_pylist()
    assert row["headers"] == [{"name": "\ufffda", "value": b"1"}, {"name": "é", "value": b"2"}]
