"""Pins the files of a topic, of which some were split into pieces: which offsets hold whole files."""

from __future__ import annotations

import warnings
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.errors import OperationError, UsageError
from kafkabal.reader.join_file_pieces import FileKey, place_of
from kafkabal.reader.manifest import FileBlock, block_count, block_cuts
from kafkabal.reader.read_whole_topic import WholeReading
from kafkabal.wording import counted_noun, first_of


@dataclass(frozen=True, slots=True)
class _Piece:
    """A record as a piece of a file; most files have one."""

    file: FileKey
    number: int
    of: int
    place: tuple[int, int, int]
    """Timestamp, partition, offset."""
    size: int


def file_blocks(reading: WholeReading, topic: str, lanes: int) -> tuple[FileBlock, ...] | None:
    """Blocks of whole files; None if no file was split. Files with missing pieces are left out, with a warning.

    Raises
    ------
    UsageError
        If no file is whole.
    """

    def pieces_of(p: int, records: LazyRecords) -> list[_Piece]:
        return [_piece(topic, p, record) for record in records]

    files: dict[FileKey, dict[int, _Piece]] = {}
    copies: dict[int, list[int]] = {}  # offsets of first pieces that were sent again, by partition
    for steps in reading.each(pieces_of):
        for piece in chain.from_iterable(steps):
            used = files.setdefault(piece.file, {}).setdefault(piece.number, piece)
            if used is piece:
                continue
            # the earlier one, so that the pieces of a file are close together
            files[piece.file][piece.number], copy = sorted((used, piece), key=lambda each: each.place)
            if piece.number == 1:
                _, partition, offset = copy.place
                insort(copies.setdefault(partition, []), offset)
    if all(of == 1 for _, _, of in files):
        return None
    whole = sorted(
        (list(pieces.values()) for (_, _, of), pieces in files.items() if len(pieces) == of),
        key=lambda pieces: min(pieces, key=lambda piece: piece.number).place,
    )
    incomplete = _incomplete(files)
    if incomplete and not whole:
        raise UsageError(
            f"topic {topic}: no file is whole: {first_of(incomplete)}",
            hint="run 'kafkabal produce' again to send the missing pieces",
        )
    if incomplete:
        warnings.warn(
            f"topic {topic}: {counted_noun(len(incomplete), 'file')} left out, since pieces are missing: "
            f"{first_of(incomplete)}",
            stacklevel=2,
        )
    total = sum(piece.size for pieces in whole for piece in pieces)
    blocks = block_count(len(whole), total, lanes)
    cuts = block_cuts(len(whole), blocks)
    return tuple(_file_block(whole[first:last], copies) for first, last in pairwise(cuts.tolist()))


def _incomplete(files: Mapping[FileKey, Mapping[int, _Piece]]) -> list[str]:
    """Files with missing pieces, and how many there are; not those of which another version is whole."""
    whole = {path for (path, _, of), pieces in files.items() if len(pieces) == of}
    return [
        f"{path.decode(errors='backslashreplace')} ({len(pieces)} of {counted_noun(of, 'piece')})"
        for (path, _, of), pieces in files.items()
        if path not in whole
    ]


def _file_block(files: Sequence[Sequence[_Piece]], copies: Mapping[int, Sequence[int]]) -> FileBlock:
    pieces = [piece for file in files for piece in file]
    by_partition: dict[int, list[int]] = {}
    for piece in pieces:
        by_partition.setdefault(piece.place[1], []).append(piece.place[2])
    return FileBlock(
        first=min(files[0], key=lambda piece: piece.number).place,
        samples=len(files),
        size_bytes=sum(piece.size for piece in pieces),
        ranges=tuple(
            (p, begin, end)
            for p, offsets in sorted(by_partition.items())
            for begin, end in _ranges_without(copies.get(p, ()), min(offsets), max(offsets) + 1)
        ),
    )


def _ranges_without(copies: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges between copies of first pieces: a file that was sent twice would be whole in the block of another
    one, too."""
    within = copies[bisect_left(copies, begin) : bisect_left(copies, end)]
    for first, after in zip((begin, *(offset + 1 for offset in within)), (*within, end), strict=True):
        if first < after:
            yield first, after


def _piece(topic: str, partition: int, record: RawRecord) -> _Piece:
    try:
        file, number, of = place_of(partition, record)
    except OperationError as error:  # another program may use the header for something else
        raise OperationError(
            f"topic {topic}, {error.message}", hint="join=False returns records as they are, and joins no files"
        ) from error
    return _Piece(file, number, of, (record[1], partition, record[0]), _record_bytes(record))


def _record_bytes(record: RawRecord) -> int:
    """Approximate memory of a record."""
    return len(record[2] or b"") + len(record[3] or b"") + len(record[4])
