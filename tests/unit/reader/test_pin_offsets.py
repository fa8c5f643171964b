"""Pinning: offsets, sizes, gaps, and one manifest for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import PartitionStatus, ReplicaLog, ReplicaOn, TopicDescription
from kafkabal.clusters.config_items import ConfigSource, ConfigValue
from kafkabal.clusters.kafka.fetched_range import FetchedRange
from kafkabal.clusters.kafka.lazy_records import LazyRecords
from kafkabal.clusters.kafka.record_columns import NO_HEADERS
from kafkabal.errors import InputFileError, UsageError
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.reader.log_counting import LoggedCounting
from kafkabal.reader.manifest import Manifest, PartitionRange, lanes_for, load_manifest, publish_manifest
from kafkabal.reader.pin_offsets import pin_topic
from kafkabal.reader.reader_shard import ReaderShard
from tests.unit.reader.conftest import MemoryTopic, packed_headers, places


class MemoryBrokers:
    """A cluster with one topic."""

    def __init__(self, topic: MemoryTopic, cleanup: str = "delete", exists: bool = True) -> None:
        self._topic = topic
        self._cleanup = cleanup
        self._exists = exists
        self.record_bytes = 10

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """The topic, where it exists."""
        described = TopicDescription(cluster_id="c", topic_id="i", partitions=len(self._topic.counts))
        return described if self._exists else None

    def topic_names(self) -> list[str]:
        """Two others."""
        return ["tt", "imagse"]

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Broker 1 leads all."""
        status = PartitionStatus(leader=1, replicas=(1,), isr=(1,))
        return {TopicPartition("t", p): status for p in range(len(self._topic.counts))}

    def replica_logs(self, brokers: Collection[int], partitions: Collection[TopicPartition]) -> Any:
        """Ten bytes a record, unless told otherwise."""
        logs = {
            ReplicaOn("t", p, 1): ReplicaLog(
                log_dir="/d", size_bytes=self.record_bytes * (n - self._topic.remote.get(p, 0))
            )
            for p, n in enumerate(self._topic.counts)
        }
        return logs, {}

    def configs(self, resources: Collection[Any], keys: Collection[str]) -> Any:
        """The cleanup policy."""
        return {r: {"cleanup.policy": ConfigValue(self._cleanup, ConfigSource.OWN)} for r in resources}, {}


def _pin(topic: MemoryTopic, *, count: bool | None = None, join: bool = True, **options: Any) -> Manifest:
    return pin_topic(MemoryBrokers(topic, **options), lambda _: topic, "t", lanes=6, count=count, join=join)


def test_a_dense_topic_is_three_numbers_a_partition() -> None:
    """Offsets and sizes are those of the brokers; partitions without records are left out; nothing is counted."""
    manifest = _pin(MemoryTopic([50, 0, 700]))
    assert [(p.partition, p.begin, p.end, p.size_bytes) for p in manifest.partitions] == [
        (0, 0, 50, 500),
        (2, 0, 700, 7000),
    ]
    assert manifest.is_dense
    assert manifest.samples == 750


def test_remote_records_count_like_those_on_disk() -> None:
    """Of a tiered topic log dirs hold the latest records only, or none: blocks by their bytes would be a hundred times
    as large as they should be."""
    topic = MemoryTopic([700, 700, 700], record_bytes=10)
    topic.remote = {1: 693, 2: 700}
    assert [p.size_bytes for p in _pin(topic).partitions] == [7000, 7000, pytest.approx(7000, rel=0.5)]


@pytest.mark.parametrize("are_log_dirs_told", [True, False])
def test_blocks_are_cut_by_the_memory_that_they_take(are_log_dirs_told: bool) -> None:
    """Those of a compressed topic have as many bytes uncompressed as others have in the log, whether brokers report
    its size or a reader estimates it."""
    topic = MemoryTopic([700])
    topic.unpacking = 20
    brokers = MemoryBrokers(topic)
    brokers.record_bytes = 10 if are_log_dirs_told else 0
    (pinned,) = pin_topic(brokers, lambda _: topic, "t", lanes=6).partitions
    read_bytes = 10 * 700 if are_log_dirs_told else 10 * 700 / topic.unpacking
    assert pinned.size_bytes == pytest.approx(topic.unpacking * read_bytes, rel=0.5)


