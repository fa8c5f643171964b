"""Fetches exact offset ranges of one topic: checks the topic's id, uses the nearest replica, returns committed records.

librdkafka reads partitions as streams: it seeks, then fetches ahead. A reader that needs blocks from all over a topic
requests exactly these bytes, several blocks in parallel, each on its own connection.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar
from uuid import UUID

from kafka.protocol.consumer import FetchRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Clock, SystemClock
from kafkabal.clusters.kafka.buffer_pool import BufferPool
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, OFFSET_NOT_AVAILABLE, OFFSET_OUT_OF_RANGE, check
from kafkabal.clusters.kafka.fetch_response import (
    NEWEST_VERSION,
    OLDEST_VERSION,
    PartitionResponse,
    TopicResponse,
    fetch_response,
    fetch_responses,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.clusters.kafka.lazy_records import LazyRecords
from kafkabal.clusters.kafka.leader_and_group_offsets import (
    EARLIEST,
    LATEST,
    PARTITIONS_A_REQUEST,
    leader_offsets,
    offsets_request,
)
from kafkabal.clusters.kafka.metadata import describe_topic
from kafkabal.clusters.kafka.overfetched_batch_cache import OverfetchedBatches
from kafkabal.clusters.kafka.record_batches import AT_ONCE_BYTES, MOST_UNPACKED_BYTES, BatchReader
from kafkabal.clusters.kafka.record_columns import RawRecord
from kafkabal.config import ConnectionSettings
from kafkabal.errors import DriftError, KafkabalError, NoResponseError, NotAuthorizedError, UnreachableError
from kafkabal.model import TopicPartition
from kafkabal.units import format_duration

T = TypeVar("T")

_READ_COMMITTED = 1
_NO_SESSION, _FINAL_EPOCH = 0, -1
# a broker holds a response back until it has a byte to send, but no longer than this
_WAIT_MS = 500
# fraction of the expected bytes: records of a block may be a little larger than the mean
_SPARE_FRACTION = 0.02
_MOST_BYTES = 2**31 - 1
"""The largest value of the request's field."""
_LEAST_BYTES = 65_536
"""Size of the first fetch, before the size of batches is known; a broker sends one whole batch in any case."""
_LEAST_THROTTLED_BYTES = 256 * 1024
"""Size limit of a response under a quota: of 4 MB/s, with a window of 1 to 2 s, less than a tenth stays unused."""
_GROWTH = 1.25
"""Growth of that limit with each response that is not throttled: back to 8 MiB after sixteen."""
_MUCH_LESS = 0.5
"""A log with less than this fraction of the expected bytes is compressed; what is above it are records of other sizes
than the mean."""
_RACK_REFRESH_S = 300.0
"""How long a reader with a rack uses the same replicas, like metadata.max.age.ms of Kafka's clients: one in its rack
may be in sync again, which no error reveals."""
_TIMEOUT_S = 60.0
"""How long an outage may last: a dead leader is replaced within half a minute (broker session 9 to 18 s); a training
run should wait rather than fail."""
_PATIENCE_S = 10.0
"""How long a broker may take for the first byte of a response, before the leader is looked up again and the wait is
warned of: a healthy one waits for half a second, and one that hangs has lost its leaderships after 9 s (the default of
broker.session.timeout.ms). A slow one gets twice the time at the next attempt."""
_QUOTA_WARNING_S = 60.0
"""How long a quota may hold records back before that is warned of."""


