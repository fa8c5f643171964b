"""Send every record of a source once, however often the run is interrupted or repeated.

What is promised, and what it rests on, stands in ``docs/produce.md``.
"""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from kafkabal.errors import OperationError
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.producer.delivery_ledger import DeliveryLedger
from kafkabal.producer.delivery_listener import DeliveryProgress
from kafkabal.producer.librdkafka_errors import error_of
from kafkabal.producer.record_names import RECORD_HEADER, record_names
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.records_in_flight import Acknowledged
from kafkabal.producer.same_topic_check import TopicGoneError
from kafkabal.producer.send_manifest import SendManifest
from kafkabal.routing import PolicyFaultError
from kafkabal.sources import Block, ChangedRowsError, Listing, Part, RowChecksum, Source, WantedRecords, printable
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

# generations of Python's search for cycles: the objects that came since the last one. It takes 0.2 s with 100,000
# records in flight, none of which is in a cycle; what is, comes from a few readings of the cluster
_YOUNG = 1
_COLLECTION_S = 30.0
"""Cycles come with readings of the cluster, of which there are six in this time."""
_CHECKPOINT_S = 1.0
"""How much a run that is killed sends once more at most; each one is a file written and synced."""
_SAME_TOPIC_S = 5.0
"""A topic that was deleted and created again is noticed within this time; the question costs a request."""
_LEAVING_S = 3.0
"""Acknowledgements of records in flight come within it unless the cluster is in trouble; an impatient operator waits
for it."""
_POLL_S = 0.1
_GO_ON = "run the same command again to continue"


@dataclass(slots=True, kw_only=True)
class SendOutcome:
    """What a run did."""

    sent: int = 0
    already_there: int = 0
    bytes_by_partition: Counter[int] = field(default_factory=Counter)
    """Values that this run sent."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Files that were not sent, and why."""
    changed: list[str] = field(default_factory=list)
    """Files that changed since an earlier run sent them; they are not sent again."""

    @property
    def is_complete(self) -> bool:
        """Whether every record of the source, as it is now, is in the topic."""
        return not self.failures and not self.changed


def has_other_rows(source: Source, manifest: SendManifest, parts: Iterable[Part]) -> bool:
    """Whether a file of rows no longer begins with the rows that were sent, as far as the manifest knows."""
    listed = list(parts)
    if source.is_stream or not manifest.through or not listed or listed[0].records >= 0:
        return False
    return manifest.rows is None or not source.begins_with(listed[0], manifest.rows)


