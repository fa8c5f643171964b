"""Which records of a source are not in the topic yet, by the manifest and by what was found in the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafkabal.producer.acknowledged_records import AcknowledgedRecords
from kafkabal.producer.record_names import fingerprint
from kafkabal.producer.send_manifest import SendManifest
from kafkabal.sources import Block, ChangedRowsError, Part, RecordsToSend, Source, escaped_name
from kafkabal.wording import counted_noun


@dataclass(slots=True, kw_only=True)
class SendOutcome:
    """What a run did."""

    sent: int = 0
    already_there: int = 0
    bytes_by_partition: Counter[int] = field(default_factory=Counter)
    """Value bytes that this run sent, by partition."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Files that were not sent, and why."""
    changed: list[str] = field(default_factory=list)
    """Files that changed since an earlier run sent them; they are not sent again."""
    unfinished: str = ""
    """The row within which the source ends, as its writer may add to it; a later run sends it."""

    @property
    def is_complete(self) -> bool:
        """Whether every record of the source, as it is now, is in the topic."""
        return not (self.failures or self.changed or self.unfinished)


def has_other_rows(source: Source, manifest: SendManifest, parts: Iterable[Part]) -> bool:
    """Whether a file of rows no longer begins with the rows that were sent, as far as the manifest can tell."""
    listed = list(parts)
    if source.is_stream or not manifest.through or not listed or listed[0].records >= 0:
        return False
    return manifest.rows is None or not source.begins_with(listed[0], manifest.rows)