@dataclass(slots=True)
class FetchedRange:
    """Records of a range, and the cost of fetching them."""

    records: LazyRecords = field(default_factory=LazyRecords)
    """Those that were not passed on."""
    bytes_by_broker: dict[int, int] = field(default_factory=dict)
    """Bytes received over the network."""
    seconds_by_broker: dict[int, float] = field(default_factory=dict)
    """Seconds from request to response, and those for which a quota forbids the next request."""
    throttled_s: float = 0.0
    """The latter, since records came last."""
    log_bytes: int = 0
    """Size of all batches received, in the log."""
    compressed_bytes: int = 0
    """Size of the compressed records that were read."""
    unpacked_bytes: int = 0
    """Size of these records uncompressed."""
    held_bytes: int = 0
    """Memory of :attr:`records`."""
    count: int = 0
    """Number of records, those passed on included."""
    pass_on: Callable[[LazyRecords], None] | None = None
    """Takes records early if they take much memory."""

    @property
    def unpacking(self) -> float:
        """By which factor its records are larger uncompressed, 1 or more."""
        return max(1.0, self.unpacked_bytes / max(self.compressed_bytes, 1))

    def count_batches(self, reader: BatchReader) -> None:
        """Record the batches of a response."""
        self.log_bytes += reader.log_bytes
        self.compressed_bytes += reader.compressed_bytes
        self.unpacked_bytes += reader.unpacked_bytes
        self.held_bytes += reader.log_bytes + reader.held_bytes

    def add(self, records: LazyRecords) -> None:
        """Append records, and pass all on if they take much memory."""
        self.count += len(records)
        self.records.extend(records)
        if self.held_bytes >= AT_ONCE_BYTES:
            self.pass_on_all()

    def pass_on_all(self, records: LazyRecords | None = None) -> None:
        """Pass on what is held, and these records after it."""
        if self.pass_on is not None:
            if records is not None:
                self.count += len(records)
                self.records.extend(records)
            self.pass_on(self.records)
            self.records, self.held_bytes = LazyRecords(), 0

    def count_response(self, broker: int, size_bytes: int, seconds: float) -> None:
        """Record a response."""
        self.bytes_by_broker[broker] = self.bytes_by_broker.get(broker, 0) + size_bytes
        self.seconds_by_broker[broker] = self.seconds_by_broker.get(broker, 0.0) + seconds


@dataclass(frozen=True, slots=True)
class _Replica:
    """The broker that a partition is read from."""

    broker: int
    leader: int


@dataclass(slots=True)
class ReplicaLocations:
    """Where the partitions of a topic are read from, as one of several fetchers last looked up.

    Shared, since a broker that hangs is noticed only after a timeout of half a minute: otherwise every fetcher would
    wait for it in turn, though the first one has found the next leader.
    """

    replicas: dict[int, _Replica] = field(default_factory=dict)
    """By partition; empty after an error."""
    topic_id: UUID | None = None
    since_s: float = math.inf
    """When they were looked up, by the clock of the fetchers."""


class _Silence:
    """How long the brokers have sent no records, and whether that is too long.

    An attempt counts no longer than a request may take: what exceeds that is time for which this process or the machine
    was suspended, as by a scheduler, a debugger or a laptop's lid, and no response could arrive.
    """

    def __init__(self, clock: Clock, attempt_s: float) -> None:
        self._clock = clock
        self._attempt_s = attempt_s
        self._lasted_s = 0.0
        self._is_told = False

    def attempt(self, ask: Callable[[], T]) -> T:
        """The result of ``ask``, whose time counts."""
        began_s = self._clock.monotonic()
        try:
            return ask()
        finally:
            took_s = self._clock.monotonic() - began_s
            self._lasted_s += min(took_s, self._attempt_s)
            self._is_told |= took_s > self._attempt_s + _PATIENCE_S  # suspended: not to be blamed on brokers

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)
        self._lasted_s += seconds

    @property
    def remaining_s(self) -> float:
        """Seconds until it is too long, never negative."""
        return max(0.0, _TIMEOUT_S - self._lasted_s)

    def warn(self, topic: str, error: KafkabalError) -> None:
        """Warn once, if it is long enough for a user to wonder."""
        if self._lasted_s >= _PATIENCE_S and not self._is_told:
            self._is_told = True
            rest = format_duration(round(self.remaining_s))
            warnings.warn(f"topic {topic}: {error.message}; retrying for up to {rest}", stacklevel=2)


class _FetchResponses:
    """Receives responses into reused memory."""

    def __init__(
        self, pool: BufferPool, decode: Callable[[memoryview, int], PartitionResponse | TopicResponse]
    ) -> None:
        self._pool = pool
        self.decode = decode
        self.first_byte_s = _PATIENCE_S

    def memory(self, size: int) -> memoryview:
        return self._pool.take(size)


