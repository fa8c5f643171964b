"""Send every record of a source once, however often the run is interrupted or repeated.

What is promised, and what it rests on, stands in ``docs/produce.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from kafkabal.errors import InputFileError, KafkabalError, OperationError, RefusedByClusterError
from kafkabal.producer.delivery_ledger import Ledger
from kafkabal.producer.delivery_listener import Progress
from kafkabal.producer.librdkafka_errors import error_of
from kafkabal.producer.manifest import Manifest
from kafkabal.producer.routing_producer import RoutingProducer
from kafkabal.routing.checked_policy import PolicyFaultError
from kafkabal.sources.source_protocol import Part, Record, RecordSize, Source

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

RECORD_HEADER: Final = "kafkabal-record"
"""Header that names a record: the id of its manifest, a slash, and its number."""

OVERHEAD_BYTES: Final = 256
"""At least what surrounds a record: its name, the head of a batch, and lengths and deltas within it."""
_CHUNK_HEADER_BYTES = 32
_NAMED = 5
_MOMENT_S = 1.0
_RECORDS_A_LOOK = 64
_CHECKPOINT_S = 1.0
_SAME_TOPIC_S = 5.0
_LEAVING_S = 3.0
_POLL_S = 0.1
_GO_ON = "run the same command again, it goes on where it stopped"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run did."""

    sent: int = 0
    already_there: int = 0
    bytes_by_partition: Counter[int] = field(default_factory=Counter)
    """Values that this run sent."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Files that were not sent, and why."""
    changed: list[str] = field(default_factory=list)
    """Files that changed since an earlier run sent them; they are not sent again."""


class TopicGoneError(OperationError):
    """The topic that the run began with is no more."""


def check_sizes(
    source: Source,
    parts: Iterable[Part],
    max_record_bytes: int,
    *,
    clock: Callable[[], float] = monotonic,
    takes_long: Callable[[], None] = lambda: None,
) -> None:
    """See that every record fits into the topic, before any is sent.

    Parameters
    ----------
    takes_long
        Called once if it takes more than a moment: rows have to be read for it.

    Raises
    ------
    InputFileError
        Naming the records that do not fit.
    """
    limit = max_record_bytes - OVERHEAD_BYTES
    sizes = (size for part in parts for size in source.sizes(part))
    large = [size for size in _telling(sizes, clock, takes_long) if size.size_bytes > limit]
    if large:
        named = ", ".join(f"{size.name} ({size.size_bytes + OVERHEAD_BYTES} bytes)" for size in large[:_NAMED])
        more = f" and {len(large) - _NAMED} more" if len(large) > _NAMED else ""
        raise InputFileError(
            source.name,
            f"records larger than the {max_record_bytes} bytes that the topic takes: {named}{more}",
            hint=_smaller(large, limit),
        )


def _telling(
    sizes: Iterator[RecordSize], clock: Callable[[], float], takes_long: Callable[[], None]
) -> Iterator[RecordSize]:
    tell_s = clock() + _MOMENT_S
    for size in sizes:
        if clock() > tell_s:
            takes_long()
            tell_s = inf
        yield size


def _smaller(large: Iterable[RecordSize], limit: int) -> str:
    """What to do about records that are larger than this."""
    around = [size.around_bytes for size in large if size.around_bytes is not None]
    chunk = limit - max(around, default=limit) - _CHUNK_HEADER_BYTES
    written = f"{chunk // 1024}KiB" if chunk >= 1024 else str(chunk)
    split = f"split files with --chunk {written} or less, or " if chunk > 0 else ""
    return f"{split}raise max.message.bytes of the topic"


def found_records(manifest: Manifest, messages: Iterable[Message]) -> set[int]:
    """Numbers of the records of this manifest among some messages."""
    prefix = f"{manifest.header.id}/"
    found = set()
    for message in messages:
        for name, value in list(message.headers() or ()):
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else ""
            if name == RECORD_HEADER and text.startswith(prefix):
                found.add(int(text.removeprefix(prefix)))
    return found