def test_counting_holds_few_records_at_once_where_they_take_much_memory() -> None:
    """Records that are compressed better than the first and last ones suggest are counted all the same."""
    topic = MemoryTopic([700], missing=frozenset({(0, 350)}))
    whole = _pin(topic, count=True)
    topic.passed_on = 64
    assert _pin(topic, count=True) == whole
    assert whole.samples == 699


@pytest.mark.parametrize("are_log_dirs_told", [True, False])
def test_records_of_which_a_few_take_much_memory_are_pinned(are_log_dirs_told: bool) -> None:
    """As images of 5 MB that are all white: the first and last 64 are looked at as they are unpacked."""
    topic = MemoryTopic([700])
    topic.passed_on = 10
    brokers = MemoryBrokers(topic)
    brokers.record_bytes = 10 if are_log_dirs_told else 0
    pinned = pin_topic(brokers, lambda _: topic, "t", lanes=6)
    assert pinned.samples == 700
    assert pinned.size_bytes == pytest.approx(7000, rel=0.1)  # without headers, or with them


@pytest.mark.parametrize(
    ("cleanup", "missing"),
    [("compact", {(0, 3), (0, 4), (1, 0)}), ("delete", {(0, 99), (1, 29)}), ("delete", {(1, 29), (1, 7)})],
)
def test_gaps_are_counted(cleanup: str, missing: set[tuple[int, int]]) -> None:
    """A compacted topic, and one whose partitions end with a marker, is counted; every record is then read once."""
    topic = MemoryTopic([100, 30], missing=frozenset(missing))
    manifest = _pin(topic, cleanup=cleanup)
    assert not manifest.is_dense
    got = sorted(places(topic.sequence(ReaderShard(), manifest=manifest)))
    assert got == [(p, o) for p, n in enumerate(topic.counts) for o in range(n) if (p, o) not in missing]


def test_whoever_waits_for_a_whole_topic_learns_how_far_it_is() -> None:
    """A topic that is read to be pinned tells its listener the bytes read so far; a dense one is not read."""
    told: list[tuple[int, int]] = []
    topic = MemoryTopic([3000, 0, 70])
    pin_topic(MemoryBrokers(topic), lambda _: topic, "t", counting=lambda *at: told.append(at))
    assert told == []
    sizes = MemoryBrokers(topic, "compact")
    large = 2**20
    sizes.record_bytes = large
    pin_topic(sizes, lambda _: topic, "t", counting=lambda *at: told.append(at))
    assert (told[0], told[-1]) == ((0, 3070 * large), (3070 * large, 3070 * large))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 10


def test_a_topic_that_is_smaller_than_expected_is_counted_in_few_steps() -> None:
    """As if compressed a thousand times better than its ends: a step of 4 MiB would be four records each."""
    told: list[tuple[int, int]] = []
    topic = MemoryTopic([3000], missing=frozenset({(0, 1000)}))
    brokers = MemoryBrokers(topic)
    brokers.record_bytes = 2**20
    counted = pin_topic(brokers, lambda _: topic, "t", counting=lambda *at: told.append(at), count=True)
    assert counted.samples == 2999
    assert len(told) < 15


class _UnevenlyCompressed(MemoryTopic):
    """Records at some offsets take a thousandth of their bytes in the log."""

    def __init__(self, offsets: range) -> None:
        super().__init__([7000])
        self._offsets = offsets

    def fetch(self, partition: int, begin: int, *rest: Any, **options: Any) -> FetchedRange:
        self.unpacking = 1000 if begin in self._offsets else 1
        return super().fetch(partition, begin, *rest, **options)