class SendRun:
    """One run over a source, on top of what a manifest records of earlier ones.

    Parameters
    ----------
    found
        Records that were found in the topic though the manifest does not know them; see
        :func:`~kafkabal.producer.record_names.found_records`.
    resend
        Send files again that changed since they were sent.
    same_topic
        Raises an error if the topic is no longer the one that the run began with.
    progressed
        Called about once a second.
    """

    def __init__(
        self,
        producer: RecordSender,
        source: Source,
        manifest: SendManifest,
        *,
        found: Mapping[int, int] | None = None,
        resend: bool = False,
        same_topic: Callable[[], None] = lambda: None,
        progressed: Callable[[DeliveryProgress], None] = lambda _: None,
        clock: Callable[[], float],
    ) -> None:
        self._producer = producer
        self._source = source
        self._manifest = manifest
        self._found = dict(found or {})
        self._ledger = DeliveryLedger(manifest.through, manifest.offsets, self._found)
        self._resend = resend
        self._same_topic = same_topic
        self._progressed = progressed
        self._clock = clock
        self._next_checkpoint_s = self._next_same_topic_s = clock()
        self._next_collection_s = clock() + _COLLECTION_S
        self._fault: KafkaError | None = None
        self._name = f"{manifest.header.id}/".encode()
        self._given = 0
        self._handed_over = 0
        self._delivered_before = producer.deliveries.delivered
        self._sizes_bytes: Mapping[str, int] = {}
        self._done_bytes = 0
        self._skipped_bytes = 0
        self._touched: dict[int, Part] = {}
        self._checksums: dict[int, str] = {}
        self._rows: deque[RowChecksum] = deque()
        self._outcome = SendOutcome()

    def send(self, listing: Listing) -> SendOutcome:
        """Send what is not in the topic yet, and wait until it is acknowledged.

        Python's search for cycles among objects is paused meanwhile: it takes a third of the time of small records,
        none of which is in a cycle. What has come since is searched twice a minute.

        Parameters
        ----------
        listing
            What the source holds now.

        Raises
        ------
        KafkabalError
            If a record failed, or the topic is gone; the message says how much was sent. The next run with
            the same manifest resumes there.
        """
        listed = list(listing.parts)
        self._sizes_bytes = {part.name: part.size_bytes for part in listed}
        self._outcome.failures += listing.left_out
        self._manifest.mark_running()
        try:
            with cycle_collection_paused():
                self._reconcile(listed)
                self._send_blocks()
                self._wait_for_acknowledgements(None)
            self._manifest.touch_parts(self._touched)
            self._same_topic()
        except TopicGoneError as error:
            raise self._stopped(error) from error  # nothing will be acknowledged any more
        except (OperationError, PolicyFaultError) as error:
            self._wait_for_acknowledgements(_LEAVING_S)
            raise self._stopped(self._cause_of(error)) from error
        except KeyboardInterrupt:
            # the next run sends what waits in the queue; this one ends as soon as it may
            self._producer.drop_queued()
            self._wait_for_acknowledgements(_LEAVING_S)
            raise
        except BaseException:
            self._wait_for_acknowledgements(_LEAVING_S)
            raise
        finally:
            self._checkpoint()
            if self._is_settled:
                self._manifest.mark_clean()
        self._outcome.sent = self._sent
        return self._outcome

    @property
    def _sent(self) -> int:
        return self._producer.deliveries.delivered - self._delivered_before

    @property
    def _is_settled(self) -> bool:
        """Whether ``through`` is complete; if not, the next run must search the topic again.

        A record behind a gap, which a read-back has found or which was acknowledged before another was dropped, is
        known to this run only.
        """
        return not self._producer.deliveries.in_flight and self._fault is None and not self._ledger.has_gaps

    def _reconcile(self, now: list[Part]) -> None:
        """Make the manifest's list of files equal the source's: append what is new, give up what changed or went."""
        present = {part.name: part for part in now}
        known = set()
        void: list[int] = []
        for index, first, part in self._open_parts():
            current = present.get(part.name)
            if current == part or (current is None and self._is_sent(first, part)):
                known.add(part.name)
            elif current is not None and self._is_same_content(index, first, part, current):
                known.add(part.name)
                self._touched[index] = current
            elif current is not None and self._is_sent(first, part) and not self._resend:
                known.add(part.name)
                self._outcome.changed.append(printable(part.name))
            else:
                void.append(index)
        self._manifest.void_parts(void)
        self._manifest.add_parts(part for part in now if part.name not in known)
        for _, first, part in self._numbered_parts(void=True):
            self._finish(first, part)

    def _is_same_content(self, index: int, first: int, part: Part, current: Part) -> bool:
        """Whether a part with another time or size still has the content whose records are in the topic.

        Raises
        ------
        ChangedRowsError
            If the rows that are in the topic are no longer in the file.
        """
        if part.records < 0:
            if has_other_rows(self._source, self._manifest, [current]):
                raise ChangedRowsError(
                    self._source.name,
                    "changed: its beginning differs from the "
                    f"{counted_noun(self._manifest.through, 'row')} sent before",
                    hint="add --resend to send the whole file again, or start another record of sent rows with "
                    "--manifest FILE",
                )
            return True
        if not self._is_sent(first, part) or part.size_bytes != current.size_bytes:
            return False
        sent = self._manifest.checksums.get(index)
        return sent is not None and sent == self._source.checksum(current)

    def _send_blocks(self) -> None:
        with closing(self._source.blocks(self._wanted())) as blocks:
            for block in blocks:
                self._skip(block.skipped_bytes)
                if block.failures:
                    self._give_up(block.failures)
                if block.rows is not None:
                    self._rows.append(block.rows)
                unsent = self._unsent(block) if self._found else block
                if unsent.values:
                    self._send_block(unsent)
                else:
                    self._finish_block(unsent)
                self._look()

    def _wanted(self) -> Iterator[WantedRecords]:
        """What is to be read: parts, and rows of them, that are not known to be in the topic."""
        for index, first, part in self._open_parts():
            if self._is_sent(first, part):
                self._outcome.already_there += part.records
                # of what is there now: files that went since they were sent do not count
                self._skip(self._sizes_bytes.get(part.name, 0))
                continue
            rows = self._manifest.rows if part.records < 0 else None
            start = max(0, self._ledger.through - first) if rows is None else rows.rows
            self._outcome.already_there += start
            yield WantedRecords(index, first, self._touched.get(index, part), start, rows)

    def _unsent(self, block: Block) -> Block:
        """The block without records that were found in the topic.

        Raises
        ------
        ChangedRowsError
            If one that was found has another value now.
        """
        left = [at for at, number in enumerate(block.numbers) if not self._ledger.is_done(number)]
        for at, number in enumerate(block.numbers):
            if self._found.get(number, value := hash(block.values[at])) != value:
                raise ChangedRowsError(
                    block.name_of(at),
                    "is not the row that was sent before" if block.rows else "is not what was sent before",
                    hint="feed the same rows, or start another record of sent rows with --manifest FILE",
                )
        if len(left) == len(block):
            return block
        self._outcome.already_there += len(block) - len(left)
        if not left:
            self._skip(block.progress_bytes)
        return replace(
            block,
            numbers=[block.numbers[at] for at in left],
            values=[block.values[at] for at in left],
            sizes=[block.sizes[at] for at in left],
            keys=None if block.keys is None else [block.keys[at] for at in left],
            headers=None if block.headers is None else [block.headers[at] for at in left],
            name_of=lambda at: block.name_of(left[at]),
            progress_bytes=block.progress_bytes if left else 0,
        )

    def _give_up(self, failures: Iterable[tuple[WantedRecords, str]]) -> None:
        for wanted, why in failures:
            self._outcome.failures.append((printable(wanted.part.name), why))
            self._finish(wanted.first, wanted.part)
        self._manifest.void_parts([wanted.part_index for wanted, _ in failures])

    def _skip(self, n_bytes: int) -> None:
        self._done_bytes += n_bytes
        self._skipped_bytes += n_bytes

    def _send_block(self, block: Block) -> None:
        sizes = self._name_records(block)
        before = self._producer.deliveries.accepted
        try:
            self._producer.produce_many(
                block.values,
                sizes,
                keys=block.keys,
                headers=block.headers,
                name_of=block.name_of,
                on_acknowledged=partial(self._acknowledged, block),
                on_failed=self._failed,
            )
        finally:
            self._handed_over += self._producer.deliveries.accepted - before
            block.headers = None  # the client has its own copy
            self._given = block.numbers[-1] + 1

    def _name_records(self, block: Block) -> list[int]:
        """Give each record its name, by which a later run finds it; bytes of each record with it."""
        if not self._manifest.is_kept:
            return block.sizes
        name = self._name
        names = record_names(name, block.numbers)
        if block.headers is None:
            block.headers = [[(RECORD_HEADER, of_record)] for of_record in names]
        else:
            for headers, of_record in zip(block.headers, names, strict=True):
                headers.append((RECORD_HEADER, of_record))
        # names of a block are as long as the last, or a digit shorter
        name_bytes = len(RECORD_HEADER) + len(names[-1])
        return [size + name_bytes for size in block.sizes]

    def _acknowledged(self, block: Block, acknowledged: Acknowledged) -> None:
        """The first so many records of a block, which are all that were sent of it, are in the topic."""
        self._ledger.acknowledge_all(block.numbers[: acknowledged.records], acknowledged.next_offsets)
        self._outcome.bytes_by_partition.update(acknowledged.value_bytes)
        if acknowledged.records == len(block):
            self._finish_block(block)

    def _finish_block(self, block: Block) -> None:
        self._done_bytes += block.progress_bytes
        if self._manifest.is_kept:
            self._checksums.update(block.checksums)

    def _failed(self, error: KafkaError) -> None:
        self._fault = self._fault or error

    def _look(self) -> None:
        """Stop at the first record that failed; now and then record how far it is."""
        if self._fault is not None:
            raise error_of(self._fault, self._producer.topic)
        now = self._clock()
        if now >= self._next_same_topic_s:
            self._next_same_topic_s = now + _SAME_TOPIC_S
            self._same_topic()
        if now >= self._next_checkpoint_s:
            self._next_checkpoint_s = now + _CHECKPOINT_S
            self._producer.poll()  # of few records the producer itself is not called back in time
            self._checkpoint()

    def _checkpoint(self) -> None:
        rows = None
        while self._rows and self._rows[0].rows <= self._ledger.through:
            rows = self._rows.popleft()
        checksums, self._checksums = self._checksums, {}
        self._manifest.checkpoint(self._ledger.through, self._ledger.offsets, checksums, rows)
        self._ledger.mark(self._given)
        if (now_s := self._clock()) >= self._next_collection_s:
            self._next_collection_s = now_s + _COLLECTION_S
            gc.collect(_YOUNG)
        self._progressed(
            DeliveryProgress(
                records=self._sent + self._outcome.already_there,
                bytes=self._done_bytes,
                sent=self._sent,
                handed_over=self._handed_over,
                skipped_bytes=self._skipped_bytes,
            )
        )

    def _wait_for_acknowledgements(self, at_most_s: float | None) -> None:
        end = None if at_most_s is None else self._clock() + at_most_s
        while self._producer.deliveries.in_flight and (end is None or self._clock() < end):
            self._producer.poll(_POLL_S)
            if end is None:
                self._look()
        if end is None:
            self._look()

    def _cause_of(self, error: OperationError | PolicyFaultError) -> OperationError | PolicyFaultError:
        """What ended the run: librdkafka may hear first that the topic is gone, and calls it an unknown one."""
        if type(error) is OperationError:
            try:
                self._same_topic()
            except TopicGoneError as gone:
                return gone
        return error

    def _stopped(self, cause: OperationError | PolicyFaultError) -> OperationError | PolicyFaultError:
        """The same error, with how far the run came and what to do then."""
        goes_on = self._manifest.is_kept and not isinstance(cause, TopicGoneError)
        hints = [cause.hint, _GO_ON if goes_on else None]
        return type(cause)(
            f"{cause.message}; {counted_noun(self._sent, 'record')} sent by this run, "
            f"{self._outcome.already_there} already in the topic",
            hint="; then ".join(hint for hint in hints if hint) or None,
        )

    def _numbered_parts(self, *, void: bool) -> Iterator[tuple[int, int, Part]]:
        """Index, first record number and part, of the void ones or of the others."""
        first = 0
        for index, part in enumerate(list(self._manifest.parts)):
            if (index in self._manifest.void) is void:
                yield index, first, part
            first += max(part.records, 0)

    def _open_parts(self) -> Iterator[tuple[int, int, Part]]:
        return self._numbered_parts(void=False)

    def _is_sent(self, first: int, part: Part) -> bool:
        if part.records < 0 or first + part.records <= self._ledger.through:
            return part.records >= 0
        return bool(self._found) and all(self._ledger.is_done(n) for n in range(first, first + part.records))

    def _finish(self, first: int, part: Part) -> None:
        self._ledger.finish_all(range(first, first + part.records))


def totals(parts: Iterable[Part]) -> Mapping[str, int]:
    """Bytes of some parts, and records where all are known."""
    listed = list(parts)
    known = all(part.records >= 0 for part in listed)
    return {"bytes": sum(part.size_bytes for part in listed)} | (
        {"records": sum(part.records for part in listed)} if known else {}
    )
