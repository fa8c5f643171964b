"""Fetches exact offset ranges of one topic from its nearest replicas, and returns their committed records.

librdkafka reads partitions as streams: it seeks, then fetches ahead. A reader that needs blocks from all over a topic
requests exactly these bytes, several blocks in parallel, each on its own connection.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kafka.protocol.consumer import FetchRequest

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
from kafkabal.clusters.kafka.fetch_sizes import FetchSizes, with_spare
from kafkabal.clusters.kafka.fetched_range import FetchedRange
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.lazy_records import LazyRecords
from kafkabal.clusters.kafka.overfetched_batch_cache import OverfetchedBatches
from kafkabal.clusters.kafka.record_batches import AT_ONCE_BYTES, MOST_UNPACKED_BYTES, BatchReader
from kafkabal.clusters.kafka.record_columns import RawRecord
from kafkabal.clusters.kafka.topic_replicas import (
    READ_COMMITTED,
    Replica,
    ReplicaLocations,
    ResponseTimeout,
    Silence,
    TopicReplicas,
)
from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError, UnreachableError

_NO_SESSION, _FINAL_EPOCH = 0, -1
# a broker holds a response back until it has a byte to send, but no longer than this
_WAIT_MS = 500
_QUOTA_WARNING_S = 60.0
"""How long a quota may hold records back before that is warned of."""


class _FetchResponses(ResponseTimeout):
    """Receives responses into reused memory."""

    def __init__(
        self, pool: BufferPool, decode: Callable[[memoryview, int], PartitionResponse | TopicResponse], most_s: float
    ) -> None:
        super().__init__(most_s)
        self._pool = pool
        self.decode = decode

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
        self._topic = topic
        self._replicas = TopicReplicas(
            self._client,
            topic,
            topic_id,
            rack=rack,
            located=located or ReplicaLocations(),
            on_located=on_located,
            is_pinned=is_pinned,
            clock=self._clock,
            request_timeout_s=settings.request_timeout_s,
        )
        self._kept = kept or OverfetchedBatches(0)
        memory = memory or BufferPool()
        self._responses = _FetchResponses(memory, fetch_response, settings.request_timeout_s)
        self._responses_ahead = _FetchResponses(memory, fetch_responses, settings.request_timeout_s)
        self._ahead: dict[tuple[int, int], tuple[int, PartitionResponse]] = {}
        """By partition and offset: what was requested together, and the broker that sent it."""
        self._ahead_seconds: dict[int, float] = {}
        """By broker: the time that took, which the next fetch counts."""
        self._sizes = FetchSizes()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def racks(self) -> Mapping[int, str | None]:
        """Rack of every broker, by its id."""
        return self._replicas.racks()

    def ranges(self) -> dict[int, tuple[int, int]]:
        """See :meth:`TopicReplicas.ranges`."""
        return self._replicas.ranges()

    def local_starts(self) -> dict[int, int]:
        """See :meth:`TopicReplicas.local_starts`."""
        return self._replicas.local_starts()

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
        silence = self._replicas.silence()
        while at < end and (most is None or got.count < most):
            kept = self._kept.take(partition, at, end)
            if kept is not None:
                found, at = self._read(self._reader(partition, got), kept, at, end, got)
                got.add(found)
                continue
            stop = self._kept.next_after(partition, at, end)
            wanted = self._sizes.expected_bytes(partition, each_bytes * (stop - at))
            if each_bytes > expected_each_bytes:
                wanted = min(wanted, max(size_bytes, AT_ONCE_BYTES // 4))  # memory for the block, or one of usual size
            # the range may begin or end within a batch, and a truncated batch is sent again. A rest that follows whole
            # batches and is smaller than one is in a single batch, which a broker sends whole
            if at == begin or (stop == end and wanted > self._sizes.batch_bytes):
                wanted += self._sizes.batch_bytes
            throttled_s, log_bytes, compressed_bytes = got.throttled_s, got.log_bytes, got.compressed_bytes
            found, after = self._once(partition, at, stop, max(self._sizes.least_bytes, wanted), got, silence)
            got.add(found)
            if after > at:
                fraction = (got.log_bytes - log_bytes) / max(expected_each_bytes * (after - at), 1)
                # the rest is about as dense, also with what no manifest counts, such as aborted transactions: by the
                # expected size, 4 MB of which a fortieth were records took 114 responses instead of 2. The first batch
                # may begin before the range
                dense_bytes = got.log_bytes - log_bytes - self._sizes.batch_bytes
                each_bytes = max(expected_each_bytes, dense_bytes / (after - at))
                self._sizes.note_fraction(partition, fraction, is_packed=got.compressed_bytes > compressed_bytes)
            if after > at or got.throttled_s > throttled_s:
                silence = self._replicas.silence()
            elif not silence.remaining_s:
                raise UnreachableError(f"{self._topic}-{partition}: no data at offset {at}")
            else:  # a follower that lags, or the end of the log, where nothing comes however long one waits
                self._replicas.retried(partial(self._replicas.refuse_end, partition, at), silence)
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
                by_broker.setdefault(self._replicas.replica(each[0]).broker, []).append(each)
            for broker, some in by_broker.items():
                self._fetch_together(broker, some)
                for each in some:
                    del missing[each[0]]

        self._replicas.retried(ask, self._replicas.silence())

    def _fetch_together(self, broker: int, ranges: Sequence[tuple[int, int, int, int]]) -> None:
        sizes, total = self._sizes.sizes_together([(partition, size) for partition, _, _, size in ranges])
        asked = [(partition, begin, size) for (partition, begin, _, _), size in zip(ranges, sizes, strict=True)]
        asked_s = self._clock.monotonic()
        response: TopicResponse = self._responses_ahead.ask(
            partial(self._client.call_broker, broker, self._request(asked, total), in_place=self._responses_ahead)
        )
        spent = FetchedRange(seconds_by_broker=self._ahead_seconds)
        spent.count_response(broker, 0, self._clock.monotonic() - asked_s)
        sent = {
            partition: found
            for partition, found in response.partitions.items()
            if found.error_code == NO_ERROR and found.records
        }
        first = next(iter(sent.values()), response.whole)
        self._sizes.fit_quota(first, total)
        self._wait_for_quota(first, broker, spent)
        self._ahead |= {(p, begin): (broker, sent[p]) for p, begin, _ in asked if p in sent}

    def follow(self, partition: int, begin: int, max_bytes: int) -> tuple[list[RawRecord], int]:
        """Records from ``begin`` on, up to about ``max_bytes``; and the offset to continue from.

        Raises
        ------
        RefusedByClusterError
            If a batch is damaged.
        """
        found, after = self._once(partition, begin, 2**63 - 1, max_bytes, FetchedRange(), self._replicas.silence())
        found.refuse_damaged(self._topic)
        return list(found), after

    def _once(
        self, partition: int, at: int, end: int, wanted: int, got: FetchedRange, silence: Silence
    ) -> tuple[LazyRecords, int]:
        def ask() -> PartitionResponse:
            replica = self._replicas.replica(partition)
            asked_s = self._clock.monotonic()
            request = self._request([(partition, at, wanted)], wanted)
            response: PartitionResponse = self._responses.ask(
                partial(self._client.call_broker, replica.broker, request, in_place=self._responses)
            )
            got.count_response(replica.broker, len(response.records), self._clock.monotonic() - asked_s)
            self._sizes.fit_quota(response, wanted)
            self._wait_for_quota(response, replica.broker, got)
            return self._checked(response, partition, at, replica)

        ahead = self._ahead.pop((partition, at), None)
        if ahead is None:
            response = self._replicas.retried(ask, silence)
        else:
            broker, response = ahead
            got.count_response(broker, len(response.records), 0.0)
        reader = self._reader(partition, got, response.aborted)
        found, after = self._read(reader, response.records, at, end, got)
        self._sizes.note_batch(reader.largest_bytes)
        for span in reader.outside:
            self._kept.put(partition, span, response.records, at, end)
        return found, after

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
        max_bytes = self._sizes.limit(wanted)
        partitions = [
            kind.FetchPartition(
                partition=partition,
                current_leader_epoch=-1,
                fetch_offset=at,
                last_fetched_epoch=-1,
                log_start_offset=-1,
                partition_max_bytes=min(max_bytes, with_spare(size)),
            )
            for partition, at, size in asked
        ]
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=READ_COMMITTED,
            session_id=_NO_SESSION,
            session_epoch=_FINAL_EPOCH,
            topics=[kind(topic=self._topic, topic_id=self._replicas.topic_id, partitions=partitions)],
            forgotten_topics_data=[],
            # the replica is chosen here: a leader with RackAwareReplicaSelector would answer a rack with the name of
            # another replica and no records, again and again
            rack_id="",
            min_version=OLDEST_VERSION,
            max_version=NEWEST_VERSION,
        )

    def _checked(self, response: PartitionResponse, partition: int, at: int, replica: Replica) -> PartitionResponse:
        if response.error_code == OFFSET_OUT_OF_RANGE and replica.leader == replica.broker:
            self._replicas.refuse_out_of_range(partition, at, replica.leader)
        if response.error_code in (OFFSET_OUT_OF_RANGE, OFFSET_NOT_AVAILABLE):
            self._replicas.read_from_leader(partition, replica.leader)
        check(
            response.error_code,
            f"read {self._topic}-{partition} from broker {replica.broker}",
            permission=f"Read on topic {self._topic}",
        )
        return response