@pytest.mark.parametrize(
    ("offsets", "least", "most"), [(range(6900, 7000), 1, 1.05), (range(100, 6900), 20, 1000), (range(0), 1, 1)]
)
def test_sizes_are_those_of_the_whole_partition_not_of_its_ends(offsets: range, least: float, most: float) -> None:
    """With zeros at its end its blocks would have a record each, and a request each; with zeros everywhere else, a
    block would have to be unpacked to a thousand times the memory of others."""
    topic = _UnevenlyCompressed(offsets)
    (pinned,) = _pin(topic).partitions
    assert 70_000 * least <= pinned.size_bytes <= 70_000 * most


def test_gaps_between_the_ends_of_a_partition_are_found() -> None:
    """As markers of transactions that were followed by other records: it is counted now, instead of failing later."""
    topic = MemoryTopic([7000], missing=frozenset((0, offset) for offset in range(1000, 5000, 5)))
    manifest = _pin(topic)
    assert not manifest.is_dense
    assert manifest.samples == 6200


def test_thousands_of_partitions_are_probed_at_their_ends_only() -> None:
    """Each further place would take a request of every partition."""
    few, many = MemoryTopic([1000] * 10), MemoryTopic([1000] * 300)
    _pin(few), _pin(many)
    assert (few.fetched_records, many.fetched_records) == (10 * (2 * 64 + 6 * 8), 300 * 2 * 64)


def test_counting_ends_where_it_is_interrupted() -> None:
    """Ctrl-C while a topic is counted ends after the request of each thread, not after its partition."""

    class Interrupting(MemoryTopic):
        """The first partition fails while the second is read."""

        def fetch(
            self,
            partition: int,
            begin: int,
            end: int,
            size_bytes: int,
            pass_on: Callable[[LazyRecords], None] | None = None,
            *,
            most: int | None = None,
        ) -> FetchedRange:
            if partition == 0 and size_bytes == 4 * 2**20:
                raise KeyboardInterrupt
            time.sleep(0.001)
            fetched = super().fetch(partition, begin, end, size_bytes, pass_on, most=most)
            return replace(fetched, bytes_by_broker={1: size_bytes})  # as large as was expected

    topic = Interrupting([100, 20_000])
    brokers = MemoryBrokers(topic, "compact")
    brokers.record_bytes = 2**20
    with pytest.raises(KeyboardInterrupt):
        pin_topic(brokers, lambda _: topic, "t", counting=lambda *_: None)
    assert topic.fetched_records < 10_000


def test_a_reader_that_counts_for_long_logs_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """One warning every ten seconds names the topic and the bytes, visible without any set-up of logging."""
    now = [0.0]
    counting = LoggedCounting("images", lambda: now[0])
    for second in range(26):
        now[0] = second
        counting(second * 10**9, 60 * 10**9)
    what = "topic images: reading all of it to count its records"
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", f"{what}: {done} of 55.9 GiB; a manifest file saves this next time")
        for done in ("9.31 GiB", "18.6 GiB")
    ]


@pytest.mark.parametrize("count", [None, True])
def test_small_partitions_are_probed_and_counted_together(count: bool | None) -> None:
    """Hundreds of partitions take some requests each, not one each; a large one takes its own, in steps."""
    topic = MemoryTopic([70 + p % 3 for p in range(300)], missing=frozenset({(7, 5)} if count else ()))
    manifest = _pin(topic, count=count)
    assert manifest.samples == sum(topic.counts) - bool(count)
    # the last records, the first ones, and all of them
    assert sum(topic.ahead) == 300 * (3 if count else 2)
    assert len(topic.ahead) == 2 * (3 if count else 2)
    large = MemoryTopic([10_000])
    _pin(large, count=count)
    assert not large.ahead