class UnsentRecords:
    """Compares a manifest with a source, and decides which records to read and send.

    Parameters
    ----------
    done
        Records that are in the topic.
    found
        By number, fingerprints of records that are in the topic but not in the manifest.
    resend
        Send files again if they changed since they were sent.
    outcome
        Receives what is already in the topic, what changed, and what cannot be sent.
    """

    def __init__(
        self,
        source: Source,
        manifest: SendManifest,
        done: AcknowledgedRecords,
        *,
        found: Mapping[int, int],
        resend: bool,
        outcome: SendOutcome,
    ) -> None:
        self._source = source
        self._manifest = manifest
        self._done = done
        self._found = found
        self._resend = resend
        self._outcome = outcome
        self._has_rows = any(part.records < 0 for part in manifest.parts)
        self._found_rows = max(found, default=-1) + 1 if self._has_rows else 0
        self._sizes_bytes: Mapping[str, int] = {}
        self.skipped_bytes = 0
        """Bytes of the current source that need not be sent."""
        self.touched: dict[int, Part] = {}
        """By index: parts with a new time or size whose content is in the topic."""

    def reconcile(self, listed: Sequence[Part]) -> None:
        """Make the manifest's list of files match the source: append new files, void those that changed or vanished."""
        present = {part.name: part for part in listed}
        self._sizes_bytes = {part.name: part.size_bytes for part in listed}
        known = set()
        void: list[int] = []
        for index, first, part in self._open_parts():
            current = present.get(part.name)
            if current == part or (current is None and self._is_sent(first, part)):
                known.add(part.name)
            elif current is not None and self._is_same_content(index, part, current):
                known.add(part.name)
                self.touched[index] = current
            elif current is not None and self._is_sent(first, part) and not self._resend:
                known.add(part.name)
                self._outcome.changed.append(escaped_name(part.name))
            else:
                void.append(index)
        self._manifest.void_parts(void)
        self._manifest.add_parts(part for part in listed if part.name not in known)
        for _, first, part in self._numbered_parts(void=True):
            self._finish(first, part)

    def _is_same_content(self, index: int, part: Part, current: Part) -> bool:
        """Whether a part with another time or size still has the content of which records were sent.

        Raises
        ------
        ChangedRowsError
            If the rows that are in the topic are no longer in the file.
        """
        if part.records < 0:
            if has_other_rows(self._source, self._manifest, [current]):
                is_unchecked = self._manifest.rows is None
                why = "the manifest has no checksum of" if is_unchecked else "its beginning differs from"
                raise ChangedRowsError(
                    self._source.name,
                    f"changed: {why} the {counted_noun(self._manifest.through, 'row')} sent before",
                    hint="add --resend to send the whole file again, or start a new manifest with --manifest FILE",
                )
            return True
        sent = self._manifest.checksums.get(index)
        return sent is not None and part.size_bytes == current.size_bytes and sent == self._source.checksum(current)

    def to_send(self) -> Iterator[RecordsToSend]:
        """The parts, and rows of them, to be read: those that are not known to be in the topic."""
        for index, first, part in self._open_parts():
            if self._is_sent(first, part):
                self._outcome.already_there += part.records
                # by current size: files that vanished since they were sent do not count
                self.skipped_bytes += self._sizes_bytes.get(part.name, 0)
                continue
            current = self.touched.get(index, part)
            if part.records < 0:
                to_send = RecordsToSend(index, first, current, self.first_row, self._manifest.rows)
            else:
                to_send = RecordsToSend(index, first, current, max(0, self._done.through - first))
            self._outcome.already_there += to_send.start
            yield to_send

    @property
    def first_row(self) -> int:
        """The first row to be read. All before it are compared by their checksum; those found in the topic, behind it,
        one by one."""
        if not self._has_rows:
            return 0
        return self._manifest.through if self._manifest.rows is None else self._manifest.rows.rows

    def has_uncompared_rows(self, read: int) -> bool:
        """Whether rows from number ``read`` on were found in the topic."""
        return self._found_rows > read

    def check_all_read(self, read: int) -> None:
        """Check that a source that has ended after ``read`` rows had all that are in the topic.

        Raises
        ------
        ChangedRowsError
            If it did not.
        """
        sent = max(self._found_rows, self._manifest.through)
        if self._has_rows and read < sent:
            raise ChangedRowsError(
                self._source.name,
                f"it ends after {counted_noun(read, 'row')}; {sent} were sent before",
                hint="send the same rows, or start a new manifest with --manifest FILE",
            )

    def of_block(self, block: Block) -> Block:
        """The block without records that are in the topic: found there, or sent after the last checksum of rows.

        Raises
        ------
        ChangedRowsError
            If one of those has another value now.
        """
        # of records that were not found, those that are done come first: a run stopped within their block
        if not self._found and not (block.numbers and self._done.is_done(block.numbers[0])):
            return block
        left = [at for at, number in enumerate(block.numbers) if not self._done.is_done(number)]
        for at, number in enumerate(block.numbers if self._is_comparable else ()):
            key = None if block.keys is None else block.keys[at]
            if self._found.get(number, now := fingerprint(key, block.values[at])) != now:
                raise ChangedRowsError(
                    block.name_of(at),
                    "is not the row that was sent before" if block.rows else "is not what was sent before",
                    hint="send the same rows, or start a new manifest with --manifest FILE",
                )
        if len(left) == len(block):
            return block
        self._outcome.already_there += len(block) - len(left)
        if not left:
            self.skipped_bytes += block.progress_bytes
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

    @property
    def _is_comparable(self) -> bool:
        """Whether a record that differs from the one in the topic means that the source has changed. A transform may
        return something else each time; that files are the same is then known from their times, sizes or checksums."""
        is_known_same = not self._has_rows or not (self._source.is_stream or self.touched)
        return "--transform" not in self._source.options or not is_known_same

    def give_up(self, failures: Iterable[tuple[RecordsToSend, str]]) -> None:
        """Leave out parts that cannot be read; the next run tries them again."""
        for to_send, why in failures:
            self._outcome.failures.append((escaped_name(to_send.part.name), why))
            self._finish(to_send.first, to_send.part)
        self._manifest.void_parts([to_send.part_index for to_send, _ in failures])

    def _numbered_parts(self, *, void: bool) -> Iterator[tuple[int, int, Part]]:
        """Index, first record number and part, of either the void parts or the others."""
        first = 0
        for index, part in enumerate(list(self._manifest.parts)):
            if (index in self._manifest.void) is void:
                yield index, first, part
            first += max(part.records, 0)

    def _open_parts(self) -> Iterator[tuple[int, int, Part]]:
        return self._numbered_parts(void=False)

    def _is_sent(self, first: int, part: Part) -> bool:
        if part.records < 0 or first + part.records <= self._done.through:
            return part.records >= 0
        return bool(self._found) and all(self._done.is_done(n) for n in range(first, first + part.records))

    def _finish(self, first: int, part: Part) -> None:
        self._done.finish_all(range(first, first + part.records))