class Run:
    """One run over a source, on top of what a manifest remembers of earlier ones.

    Parameters
    ----------
    found
        Numbers of records that were found in the topic though the manifest does not know them.
    same_topic
        Raises an error if the topic is no longer the one that the run began with.
    progressed
        Told about once a second.
    """

    def __init__(
        self,
        producer: RoutingProducer,
        source: Source,
        manifest: Manifest,
        *,
        found: Iterable[int] = (),
        same_topic: Callable[[], None] = lambda: None,
        progressed: Callable[[Progress], None] = lambda _: None,
        clock: Callable[[], float],
    ) -> None:
        self._producer = producer
        self._source = source
        self._manifest = manifest
        self._ledger = Ledger(manifest.through, manifest.offsets, found)
        self._same_topic = same_topic
        self._progressed = progressed
        self._clock = clock
        self._next_checkpoint_s = self._next_same_topic_s = clock()
        self._fault: KafkaError | None = None
        self._given = 0
        self._handed_over = 0
        self._sizes_bytes: Mapping[str, int] = {}
        self._done_bytes = 0
        self._skipped_bytes = 0
        self._outcome = Outcome()

    def send(self, parts: Iterable[Part]) -> Outcome:
        """Send what is not in the topic yet, and wait until it is acknowledged.

        Parameters
        ----------
        parts
            What the source holds now.

        Raises
        ------
        KafkabalError
            If a record was given up on, or the topic is gone; the message says how much was sent. The next run with
            the same manifest goes on from there.
        """
        listed = list(parts)
        self._sizes_bytes = {part.name: part.size_bytes for part in listed}
        self._manifest.mark_running()
        try:
            self._reconcile(listed)
            self._send_parts()
            self._wait_for_acknowledgements(None)
            self._same_topic()
        except TopicGoneError as error:
            raise self._stopped(error) from error  # nothing will be acknowledged any more
        except (OperationError, PolicyFaultError) as error:
            self._wait_for_acknowledgements(_LEAVING_S)
            raise self._stopped(error) from error
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
        return self._outcome

    @property
    def _is_settled(self) -> bool:
        """Whether ``through`` says all there is to know; if not, the next run must look into the topic again.

        A record behind a gap, which a read-back has found or which was acknowledged before another was dropped, is
        known to this run only.
        """
        return not self._producer.deliveries.in_flight and self._fault is None and not self._ledger.has_gaps

    def _reconcile(self, now: list[Part]) -> None:
        """Make the manifest's list of files that of the source: append what is new, give up what changed or went."""
        present = {part.name: part for part in now}
        known = set()
        for index, first, part in self._open_parts():
            current = present.get(part.name)
            if current == part:
                known.add(part.name)
            elif self._is_sent(first, part):
                known.add(part.name)
                if current is not None:
                    self._outcome.changed.append(part.name)
            else:
                self._refuse_other_rows(part)
                self._manifest.void_part(index)
        self._manifest.add_parts(part for part in now if part.name not in known)
        for _, first, part in self._numbered_parts(void=True):
            self._finish(first, part)

    def _refuse_other_rows(self, part: Part) -> None:
        if part.records < 0:
            raise InputFileError(
                self._source.name,
                "changed since its manifest was begun; its records are known by their rows",
                hint="name another file with --manifest to send all of it again",
            )

    def _send_parts(self) -> None:
        for index, first, part in self._open_parts():
            if self._is_sent(first, part):
                self._outcome.already_there += part.records
                # of what is there now: files that went since they were sent are no part of the whole
                self._skip(self._sizes_bytes.get(part.name, 0))
                continue
            try:
                self._send_part(first, part)
            except InputFileError as error:
                if part.records < 0:
                    raise
                self._outcome.failures.append((part.name, error.message.removeprefix(f"{error.path}: ")))
                self._manifest.void_part(index)
                self._finish(first, part)

    def _send_part(self, first: int, part: Part) -> None:
        start = max(0, self._ledger.through - first)
        self._outcome.already_there += start
        for number, record in enumerate(self._source.records(part, start), first + start):
            self._skip(record.skipped_bytes)
            if self._ledger.is_done(number):
                self._outcome.already_there += 1
                self._skip(record.progress_bytes)
            else:
                self._send_record(number, record)
            self._given = number + 1
            # records may be large, or come slowly
            if not number % _RECORDS_A_LOOK or self._clock() >= self._next_checkpoint_s:
                self._look()

    def _skip(self, n_bytes: int) -> None:
        self._done_bytes += n_bytes
        self._skipped_bytes += n_bytes

    def _send_record(self, number: int, record: Record) -> None:
        headers = record.headers
        if self._manifest.is_kept:
            headers = [*headers, (RECORD_HEADER, f"{self._manifest.header.id}/{number}".encode())]
        report = partial(self._report, number, len(record.value), record.progress_bytes)
        self._handed_over += 1
        try:
            self._producer.produce(record.value, record.key, headers, report)
        except RefusedByClusterError as error:
            raise type(error)(f"{record.name}: {error.message}", hint=error.hint) from error

    def _report(self, number: int, size: int, done: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._fault = self._fault or error
            return
        partition, offset = message.partition() or 0, message.offset()
        if offset is None or offset < 0:
            # a retry of what was there already: the broker does not say where
            self._ledger.finish(number)
        else:
            self._ledger.acknowledge(number, partition, offset)
        self._outcome.sent += 1
        self._outcome.bytes_by_partition[partition] += size
        self._done_bytes += done

    def _look(self) -> None:
        """Stop at the first record that was given up on; now and then remember how far it is."""
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
        self._manifest.checkpoint(self._ledger.through, self._ledger.offsets)
        self._ledger.mark(self._given)
        self._progressed(
            Progress(
                records=self._outcome.sent + self._outcome.already_there,
                bytes=self._done_bytes,
                sent=self._outcome.sent,
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

    def _stopped(self, cause: OperationError | PolicyFaultError) -> OperationError | PolicyFaultError:
        """The same error, with how far the run came and what to do then."""
        goes_on = self._manifest.is_kept and not isinstance(cause, TopicGoneError)
        hints = [cause.hint, _GO_ON if goes_on else None]
        return type(cause)(
            f"{cause.message}; {self._outcome.sent} records were sent by this run, "
            f"{self._outcome.already_there} were there before",
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
        return part.records >= 0 and all(self._ledger.is_done(n) for n in range(first, first + part.records))

    def _finish(self, first: int, part: Part) -> None:
        for number in range(first, first + part.records):
            self._ledger.finish(number)


def same_topic_check(
    topic_id: str,
    current_id: Callable[[], str | None],
    topic: str,
    unanswered: Callable[[KafkabalError], None] = lambda _: None,
) -> Callable[[], None]:
    """A check that the topic was neither deleted nor made anew since.

    Parameters
    ----------
    current_id
        Gives the id of the topic now, None if there is none.
    unanswered
        Told of what ``current_id`` raised: it says nothing about the topic, and what becomes of the records decides.
    """

    def check() -> None:
        try:
            found = current_id()
        except KafkabalError as error:
            unanswered(error)
            return
        if found is None:
            raise TopicGoneError(f"topic {topic} was deleted under way")
        if found != topic_id:
            raise TopicGoneError(
                f"topic {topic} was deleted and created anew under way; what was sent before is gone",
                hint="run the same command again to send everything to the new topic",
            )

    return check


def totals(parts: Iterable[Part]) -> Mapping[str, int]:
    """Bytes of some parts, and records where all of them tell."""
    listed = list(parts)
    known = all(part.records >= 0 for part in listed)
    return {"bytes": sum(part.size_bytes for part in listed)} | (
        {"records": sum(part.records for part in listed)} if known else {}
    )