def test_partitions_of_unknown_size_are_probed_together() -> None:
    """Where log dirs must not be described, hundreds of partitions take some requests; their ends tell the sizes."""
    topic = MemoryTopic([700] * 300)
    for records in topic.records.values():
        records[:] = [(*record[:3], bytes(10 if record[0] < 350 else 30), record[4]) for record in records]
    brokers = MemoryBrokers(topic)
    brokers.record_bytes = 0
    manifest = pin_topic(brokers, lambda _: topic, "t", lanes=6)
    assert sum(topic.ahead) == 900
    assert len(topic.ahead) < 12
    assert {p.size_bytes for p in manifest.partitions} == {700 * (20 + len(NO_HEADERS))}


def test_counting_reads_a_topic_once() -> None:
    """Whether pieces of files are at its ends, or there are none; only where some are in the middle, it is read again
    to join them."""
    topic = MemoryTopic([5000, 3000], missing=frozenset({(0, 2500)}))
    manifest = _pin(topic, count=True)
    ends = 2 * (2 * 64 + 6 * 8)
    assert (manifest.samples, topic.fetched_records) == (7999, 7999 + ends)
    value = b"ab"
    for n in range(2):
        headers: list[tuple[str, bytes | None]] = [
            ("path", b"a"),
            ("sha256", sha256(value).hexdigest().encode()),
            ("chunk", b"%d/2" % (n + 1)),
        ]
        at = topic.records[0][1000 + n]
        topic.records[0][1000 + n] = (*at[:3], value[n : n + 1], packed_headers(headers))
    topic.fetched_records = 0
    joined = _pin(topic, count=True)
    assert (joined.samples, topic.fetched_records) == (7998, 2 * 7999 + ends)
    assert joined.files is not None
    assert _pin(topic, count=True, join=False).samples == 7999


def test_unknown_and_empty_topics_are_named() -> None:
    """One line each, exit code 2."""
    with pytest.raises(UsageError, match="unknown topic: 't'") as caught:
        _pin(MemoryTopic([5]), exists=False)
    assert caught.value.hint == "did you mean: tt"
    with pytest.raises(UsageError, match="empty topic: t"):
        _pin(MemoryTopic([0, 0]))


def test_the_first_of_many_ranks_writes_the_manifest(tmp_path: Path) -> None:
    """Ranks that pinned different offsets all go on with one of them."""
    path = tmp_path / "images.manifest"
    got: list[Manifest] = []
    pinned = [_pin(MemoryTopic([10 + rank])) for rank in range(8)]
    threads = [threading.Thread(target=lambda m=m: got.append(publish_manifest(m, path))) for m in pinned]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({m.identity for m in got}) == 1
    assert got[0].identity == load_manifest(path).identity
    assert [p.name for p in tmp_path.iterdir()] == ["images.manifest"]


def test_the_identity_is_that_of_the_content() -> None:
    """Equal topics have equal ones, a record more is another data set, and a file keeps it."""
    assert _pin(MemoryTopic([10])).identity == _pin(MemoryTopic([10])).identity
    assert _pin(MemoryTopic([10])).identity != _pin(MemoryTopic([11])).identity


def test_other_files_are_no_manifests(tmp_path: Path) -> None:
    """The path is named, and what is wrong."""
    path = tmp_path / "m"
    path.write_text('{"kafkabal_manifest": 2}')
    with pytest.raises(InputFileError, match="not a manifest"):
        load_manifest(path)


def test_lanes_are_a_multiple_of_the_readers() -> None:
    """So that pinning the topic fetches nothing twice."""
    assert [lanes_for(n) for n in (1, 4, 5, 24, 32, 64)] == [24, 24, 25, 24, 32, 64]


def test_sizes_of_a_huge_partition_do_not_overflow() -> None:
    """Ten million records a block times 100 TB are more than 63 bits."""
    huge = PartitionRange(partition=0, begin=0, end=10**12, size_bytes=10**14, blocks=10**5)
    manifest = Manifest(cluster_id="c", topic="t", topic_id="i", partitions=(huge,))
    assert set(manifest.blocks.size_bytes.tolist()) == {10**9}