class RangeFetcher:
    """Fetches offset ranges of one topic; for one thread, with its own connections.

    Parameters
    ----------
    settings
        How to reach the cluster.
    topic_id
        In Kafka's notation; if the topic was deleted and created again, it is refused.
    rack
        In-sync replicas in this rack are preferred to the leader (KIP-392).
    kept
        Cache for batches beyond the requested range; fetchers of one topic may share it.
    memory
        Buffers to receive responses in; fetchers may share it.
    located
        Where partitions are read from; fetchers of one topic should share it.
    on_located
        Called with the broker that each partition is read from, and every broker's rack, whenever these are looked up.
    is_pinned
        Whether a manifest pins what is read, which the error for a deleted topic says.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        topic: str,
        topic_id: str,
        *,
        rack: str | None = None,
        kept: OverfetchedBatches | None = None,
        memory: BufferPool | None = None,
        located: ReplicaLocations | None = None,
        on_located: Callable[[Mapping[int, int], Mapping[int, str | None]], None] = lambda *_: None,
        is_pinned: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        # how long a fetch takes depends on its size: the timeout of a broker is for requests about the cluster
        self._client = KafkaClient(replace(settings, broker_timeout_s=None), self._clock)
        self._request_timeout_s = settings.request_timeout_s
        self._topic = topic
        self._topic_id = topic_id
        self._rack = rack
        self._on_located = on_located
        self._is_pinned = is_pinned
        self._kept = kept or OverfetchedBatches(0)
        self._located = located or ReplicaLocations()
        memory = memory or BufferPool()
        self._responses = _FetchResponses(memory, fetch_response)
        self._responses_ahead = _FetchResponses(memory, fetch_responses)
        self._ahead: dict[tuple[int, int], tuple[int, PartitionResponse]] = {}
        """By partition and offset: what was requested together, and the broker that sent it."""
        self._ahead_seconds: dict[int, float] = {}
        """By broker: the time that took, which the next fetch counts."""
        self._batch_bytes = 0
        """Size of the largest batch so far."""
        self._log_fraction = 1.0
        """Bytes of the last response, relative to the expected size of its range: below 1 if that is the size of its
        records uncompressed. Without it, a topic compressed to a thirtieth was fetched 25 times."""
        self._log_fractions: dict[int, float] = {}
        """The same by partition: producers may compress differently."""
        self._most_bytes = _MOST_BYTES
        """Size limit of a response. A broker whose remaining quota is smaller than a response sends an empty one, and
        ignores the connection for a while: with blocks of 2.7 MB, a quota of 4 MB/s yielded 2.9 MB/s."""

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def racks(self) -> Mapping[int, str | None]:
        """Rack of every broker, by its id."""
        return {broker: node.rack for broker, node in self._client.nodes().by_id.items()}

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
        """All committed records at offsets ``begin`` to ``end - 1``, those of damaged batches included.

        Parameters
        ----------
        size_bytes
            Expected size of the range in the log, or uncompressed.
        pass_on
            Takes the records read so far, in order, whenever they take much memory; the result then has the rest.
        most
            Number of records that the range holds, if known: what follows the last one, such as aborted transactions,
            is not requested.

        Raises
        ------
        TooLargeUnpackedError
            If it takes more than 256 MiB uncompressed; with ``pass_on``, if a batch does.
        DriftError
            If the topic was deleted or created again, retention has deleted part of the range, or the log ends before
            the range does.
        UnreachableError
            If no replica responds within a minute.
        """
        got = FetchedRange(pass_on=pass_on, seconds_by_broker=self._ahead_seconds)
        self._ahead_seconds = {}
        at = begin
        expected_each_bytes = each_bytes = size_bytes / (end - begin)
        silence = self._silence()
        while at < end and (most is None or got.count < most):
            kept = self._kept.take(partition, at, end)
            if kept is not None:
                found, at = self._read(self._reader(partition, got), kept, at, end, got)
                got.add(found)
                continue
            stop = self._kept.next_after(partition, at, end)
            wanted = self._expected_bytes(partition, each_bytes * (stop - at))
            if each_bytes > expected_each_bytes:
                wanted = min(wanted, max(size_bytes, AT_ONCE_BYTES // 4))  # memory for the block, or one of usual size
            # the range may begin or end within a batch, and a truncated batch is sent again. A rest that follows whole
            # batches and is smaller than one is in a single batch, which a broker sends whole
            if at == begin or (stop == end and wanted > self._batch_bytes):
                wanted += self._batch_bytes
            throttled_s, log_bytes = got.throttled_s, got.log_bytes
            found, after = self._once(partition, at, stop, max(self._least_bytes, wanted), got, silence)
            got.add(found)
            if after > at:
                fraction = (got.log_bytes - log_bytes) / max(expected_each_bytes * (after - at), 1)
                # the rest is about as dense, also with what no manifest counts, such as aborted transactions: by the
                # expected size, 4 MB of which a fortieth were records took 114 responses instead of 2
                each_bytes = expected_each_bytes * max(1.0, fraction)
                self._log_fraction = fraction if fraction < _MUCH_LESS else 1.0
                self._log_fractions[partition] = self._log_fraction
            if after > at or got.throttled_s > throttled_s:
                silence = self._silence()
            elif not silence.remaining_s:
                raise UnreachableError(f"{self._topic}-{partition}: no data at offset {at}")
            else:  # a follower that lags, or the end of the log, where nothing comes however long one waits
                self._retried(partial(self._refuse_end, partition, at), silence)
            at = min(after, stop)
        return got

    def fetch_ahead(self, ranges: Sequence[tuple[int, int, int, int]]) -> None:
        """Request ranges of several partitions, those of one broker together; :meth:`fetch` then finds them here.

        What does not arrive, or not as a whole, is requested again by :meth:`fetch`, which also raises errors of single
        partitions.

        Parameters
        ----------
        ranges
            Partition, first offset, end and expected size of each, as for :meth:`fetch`; one per partition.

        Raises
        ------
        DriftError
            If the topic was deleted or created again.
        UnreachableError
            If a broker does not respond within a minute.
        """
        self._ahead.clear()
        missing = {each[0]: each for each in ranges if not self._kept.holds(each[0], each[1])}

        def ask() -> None:
            by_broker: dict[int, list[tuple[int, int, int, int]]] = {}
            for each in missing.values():
                by_broker.setdefault(self._replica(each[0]).broker, []).append(each)
            for broker, some in by_broker.items():
                self._fetch_together(broker, some)
                for each in some:
                    del missing[each[0]]

        self._retried(ask, self._silence())

    def _fetch_together(self, broker: int, ranges: Sequence[tuple[int, int, int, int]]) -> None:
        expected = [self._expected_bytes(partition, size) for partition, _, _, size in ranges]
        most = [max(self._least_bytes, size + self._batch_bytes) for size in expected]
        # the topic may have grown: then each partition could fill its limit with records that are not wanted
        total = min(sum(most), 2 * sum(expected) + max(_LEAST_BYTES, 2 * self._batch_bytes))
        asked = [(partition, begin, size) for (partition, begin, _, _), size in zip(ranges, most, strict=True)]
        asked_s = self._clock.monotonic()
        response: TopicResponse = self._patiently(
            partial(self._client.call_broker, broker, self._request(asked, total), in_place=self._responses_ahead),
            self._responses_ahead,
        )
        spent = FetchedRange(seconds_by_broker=self._ahead_seconds)
        spent.count_response(broker, 0, self._clock.monotonic() - asked_s)
        sent = {
            partition: found
            for partition, found in response.partitions.items()
            if found.error_code == NO_ERROR and found.records
        }
        first = next(iter(sent.values()), response.whole)
        self._fit_quota(first, total)
        self._wait_for_quota(first, broker, spent)
        self._ahead |= {(p, begin): (broker, sent[p]) for p, begin, _ in asked if p in sent}

    def follow(self, partition: int, begin: int, max_bytes: int) -> tuple[list[RawRecord], int]:
        """Records from ``begin`` on, up to about ``max_bytes``; and the offset to continue from.

        Raises
        ------
        RefusedByClusterError
            If a batch is damaged.
        """
        found, after = self._once(partition, begin, 2**63 - 1, max_bytes, FetchedRange(), self._silence())
        found.refuse_damaged(self._topic)
        return list(found), after

    def ranges(self) -> dict[int, tuple[int, int]]:
        """First offset and last stable offset of every partition.

        Raises
        ------
        UnreachableError
            If a leader does not respond within a minute.
        DriftError
            If it is no longer the same topic.
        """
        silence = self._silence()
        partitions = sorted(self._retried(self._locate, silence))
        found: dict[int, tuple[int, int]] = {}

        def ask() -> None:
            for leader, led in self._by_leader([p for p in partitions if p not in found]).items():
                for some in chunked(led, PARTITIONS_A_REQUEST):
                    found.update(self._ranges(leader, some))

        self._retried(ask, silence)
        return {p: found[p] for p in partitions}

    def local_starts(self) -> dict[int, int]:
        """First offset on the disk of each partition's leader: earlier records are only in remote storage (KIP-405).

        Partitions are missing if their leaders do not report it, as those before Kafka 3.4.

        Raises
        ------
        UnreachableError
            If a leader does not respond within a minute.
        """
        found: dict[int, int] = {}

        def ask() -> None:
            for leader, led in self._by_leader(sorted(self._locate())).items():
                keys = [TopicPartition(self._topic, p) for p in led]
                local = leader_offsets(self._client, leader, keys, self._client.deadline()).local_start
                found.update({key.partition: offset for key, offset in local.items()})

        self._retried(ask, self._silence())
        return found

    def _silence(self) -> _Silence:
        return _Silence(self._clock, self._request_timeout_s)

    def _by_leader(self, partitions: Sequence[int]) -> Mapping[int, list[int]]:
        led: dict[int, list[int]] = {}
        for partition in partitions:
            led.setdefault(self._replica(partition).leader, []).append(partition)
        return led

    def _ranges(self, leader: int, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        first, end = (self._offsets(leader, partitions, timestamp) for timestamp in (EARLIEST, LATEST))
        return {p: (first[p], end[p]) for p in partitions}

    def _offsets(self, leader: int, partitions: Sequence[int], timestamp: int) -> dict[int, int]:
        request = offsets_request(
            [(self._topic, [(p, timestamp) for p in partitions])],
            isolation_level=_READ_COMMITTED,
            timeout_ms=self._client.broker_timeout_ms,
        )
        offsets = {}
        deadline = self._client.deadline(self._responses.first_byte_s)
        response = self._patiently(partial(self._client.call_broker, leader, request, deadline), self._responses)
        for found in response.topics[0].partitions:
            check(found.error_code, f"ask for the offsets of {self._topic}-{found.partition_index}")
            offsets[found.partition_index] = found.offset
        return offsets

    def _once(
        self, partition: int, at: int, end: int, wanted: int, got: FetchedRange, silence: _Silence
    ) -> tuple[LazyRecords, int]:
        def ask() -> PartitionResponse:
            replica = self._replica(partition)
            asked_s = self._clock.monotonic()
            request = self._request([(partition, at, wanted)], wanted)
            response: PartitionResponse = self._patiently(
                partial(self._client.call_broker, replica.broker, request, in_place=self._responses), self._responses
            )
            got.count_response(replica.broker, len(response.records), self._clock.monotonic() - asked_s)
            self._fit_quota(response, wanted)
            self._wait_for_quota(response, replica.broker, got)
            return self._checked(response, partition, at, replica)

        ahead = self._ahead.pop((partition, at), None)
        if ahead is None:
            response = self._retried(ask, silence)
        else:
            broker, response = ahead
            got.count_response(broker, len(response.records), 0.0)
        reader = self._reader(partition, got, response.aborted)
        found, after = self._read(reader, response.records, at, end, got)
        self._batch_bytes = max(self._batch_bytes, reader.largest_bytes)
        for span in reader.outside:
            self._kept.put(partition, span, response.records, at, end)
        return found, after

    def _expected_bytes(self, partition: int, size_bytes: float) -> int:
        """Size in the log of records of this size, which may be that of them uncompressed."""
        return int(size_bytes * self._log_fractions.get(partition, self._log_fraction))

    @property
    def _least_bytes(self) -> int:
        return 0 if self._batch_bytes else _LEAST_BYTES

    def _patiently(self, ask: Callable[[], T], responses: _FetchResponses) -> T:
        """The result of ``ask``; the next request may take longer if this one does not respond."""
        try:
            found = ask()
        except NoResponseError:
            responses.first_byte_s = min(2 * responses.first_byte_s, self._request_timeout_s)
            raise
        responses.first_byte_s = _PATIENCE_S
        return found

    def _fit_quota(self, response: PartitionResponse, wanted: int) -> None:
        if not response.throttle_ms:
            self._most_bytes = min(_MOST_BYTES, int(self._most_bytes * _GROWTH))
        elif not response.records:
            self._most_bytes = max(_LEAST_THROTTLED_BYTES, min(self._most_bytes, wanted) // 2)

    def _wait_for_quota(self, response: PartitionResponse, broker: int, got: FetchedRange) -> None:
        """Wait until a broker takes requests again that sent nothing because of a quota: one sent before would time
        out."""
        if response.records or not response.throttle_ms:
            got.throttled_s = 0.0
            return
        seconds = response.throttle_ms / 1000
        self._clock.sleep(seconds)
        got.count_response(broker, 0, seconds)
        got.throttled_s += seconds
        if got.throttled_s >= _QUOTA_WARNING_S:
            warnings.warn(
                f"topic {self._topic}: broker {broker} sent nothing for a minute: a quota throttles this client "
                f"(client.id {self._client.settings.client_id})",
                stacklevel=2,
            )

    def _reader(self, partition: int, got: FetchedRange, aborted: Sequence[tuple[int, int]] = ()) -> BatchReader:
        if got.pass_on is None:
            return BatchReader(partition, aborted, room_bytes=MOST_UNPACKED_BYTES - got.unpacked_bytes)
        return BatchReader(partition, aborted, pass_on=got.pass_on_all)

    def _read(
        self, reader: BatchReader, packed: memoryview, at: int, end: int, got: FetchedRange
    ) -> tuple[LazyRecords, int]:
        try:
            found = reader.records(packed, at, end)
            got.count_batches(reader)
            return found
        except KafkabalError as error:
            raise type(error)(f"{self._topic}-{reader.partition}: {error.message}", hint=error.hint) from error

    def _request(self, asked: Sequence[tuple[int, int, int]], wanted: int) -> FetchRequest:
        """A request for partitions, each from an offset on and up to this many bytes, but no more than ``wanted``."""
        kind = FetchRequest.FetchTopic
        max_bytes = int(wanted * (1 + _SPARE_FRACTION))
        if max_bytes > self._most_bytes:
            # whole batches only: a partial one is useless
            max_bytes = self._most_bytes // max(1, self._batch_bytes) * self._batch_bytes or self._most_bytes
        partitions = [
            kind.FetchPartition(
                partition=partition,
                current_leader_epoch=-1,
                fetch_offset=at,
                last_fetched_epoch=-1,
                log_start_offset=-1,
                partition_max_bytes=min(max_bytes, int(size * (1 + _SPARE_FRACTION))),
            )
            for partition, at, size in asked
        ]
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=_READ_COMMITTED,
            session_id=_NO_SESSION,
            session_epoch=_FINAL_EPOCH,
            topics=[kind(topic=self._topic, topic_id=self._located.topic_id, partitions=partitions)],
            forgotten_topics_data=[],
            # the replica is chosen here: a leader with RackAwareReplicaSelector would answer a rack with the name of
            # another replica and no records, again and again
            rack_id="",
            min_version=OLDEST_VERSION,
            max_version=NEWEST_VERSION,
        )

    def _checked(self, response: PartitionResponse, partition: int, at: int, replica: _Replica) -> PartitionResponse:
        if response.error_code == OFFSET_OUT_OF_RANGE and replica.leader == replica.broker:
            first, end = self._ranges(replica.broker, [partition])[partition]
            if at < first:
                again = "pin it again" if self._is_pinned else "start again"
                raise DriftError(
                    f"{self._topic}-{partition}: offset {at} was deleted by retention (the log begins at {first})",
                    hint=f"raise retention.ms of the topic, or {again} to read what is left",
                )
            if at > end:
                raise self._beyond_end(partition, at, end)
        if response.error_code in (OFFSET_OUT_OF_RANGE, OFFSET_NOT_AVAILABLE):
            # a follower may lag slightly behind the end that its leader reported
            self._located.replicas[partition] = _Replica(replica.leader, replica.leader)
        check(
            response.error_code,
            f"read {self._topic}-{partition} from broker {replica.broker}",
            permission=f"Read on topic {self._topic}",
        )
        return response

    def _refuse_end(self, partition: int, at: int) -> None:
        """Raise a DriftError if the log ends at an offset that is to be read."""
        _, end = self._ranges(self._replica(partition).leader, [partition])[partition]
        if end <= at:
            raise self._beyond_end(partition, at, end)

    def _beyond_end(self, partition: int, at: int, end: int) -> DriftError:
        damaged = ", or the manifest is damaged" if self._is_pinned else ""
        return DriftError(
            f"{self._topic}-{partition}: offset {at} does not exist (the log ends at {end})",
            hint=f"the cluster has lost records, as after an unclean leader election{damaged}",
        )

    def _retried(self, ask: Callable[[], T], silence: _Silence) -> T:
        """The result of ``ask``, retried while brokers are down or leaders change."""
        for pause_s in pauses():
            try:
                return silence.attempt(ask)
            except (DriftError, NotAuthorizedError):
                raise
            except KafkabalError as error:
                if silence.remaining_s < pause_s:
                    raise UnreachableError(
                        f"cannot read topic {self._topic}: {error.message}",
                        hint=error.hint or "check the brokers with 'kafkabal inspect'",
                    ) from error
                silence.warn(self._topic, error)
            silence.pause(pause_s)
            self._located.replicas = {}
        raise AssertionError  # the pauses never end

    def _replica(self, partition: int) -> _Replica:
        """Where a partition is read from; looked up again after an error, and in time if a rack is preferred."""
        if self._rack is not None and self._clock.monotonic() - self._located.since_s > _RACK_REFRESH_S:
            self._locate()
        known = self._located.replicas.get(partition) or self._locate().get(partition)
        if known is None and self._is_pinned:  # a topic never loses partitions
            raise DriftError(
                f"topic {self._topic} has no partition {partition}, which the manifest lists",
                hint="pin it again: remove the manifest and the state",
            )
        if known is None:
            raise UnreachableError(f"no broker knows {self._topic}-{partition}")
        return known

    def _locate(self) -> Mapping[int, _Replica]:
        """Look up the topic's id and the location of its replicas."""
        described = describe_topic(self._client, self._topic, self._client.deadline())
        when = "since it was pinned" if self._is_pinned else "while it was read"
        if described is None:
            raise DriftError(f"topic {self._topic} has been deleted {when}")
        if described.topic_id != self._topic_id:
            again = "pin it again: remove the manifest and the state" if self._is_pinned else "start again to read it"
            raise DriftError(
                f"topic {self._topic} has been deleted and created again {when} "
                f"(its id was {self._topic_id} and is {described.topic_id})",
                hint=again,
            )
        topic = self._client.metadata([self._topic]).topics[0]
        self._located.topic_id = topic.topic_id
        racks = self.racks()
        replicas = {}
        for p in topic.partitions:
            if p.leader_id < 0:
                check(p.error_code, f"find the leader of {self._topic}-{p.partition_index}")
            near = [b for b in p.isr_nodes if self._rack is not None and racks.get(b) == self._rack]
            chosen = p.leader_id if not near or p.leader_id in near else near[p.partition_index % len(near)]
            replicas[p.partition_index] = _Replica(chosen, p.leader_id)
        self._located.replicas, self._located.since_s = replicas, self._clock.monotonic()
        self._on_located({partition: replica.broker for partition, replica in replicas.items()}, racks)
        return replicas
