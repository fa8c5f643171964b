"""Which blocks a reader opens, and in which order it takes their records; computed without reading any record.

::

    for each of the reader's positions:
        (block, number) = locate(position)
        if its lane does not have that block open: open it in place of the previous one
        take the record with that number

A reader has one block open per lane. At the last few positions of an epoch some lanes have no sample left. There, a
sample comes from its block if that is open and is fetched individually otherwise: opening a block of another reader's
lane for a single sample would fetch the block twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafkabal.model import I64, Bools
from kafkabal.reader.epoch_order import EpochOrder, epoch_order
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.reader_shard import ReaderShard


class Opening(NamedTuple):
    """A block to fetch."""

    block: int
    only: int | None
    """Place in the block of the only record to fetch; None for all."""
    order: EpochOrder

    def places(self, samples: int) -> I64:
        """int64, shape (samples,): places of the fetched records, in epoch order."""
        return self.order.within(self.block, samples) if self.only is None else np.zeros(1, np.int64)


class Run(NamedTuple):
    """The visits of a piece to one open block."""

    visits: I64
    """Indexes of the visits in the piece, ascending."""
    numbers: I64
    """For each visit, the number of its record in the block, in epoch order."""


@dataclass(frozen=True, slots=True)
class Visits:
    """A piece of the schedule, and the blocks it opens."""

    order: EpochOrder
    lane: list[int]
    """Of each visit."""
    continued: dict[int, Run]
    """By lane: the visits to a block that was open before the piece."""
    opens: list[int]
    """Indexes of the visits that open a block, ascending."""
    openings: list[Opening]
    """What each of those visits opens."""
    opened: list[Run]
    """For each opening, the piece's visits to the block."""


def schedule(
    manifest: Manifest,
    seed: int | None,
    shard: ReaderShard,
    progress: EpochProgress,
    skip: int,
    until: int | None = None,
) -> Iterator[Visits]:
    """Yield the schedule of a reader for the rest of the epoch of ``progress``.

    Parameters
    ----------
    skip
        How many of its own samples the reader has had.
    until
        Which of its own samples to stop before; None for the end of the epoch.
    """
    samples = manifest.blocks.samples
    order = epoch_order(manifest.blocks, manifest.lanes, seed, progress.epoch)
    is_open = np.full(order.lanes + 1, -1, np.int64)  # the last entry is for samples that are fetched individually
    for position in shard.positions(progress, order.samples, skip, until):
        block, number = order.locate(position)
        lane = _lanes_of_visits(order, position, block, is_open)
        alone = lane == order.lanes
        by_lane = np.argsort(lane, kind="stable")
        begins, opens = _runs(lane[by_lane], block[by_lane], alone[by_lane], is_open)
        only = alone & manifest.is_dense
        continued: dict[int, Run] = {}
        opened: list[tuple[int, Opening, Run]] = []
        for first, after in zip(begins, [*begins[1:], len(lane)], strict=True):
            visits = by_lane[first:after]
            at = int(visits[0])
            if not opens[first]:
                continued[int(lane[at])] = Run(visits, number[visits])
                continue
            b, numbers, place = int(block[at]), number[visits], None
            if only[at]:
                place, numbers = int(order.within(b, int(samples[b]))[numbers[0]]), np.zeros(1, np.int64)
            opened.append((at, Opening(b, place, order), Run(visits, numbers)))
        opened.sort(key=lambda each: each[0])
        yield Visits(
            order,
            lane.tolist(),
            continued,
            [at for at, _, _ in opened],
            [opening for _, opening, _ in opened],
            [run for _, _, run in opened],
        )


def _lanes_of_visits(order: EpochOrder, position: I64, block: I64, is_open: I64) -> I64:
    """The lane in which each visit finds its block; ``order.lanes`` if the record is fetched individually."""
    lane = order.lane_of(position)
    late = order.is_late(position)
    if late.any():
        then_open = is_open.copy()
        then_open[lane[~late]] = block[~late]  # numpy keeps the last of several values for one lane
        lane[late & (then_open[lane] != block)] = order.lanes
    return lane


def _runs(lane: I64, block: I64, alone: Bools, is_open: I64) -> tuple[list[int], Bools]:
    """Where visits sorted by lane switch to another lane or block, and whether each switch opens a block.

    Updates ``is_open``.
    """
    is_first = np.diff(lane, prepend=-1) != 0
    before = np.where(is_first, is_open[lane], np.roll(block, 1))
    opens = alone | (before != block)
    is_open[lane] = np.where(alone, -1, block)  # numpy keeps the last of several values for one lane
    return np.flatnonzero(is_first | opens).tolist(), opens
