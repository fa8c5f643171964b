"""Sends every record of a source once, however often the run is interrupted or repeated.

``docs/produce.md`` says what is guaranteed, and on what conditions.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from functools import partial

import numpy as np
from confluent_kafka import KafkaError

from kafkabal.errors import OperationError
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.model import I64
from kafkabal.producer.acknowledged_records import AcknowledgedRecords
from kafkabal.producer.expected_bytes import ExpectedBytes
from kafkabal.producer.librdkafka_errors import error_of
from kafkabal.producer.progress_listener import DeliveryProgress
from kafkabal.producer.record_names import RECORD_HEADER, NameHeaders, record_names
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.records_in_flight import Acknowledged
from kafkabal.producer.same_topic_check import TopicGoneError
from kafkabal.producer.send_manifest import SendManifest
from kafkabal.producer.send_window import SendWindow
from kafkabal.producer.unsent_records import SendOutcome, UnsentRecords
from kafkabal.routing import PolicyFaultError
from kafkabal.sources import Block, Headers, Listing, RowChecksum, Source, UnfinishedRowError
from kafkabal.wording import counted_noun

# youngest generation of Python's cycle collector. A full collection takes 0.2 s with 100,000 records in flight, none of
# which is in a cycle; the few cycles come from readings of the cluster
_YOUNGEST_GENERATION = 1
_COLLECTION_S = 30.0
"""Only readings of the cluster create cycles, and six of them happen in this time."""
_CHECKPOINT_S = 1.0
"""A killed run resends at most this much; each checkpoint writes and syncs a file."""
_TOPIC_CHECK_S = 5.0
"""A topic that was deleted and re-created is noticed within this time; each check costs one request."""
_STOP_S = 3.0
"""Records in flight are acknowledged within this time unless the cluster is in trouble; an operator who stops the run
waits for it."""
_POLL_S = 0.1
"""While nothing else happens, a signal is handled within this time."""
_STALLED_S = 5.0
"""Without an acknowledgement for this long, records wait for something that an operator wants to know: brokers answer
within milliseconds, or a second when they are busy."""
_CONTINUE_HINT = "run the same command again to continue"


class SendRun:
    """One run over a source; continues from what a manifest records of earlier runs.

    Parameters
    ----------
    found
        Records that are in the topic but not in the manifest; see
        :func:`~kafkabal.producer.record_names.found_records`.
    expected
        Learns how far the run has come.
    resend
        Send files again if they changed since they were sent.
    same_topic
        Raises an error if the topic is no longer the one that the run began with.
    progressed
        Called about once a second.
    stalled
        Called with the partitions of records in flight after each five seconds without an acknowledgement.
    """

    def __init__(
        self,
        sender: RecordSender,
        source: Source,
        manifest: SendManifest,
        *,
        found: Mapping[int, int] | None = None,
        expected: ExpectedBytes | None = None,
        resend: bool = False,
        same_topic: Callable[[], None] = lambda: None,
        progressed: Callable[[DeliveryProgress], None] = lambda _: None,
        stalled: Callable[[Collection[int]], None] = lambda _: None,
        clock: Callable[[], float],
    ) -> None:
        self._sender = sender
        self._source = source
        self._manifest = manifest
        self._done = AcknowledgedRecords(manifest.through, manifest.offsets, found or {})
        self._outcome = SendOutcome()
        self._unsent = UnsentRecords(
            source, manifest, self._done, found=dict(found or {}), resend=resend, outcome=self._outcome
        )
        self._check_topic = same_topic
        self._progressed = progressed
        self._stalled = stalled
        self._clock = clock
        self._next_checkpoint_s = self._next_topic_check_s = self._acknowledged_at_s = clock()
        self._acknowledged = 0
        self._next_collection_s = clock() + _COLLECTION_S
        self._window = SendWindow(clock)
        self._expected = expected or ExpectedBytes(0)
        self._fault: KafkaError | None = None
        self._name = f"{manifest.header.id}/".encode()
        self._next_number = self._unsent.first_row
        self._handed_over = 0
        self._acknowledged_before = sender.deliveries.acknowledged
        self._finished_bytes = 0
        self._checksums: dict[int, str] = {}
        self._rows: deque[RowChecksum] = deque()

    def send(self, listing: Listing) -> SendOutcome:
        """Send what is not in the topic yet, and wait until it is acknowledged.

        Meanwhile Python's cycle collector is paused: with small records it takes a third of the time, and no record is
        in a cycle. Twice a minute the youngest generation is collected.

        Parameters
        ----------
        listing
            The current content of the source.

        Raises
        ------
        KafkabalError
            If a record failed, or the topic is gone; the message says how much was sent. The next run with the same
            manifest resumes there.
        """
        self._outcome.failures += listing.left_out
        self._manifest.mark_running()
        try:
            with cycle_collection_paused():
                self._unsent.reconcile(list(listing.parts))
                self._send_blocks()
                self._wait_for_acknowledgements(None)
            self._manifest.touch_parts(self._unsent.touched)
            self._check_topic()
        except TopicGoneError as error:
            raise self._with_progress(error) from error  # no more acknowledgements will arrive
        except (OperationError, PolicyFaultError) as error:
            self._wait_for_acknowledgements(_STOP_S)
            raise self._with_progress(self._cause_of(error)) from error
        except KeyboardInterrupt:
            # the next run sends what is queued; this one ends as early as it may
            self._sender.drop_queued()
            self._wait_for_acknowledgements(_STOP_S)
            raise
        except BaseException:
            self._wait_for_acknowledgements(_STOP_S)
            raise
        finally:
            self._checkpoint()
            if self._is_settled:
                self._manifest.mark_clean()
        self._outcome.sent = self._sent
        return self._outcome

    @property
    def _sent(self) -> int:
        return self._sender.deliveries.acknowledged - self._acknowledged_before

    @property
    def _is_settled(self) -> bool:
        """Whether ``through`` is complete; if not, the next run must search the topic again.

        Only this run knows of a record behind a gap: one that was read back, or acknowledged before another was
        dropped.
        """
        return not (
            self._sender.deliveries.in_flight
            or self._fault is not None
            or self._done.has_gaps
            or self._is_ahead_of_rows
        )

    @property
    def _is_ahead_of_rows(self) -> bool:
        """Whether rows that were found in the topic are still to be compared with those of the source; if this run
        ends before that, the next one must find them again."""
        return self._done.through > self._next_number and self._unsent.has_uncompared_rows(self._next_number)

    def _send_blocks(self) -> None:
        try:
            with closing(self._source.blocks(self._unsent.to_send())) as blocks:
                for block in blocks:
                    self._unsent.skipped_bytes += block.skipped_bytes
                    if block.failures:
                        self._unsent.give_up(block.failures)
                    unsent = self._unsent.of_block(block)
                    self._note_rows(block, unsent)
                    if block.numbers:
                        self._next_number = block.numbers[-1] + 1
                    if unsent.values:
                        self._await_room()
                        self._send_block(unsent)
                    else:
                        self._finish_block(unsent)
                    self._check_progress()
        except UnfinishedRowError as error:
            self._outcome.unfinished = error.message
        self._unsent.check_all_read(self._next_number)

    def _note_rows(self, block: Block, unsent: Block) -> None:
        """Keep the checksum of the rows up to the end of a block; and of those before its first unsent row, where
        ``through`` stands as long as that is not acknowledged."""
        if block.rows is None or block.rows_before is None:
            return
        if unsent.numbers and unsent.numbers[0] > block.numbers[0]:
            self._rows.append(block.rows_before(unsent.numbers[0]))
        self._rows.append(block.rows)

    def _await_room(self) -> None:
        """Wait for slow brokers, so that no record has to wait for long."""
        while not self._window.has_room(self._done.through, self._sender.deliveries.in_flight):
            self._sender.poll(_POLL_S)
            self._check_progress()

    def _send_block(self, block: Block) -> None:
        sizes, headers = self._add_names(block)
        self._expected.add(block.progress_bytes, int(sizes.sum()), skipped_bytes=self._unsent.skipped_bytes)
        before = self._sender.deliveries.handed_over
        try:
            self._sender.produce_many(
                block.values,
                sizes,
                keys=block.keys,
                headers=headers,
                name_of=block.name_of,
                on_acknowledged=partial(self._on_acknowledged, block),
                on_failed=self._on_failed,
            )
        finally:
            taken = self._sender.deliveries.handed_over - before
            self._handed_over += taken
            if block.rows_before is not None and taken < len(block):
                self._rows.insert(len(self._rows) - 1, block.rows_before(block.numbers[taken]))
            # the client has its own copy
            block.values, block.keys, block.headers, block.rows_before = [], None, None, None
            self._window.add(self._next_number, len(sizes), int(sizes.sum()))

    def _add_names(self, block: Block) -> tuple[I64, Sequence[Headers] | None]:
        """Bytes and headers of each record, including its name, by which a later run finds it."""
        sizes: I64 = np.array(block.sizes, np.int64)
        if not self._manifest.is_kept:
            return sizes, block.headers
        names = record_names(self._name, block.numbers)
        # names of a block are as long as the last one, or a digit shorter
        sizes += len(RECORD_HEADER) + len(names[-1])
        if block.headers is None:
            return sizes, NameHeaders(names)
        # new lists: those of the block go into the checksum of its rows
        named = zip(block.headers, names, strict=True)
        return sizes, [[*headers, (RECORD_HEADER, of_record)] for headers, of_record in named]

    def _on_acknowledged(self, block: Block, acknowledged: Acknowledged) -> None:
        """Note that the records of a block that were sent are in the topic."""
        self._done.acknowledge_all(block.numbers[: acknowledged.records], acknowledged.next_offsets)
        self._outcome.bytes_by_partition.update(acknowledged.value_bytes)
        if acknowledged.records == len(block):
            self._finish_block(block)

    def _finish_block(self, block: Block) -> None:
        self._finished_bytes += block.progress_bytes
        if self._manifest.is_kept:
            self._checksums.update(block.checksums)

    def _on_failed(self, error: KafkaError) -> None:
        self._fault = self._fault or error

    def _check_progress(self) -> None:
        """Stop at the first failed record; now and then write a checkpoint."""
        if self._fault is not None:
            raise error_of(self._fault, self._sender.topic)
        now = self._clock()
        self._check_stall(now)
        if now >= self._next_topic_check_s:
            self._next_topic_check_s = now + _TOPIC_CHECK_S
            self._check_topic()
        if now >= self._next_checkpoint_s:
            self._next_checkpoint_s = now + _CHECKPOINT_S
            self._sender.poll()  # with few records, the producer's own calls do not serve delivery reports in time
            self._checkpoint()

    def _check_stall(self, now_s: float) -> None:
        deliveries = self._sender.deliveries
        if deliveries.acknowledged != self._acknowledged or not deliveries.in_flight:
            self._acknowledged, self._acknowledged_at_s = deliveries.acknowledged, now_s
        elif now_s - self._acknowledged_at_s >= _STALLED_S:
            self._acknowledged_at_s = now_s
            self._stalled(self._sender.waiting_partitions)

    def _checkpoint(self) -> None:
        if not self._is_ahead_of_rows:
            rows = None
            while self._rows and self._rows[0].rows <= self._done.through:
                rows = self._rows.popleft()
            checksums, self._checksums = self._checksums, {}
            self._manifest.checkpoint(self._done.through, self._done.offsets, checksums, rows)
        self._done.mark(self._next_number)
        if (now_s := self._clock()) >= self._next_collection_s:
            self._next_collection_s = now_s + _COLLECTION_S
            gc.collect(_YOUNGEST_GENERATION)
        self._progressed(
            DeliveryProgress(
                records=self._sent + self._outcome.already_there,
                bytes=self._finished_bytes + self._unsent.skipped_bytes,
                sent=self._sent,
                sent_bytes=sum(self._outcome.bytes_by_partition.values()),
                handed_over=self._handed_over,
                skipped_bytes=self._unsent.skipped_bytes,
            )
        )

    def _wait_for_acknowledgements(self, at_most_s: float | None) -> None:
        end = None if at_most_s is None else self._clock() + at_most_s
        while self._sender.deliveries.in_flight and (end is None or self._clock() < end):
            self._sender.poll(_POLL_S)
            if end is None:
                self._check_progress()
        if end is None:
            self._check_progress()

    def _cause_of(self, error: OperationError | PolicyFaultError) -> OperationError | PolicyFaultError:
        """The cause that ended the run: librdkafka may notice first that the topic is gone, and calls it unknown."""
        if type(error) is OperationError:
            try:
                self._check_topic()
            except TopicGoneError as gone:
                return gone
        return error

    def _with_progress(self, cause: OperationError | PolicyFaultError) -> OperationError | PolicyFaultError:
        """The same error, extended by how far the run came and what to do next."""
        goes_on = self._manifest.is_kept and not isinstance(cause, TopicGoneError)
        hints = [cause.hint, _CONTINUE_HINT if goes_on else None]
        return type(cause)(
            f"{cause.message}; {counted_noun(self._sent, 'record')} sent by this run, "
            f"{self._outcome.already_there:,} already in the topic",
            hint="; then ".join(hint for hint in hints if hint) or None,
        )
