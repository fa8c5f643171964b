"""Makes a manifest of the current content of a topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from kafkabal.clusters import (
    ConfigResource,
    ConfigValue,
    Fault,
    PartitionStatus,
    ReplicaLog,
    ReplicaOn,
    ResourceKind,
    TopicDescription,
)
from kafkabal.clusters.kafka import LazyRecords
from kafkabal.config import ANSWER_S
from kafkabal.errors import NotAuthorizedError, UsageError, unknown_topic
from kafkabal.model import CLEANUP_POLICY, I64, TopicPartition
from kafkabal.reader.join_file_pieces import first_piece
from kafkabal.reader.manifest import LANES, CountedBlock, Manifest, PartitionRange, block_cuts, partition_groups
from kafkabal.reader.pin_whole_files import file_blocks
from kafkabal.reader.read_whole_topic import CountingListener, PartitionReaders, TopicFetcher, WholeReading

_USUAL_BYTES = 2**12
"""Of a record in a partition of unknown size: its first few records tell more, in a request with those of others."""
_PROBED = 64
"""Records read at either end of a partition: enough to detect pieces of files and markers of transactions."""
_LEAST_PROBED = 4
"""Minimum even if records are large: a few are enough to tell whether the last offsets hold records at all, and how
many more to read. Of 5 MB each, sixteen would be 80 MB of every partition."""
_PROBED_BYTES = 2 * 2**20
"""Limit at either end of a partition; 64 records of 100 kB each would be a twelfth of a topic of 600 MB."""
_PLACES_BETWEEN = 6
"""Places between both ends of a partition where a few records are read. From its ends alone, 2 GB of zeros between a
few images were taken for 13 MB, and a block was 83 MB; now for 2.6 GB, and 6 MB. With zeros at its end only, 76 MB were
taken for 312 MB, now for 78 MB."""
_MOST_PLACES_BETWEEN = 256
"""Of all partitions together: what thousands of them hold is known well enough from their ends, and each place takes
a request."""
_FEWER_BETWEEN = 8
"""By which factor fewer records are read there."""


class TopicReporter(Protocol):
    """Describes a topic of a live cluster; :class:`~kafkabal.clusters.kafka.cluster.KafkaCluster` does."""

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """A topic as described by some broker; None if it is unknown."""

    def topic_names(self) -> Collection[str]:
        """The topics that there are."""

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of each partition."""

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """Sizes of replicas, and which brokers did not respond."""

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Values of some keys, and the resources that did not respond."""


@dataclass(frozen=True, slots=True)
class _OffsetsAndSizes:
    """Offsets of the records of a partition, and the bytes of each."""

    offset: I64
    size: I64
    has_pieces: bool
    """Whether pieces of files are among them."""


class _Place(NamedTuple):
    """A few records of a partition that are read when it is pinned."""

    begin: int
    end: int
    stands_for: int
    """Number of records that are assumed to be like these."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What the records at a place tell."""

    stands_for: int
    has_gaps: bool
    """Whether offsets among them hold no record."""
    has_pieces: bool
    """Whether pieces of files are among them."""
    mean_bytes: float
    """Of a record uncompressed; 0 if there is none."""
    mean_log_bytes: float
    """Of a record in the log."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """What all places of a partition tell about it."""

    places: Sequence[_Found]

    @property
    def has_gaps(self) -> bool:
        """Whether offsets hold no record."""
        return any(place.has_gaps for place in self.places)

    @property
    def has_pieces(self) -> bool:
        """Whether pieces of files are in it."""
        return any(place.has_pieces for place in self.places)

    @property
    def unpacking(self) -> float:
        """By which factor its records are larger uncompressed: of all places together, since one that holds only zeros
        may be a thousand times as large, and such a partition would be cut into blocks of a record each."""
        log_bytes = sum(place.mean_log_bytes * place.stands_for for place in self.places)
        return sum(place.mean_bytes * place.stands_for for place in self.places) / log_bytes if log_bytes else 1.0

    @property
    def mean_bytes(self) -> float:
        """Of a record uncompressed; 1 if there is none."""
        found = [place for place in self.places if place.mean_bytes]
        stand_for = sum(place.stands_for for place in found)
        return sum(place.mean_bytes * place.stands_for for place in found) / stand_for if found else 1.0


def pin_topic(
    brokers: TopicReporter,
    fetcher: Callable[[str], TopicFetcher],
    topic: str,
    *,
    counting: CountingListener = lambda *_: None,
    lanes: int = LANES,
    count: bool | None = None,
    join: bool = True,
) -> Manifest:
    """Pin the current content of a topic.

    Parameters
    ----------
    fetcher
        Creates a fetcher for a topic id.
    counting
        Called while the whole topic is read, which takes as long as reading it for training.
    count
        Whether to read the topic once to find out which offsets hold records, and which hold pieces of files. None
        reads it if it is compacted, if some of the first or last 64 offsets of a partition hold no record (as after a
        transaction) or a piece, fewer if 64 records take more than 2 MiB, or some of eight at six places between.
    join
        Whether a file that was split (``produce --chunk``) is one sample.

    Raises
    ------
    UsageError
        If the topic is unknown or empty, or no file in it is whole.
    KafkabalError
        If the brokers do not respond, or refuse.
    """
    described = brokers.describe_topic(topic, ANSWER_S)
    if described is None:
        raise unknown_topic(topic, brokers.topic_names())
    with PartitionReaders(partial(fetcher, described.topic_id)) as readers:
        with readers.one() as reader:
            ranges, local_starts = reader.ranges(), reader.local_starts()
        filled = {p: r for p, r in ranges.items() if r[0] < r[1]}
        stored = _stored_bytes(brokers, topic, filled, local_starts)
        probed = _probe(readers, filled, stored | _estimated_bytes(readers, filled, stored))
        has_gaps = any(each.has_gaps for each in probed.values())
        # blocks are cut by the memory that they take
        sizes = {
            p: round(stored[p] * each.unpacking if p in stored else each.mean_bytes * (filled[p][1] - filled[p][0]))
            for p, each in probed.items()
        }
        counts = count or (count is None and (_is_compacted(brokers, topic) or has_gaps))
        reading = WholeReading(readers, filled, sizes, counting)
        splits = join and count is not False and any(each.has_pieces for each in probed.values())
        files = file_blocks(reading, topic, lanes) if splits else None
        found = None
        if counts and files is None:
            found = _read_offsets_and_sizes(reading)
            if join and any(f.has_pieces for f in found.values()):  # in the middle only; rare enough to read once more
                files = file_blocks(reading, topic, lanes)
        if files is not None or found is None:
            partitions = _dense_ranges(filled, sizes, lanes)
        else:
            partitions = _counted_ranges(filled, found, lanes)
    manifest = Manifest(
        cluster_id=described.cluster_id,
        topic=topic,
        topic_id=described.topic_id,
        lanes=lanes,
        partitions=partitions,
        files=files,
    )
    if not manifest.samples:
        raise UsageError(f"empty topic: {topic}", hint=f"kafkabal produce {topic} FOLDER")
    return manifest


def _dense_ranges(
    ranges: Mapping[int, tuple[int, int]], sizes: Mapping[int, int], lanes: int
) -> tuple[PartitionRange, ...]:
    partitions = list(ranges)
    records = [end - begin for begin, end in ranges.values()]
    found = []
    for members, blocks in partition_groups(records, [sizes[p] for p in partitions], lanes):
        for i in members:
            p, own = partitions[i], blocks if i == members[0] else 0
            begin, end = ranges[p]
            found.append(PartitionRange(partition=p, begin=begin, end=end, size_bytes=sizes[p], blocks=own))
    return tuple(found)


def _read_offsets_and_sizes(reading: WholeReading) -> dict[int, _OffsetsAndSizes]:
    return dict(zip(reading.ranges, map(_joined, reading.each(_offsets_and_sizes)), strict=True))


def _counted_ranges(
    ranges: Mapping[int, tuple[int, int]], found: Mapping[int, _OffsetsAndSizes], lanes: int
) -> tuple[PartitionRange, ...]:
    partitions = list(ranges)
    records = [len(f.offset) for f in found.values()]
    size_bytes = [int(f.size.sum()) for f in found.values()]
    counted = []
    for members, blocks in partition_groups(records, size_bytes, lanes):
        cuts, before = block_cuts(sum(records[i] for i in members), blocks), 0
        for i in members:
            p, own = partitions[i], blocks if i == members[0] else 0
            counted.append(_counted_range(p, ranges[p], found[p], own, cuts - before))
            before += records[i]
    return tuple(counted)


def _probe(
    readers: PartitionReaders, ranges: Mapping[int, tuple[int, int]], sizes: Mapping[int, int]
) -> dict[int, _Probe]:
    """What a few records of each partition tell: the last ones, the first ones, and some in between."""
    between = min(_PLACES_BETWEEN, _MOST_PLACES_BETWEEN // max(1, len(ranges)))
    places = {p: list(_places(begin, end, sizes[p], between)) for p, (begin, end) in ranges.items()}
    found: dict[int, list[_Found]] = {p: [] for p in ranges}
    for number in range(2 + between):  # not all of a partition together: a request takes one range of each
        asked = {p: each[number] for p, each in places.items() if number < len(each)}
        each_bytes = {p: sizes[p] / (end - begin) for p, (begin, end) in ranges.items()}
        for p, one in zip(asked, _probe_places(readers, asked, each_bytes), strict=True):
            found[p].append(one)
    return {p: _Probe(each) for p, each in found.items()}


def _places(begin: int, end: int, size_bytes: int, between: int) -> Iterator[_Place]:
    """The last records of a partition, the first ones where there are more, and those at so many places between."""
    count = end - begin
    few = min(count, max(_LEAST_PROBED, min(_PROBED, _PROBED_BYTES * count // max(size_bytes, 1))))
    if few * (between + 2) > count:
        between = 0
    yield _Place(end - few, end, few)
    if few < count:
        yield _Place(begin, begin + few, few)
    for number in range(between):
        at = begin + count * (2 * number + 1) // (2 * between)
        yield _Place(at, at + max(1, few // _FEWER_BETWEEN), (count - 2 * few) // between)


def _probe_places(
    readers: PartitionReaders, places: Mapping[int, _Place], each_bytes: Mapping[int, float]
) -> Iterator[_Found]:
    """What the records at a place of each partition tell, given the bytes of each record."""
    asked = {
        p: (p, place.begin, place.end, round(each_bytes[p] * (place.end - place.begin))) for p, place in places.items()
    }

    def look_at(reader: TopicFetcher, p: int) -> _Found:
        steps: list[_OffsetsAndSizes] = []

        def use(records: LazyRecords) -> None:
            steps.append(_offsets_and_sizes(p, records))

        fetched = reader.fetch(*asked[p], use)
        use(fetched.records)
        found, place = _joined(steps), places[p]
        mean_bytes = float(found.size.mean()) if len(found.size) else 0.0
        return _Found(
            stands_for=place.stands_for,
            has_gaps=len(found.offset) < place.end - place.begin,
            has_pieces=found.has_pieces,
            mean_bytes=mean_bytes,
            mean_log_bytes=mean_bytes / fetched.unpacking,
        )

    return readers.each(asked.values(), look_at)


def _counted_range(p: int, offsets: tuple[int, int], found: _OffsetsAndSizes, blocks: int, cuts: I64) -> PartitionRange:
    """The blocks of a partition, or its parts of blocks: each ends at the first record of the next.

    Parameters
    ----------
    cuts
        Where blocks begin and end, in records; those outside the partition are ignored.
    """
    count = len(found.offset)
    cut = np.concatenate(([0], cuts[(cuts > 0) & (cuts < count)], [count] if count else []))
    ends = [*found.offset[cut[1:-1]].tolist(), offsets[1]]
    before = np.concatenate(([0], np.cumsum(found.size)))
    counted = tuple(
        CountedBlock(end, int(last - first), int(before[last] - before[first]))
        for end, first, last in zip(ends, cut[:-1].tolist(), cut[1:].tolist(), strict=False)
    )
    return PartitionRange(
        partition=p,
        begin=offsets[0],
        end=offsets[1],
        size_bytes=int(found.size.sum()),
        blocks=blocks,
        counted=counted,
    )


def _offsets_and_sizes(_: int, records: LazyRecords) -> _OffsetsAndSizes:
    columns = records.columns()
    # a view would keep the received bytes
    return _OffsetsAndSizes(columns.offset.copy(), columns.size_bytes, first_piece(columns) is not None)


def _joined(steps: Sequence[_OffsetsAndSizes]) -> _OffsetsAndSizes:
    none = np.empty(0, np.int64)  # if reading was stopped
    return _OffsetsAndSizes(
        np.concatenate([none, *(s.offset for s in steps)]),
        np.concatenate([none, *(s.size for s in steps)]),
        any(s.has_pieces for s in steps),
    )


def _stored_bytes(
    brokers: TopicReporter, topic: str, ranges: Mapping[int, tuple[int, int]], local_starts: Mapping[int, int]
) -> dict[int, int]:
    """Bytes of partitions in the log, of which a log dir holds only what is not in remote storage: by the bytes per
    record in their leaders' log dirs. Those that are not accessible are missing."""
    leaders = {key: status.leader for key, status in brokers.partition_status([topic]).items()}
    try:
        logs, _ = brokers.replica_logs(set(leaders.values()) - {-1}, leaders.keys())
    except NotAuthorizedError:
        return {}
    by_leader = {on.partition: log.size_bytes for on, log in logs.items() if leaders.get(_key(on)) == on.broker}
    found = {}
    for p, (begin, end) in ranges.items():
        local_bytes, local_begin = by_leader.get(p), max(begin, local_starts.get(p, begin))
        if local_bytes and local_begin < end:
            found[p] = local_bytes * (end - begin) // (end - local_begin)
    return found


def _key(on: ReplicaOn) -> TopicPartition:
    return TopicPartition(on.topic, on.partition)


def _estimated_bytes(
    readers: PartitionReaders, ranges: Mapping[int, tuple[int, int]], known: Collection[int]
) -> dict[int, int]:
    """Bytes in the log of the other partitions, by those of their first few records."""
    count = {p: end - begin for p, (begin, end) in ranges.items() if p not in known}
    firsts = {p: _Place(ranges[p][0], ranges[p][0] + min(n, _LEAST_PROBED), n) for p, n in count.items()}
    found = zip(firsts, _probe_places(readers, firsts, dict.fromkeys(firsts, _USUAL_BYTES)), strict=True)
    return {p: max(1, round(first.mean_log_bytes * count[p])) for p, first in found}


def _is_compacted(brokers: TopicReporter, topic: str) -> bool:
    resource = ConfigResource(ResourceKind.TOPIC, topic)
    found, _ = brokers.configs([resource], [CLEANUP_POLICY])
    value = found.get(resource, {}).get(CLEANUP_POLICY)
    return value is not None and "compact" in (value.value or "")
