"""Moments on disk: they are read as written, old ones are thinned, and no file content ends a command."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.history.history_files import HistoryFolder
from kafkabal.history.history_point import HistoryPoint, point_from_rows, point_of
from kafkabal.history.history_thinning import KEPT_S, kept, kept_within
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.units import DAY_S

HEAD = b'{"kafkabal_history":1,"cluster_id":"id","at_s":1}\n'


def a_point(at_s: float, size: int = 10) -> HistoryPoint:
    """Two partitions and a log dir."""
    columns = (np.array([0, 1]), np.array([size, -1]), np.array([7, -1]))
    return point_from_rows("id", at_s, [(1, "/d0", size)], [("t", "", *columns)])


def test_a_moment_survives_the_disk(tmp_path: Path) -> None:
    """Every column survives a write and a read, unknown values too."""
    state = cluster(brokers(3), [replace(topic("b", [1, 2], [2, 3]), topic_id="of b"), topic("a", [3, 1])])
    point = point_of(state, 1_700_000_000.25)
    folder = HistoryFolder(tmp_path, state.cluster_id)
    folder.record(point)
    (again,) = folder.read(folder.times_s())
    for name in ("cluster_id", "at_s", "topics", "topic_ids"):
        assert getattr(again, name) == getattr(point, name)
    for name in ("topic", "number", "size_bytes", "end_offset"):
        np.testing.assert_array_equal(getattr(again, name), getattr(point, name))
    assert again.used_bytes == point.used_bytes
    np.testing.assert_array_equal(again.rows_of(state), np.arange(len(state.partitions)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not packed",
        gzip.compress(b""),
        gzip.compress(b"{}\n"),
        gzip.compress(HEAD.replace(b":1,", b":99,", 1)),
        gzip.compress(HEAD.replace(b'"id"', b'"other"')),
        gzip.compress(HEAD.replace(b":1}", b":1e999}")),
        gzip.compress(HEAD + b'{"topic":"t","partitions":[0],"sizes":[],"end_offsets":[]}'),
        gzip.compress(HEAD + b'{"topic":"t","partitions":[0,0],"sizes":[1,1],"end_offsets":[1,1]}'),
        gzip.compress(HEAD + b'{"topic":"t","partitions":[-1],"sizes":[1],"end_offsets":[1]}'),
        gzip.compress(HEAD + 2 * b'{"topic":"t","partitions":[1],"sizes":[1],"end_offsets":[1]}\n'),
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"0" * 50_000_000),
        gzip.compress(HEAD)[:-9],
    ],
    # bytes would be file names, and compressed ones contain the time
    ids=range(14),
)
def test_a_hostile_file_is_skipped_and_named(tmp_path: Path, content: bytes) -> None:
    """Whatever a file contains, the others are read."""
    warnings: list[str] = []
    folder = HistoryFolder(tmp_path, "id", warnings.append)
    folder.record(a_point(1_700_000_100.0))
    (folder.path / "1700000000000.jsonl.gz").write_bytes(content)
    assert [point.at_s for point in folder.read(folder.times_s())] == [1_700_000_100.0]
    assert len(warnings) == 1
    assert "skipped" in warnings[0]


def test_unreadable_files_are_skipped_and_named(tmp_path: Path) -> None:
    """A folder, a dangling link and a pipe without a writer, named like our files, are skipped without delay."""
    warnings: list[str] = []
    folder = HistoryFolder(tmp_path, "id", warnings.append)
    folder.record(a_point(1_700_000_100.0))
    (folder.path / "1700000000000.jsonl.gz").mkdir()
    os.mkfifo(folder.path / "1700000000001.jsonl.gz")
    (folder.path / "1700000000002.jsonl.gz").symlink_to("nowhere")

    assert [point.at_s for point in folder.read(folder.times_s())] == [1_700_000_100.0]
    assert [text.split(": ")[-1] for text in warnings] == ["not a file; skipped"] * 2


def test_other_files_and_folders_stay(tmp_path: Path) -> None:
    """Only files with our names are read or removed; a cluster id cannot point outside the folder."""
    folder = HistoryFolder(tmp_path, "../../etc")
    assert folder.path.parent == tmp_path / "history"
    folder.path.mkdir(parents=True)
    (folder.path / "notes.txt").write_text("ours")
    (folder.path / "123.jsonl.gz").mkdir()
    assert folder.times_s() == []
    assert HistoryFolder(tmp_path, "nothing").read([1.0]) == []


def test_many_processes_record_at_once(tmp_path: Path) -> None:
    """Writers never damage each other's files, and thinning while others write is no error."""

    def record(first: int) -> None:
        folder = HistoryFolder(tmp_path, "id")
        for i in range(20):
            folder.record(a_point(1_700_000_000.0 + first + 4 * i))

    threads = [threading.Thread(target=record, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    warnings: list[str] = []
    folder = HistoryFolder(tmp_path, "id", warnings.append)
    assert len(folder.read(folder.times_s())) == len(folder.times_s()) > 4
    assert warnings == []


def test_thinning_is_bounded_and_leaves_no_large_gap() -> None:
    """Of six months with a moment every 5 minutes under 250 are kept, for 90 days, without wide gaps."""
    left: list[float] = []
    now_s = 0.0
    for step in range(int(200 * DAY_S / 300)):
        now_s = 1_700_000_000.0 + step * 300
        left.append(now_s)
        if step % 12 == 0:
            left = kept(left, now_s)
        assert now_s - left[0] <= KEPT_S + DAY_S
    left = kept(left, now_s)
    assert len(left) < 250
    assert left[-1] == now_s
    assert now_s - left[0] <= KEPT_S
    assert now_s - left[0] > 0.8 * KEPT_S
    gaps = np.diff(left)
    ages = now_s - np.array(left[:-1])
    assert (gaps <= np.maximum(ages / 3, 600)).all()


def test_bytes_are_bounded_too() -> None:
    """If moments are large, the closest ones are removed first; the newest and the oldest stay."""
    times = [1_700_000_000.0 + i * DAY_S for i in range(60)]
    left = kept_within([(t, 10) for t in times], times[-1], 100)
    assert len(left) == 10
    assert (left[0], left[-1]) == (times[0], times[-1])


def test_a_file_that_holds_another_time_than_its_name_says_is_skipped(tmp_path: Path) -> None:
    """In the order of names such a file would make the time between two moments negative: it is skipped and named."""
    warnings: list[str] = []
    folder = HistoryFolder(tmp_path, "id", warnings.append)
    folder.record(a_point(1_000.0)).rename(folder.record(a_point(2_000.0)).with_name(f"{3_000_000:013d}.jsonl.gz"))
    found = folder.read(folder.times_s())
    assert [point.at_s for point in found] == [2_000.0]
    assert len(warnings) == 1
    assert "its time is not that of its name; skipped" in warnings[0]


def test_a_clock_that_is_set_ahead_costs_no_history(tmp_path: Path) -> None:
    """Points of an hour a year ahead leave those of the week before; they go once 90 days of others have come."""
    folder, start_s = HistoryFolder(tmp_path, "id"), 1_700_000_000.0
    week = [start_s + day * DAY_S for day in range(7)]
    ahead = [week[-1] + 365 * DAY_S + minutes * 60 for minutes in range(60)]
    for at_s in (*week, *ahead):
        folder.record(a_point(at_s))
    assert folder.times_s()[:7] == week

    again = week[-1] + DAY_S
    folder.record(a_point(again))
    assert folder.times_s()[:8] == [*week, again]

    later = [ahead[-1] + day * DAY_S for day in range(92)]
    assert kept([*week, *later], later[-1])[0] in later
