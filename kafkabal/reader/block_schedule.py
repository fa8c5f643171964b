"""Which blocks one reader opens, and which records it takes of them, in order; no record is read for that.

::

    for each of the reader's positions:
        (block, number) = locate(position)
        if its lane does not have that block open: open it in place of the one before
        take the record with that number

A reader has one block open in each of its lanes. Of the last few positions of an epoch, where some lanes have no sample
left, those whose block is open come from it, and the others are fetched one by one: to open a block of another reader's
lane for one sample would fetch the block twice.
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
    """A block to be fetched."""

    block: int
    only: int | None
    """Place in the block of the one record that is wanted; None: all of them."""


class Run(NamedTuple):
    """Visits of a piece to one open block."""

    visits: I64
    """Which visits of the piece they are, ascending."""
    numbers: I64
    """Of the records in the block, in the order of the epoch."""


@dataclass(frozen=True, slots=True)
class Visits:
    """A piece of a schedule, and the blocks that are opened on the way."""

    order: EpochOrder
    lane: list[int]
    """Of each visit."""
    continued: dict[int, Run]
    """By lane: the visits to blocks that are open before the piece."""
    opens: list[int]
    """Which visits open a block, ascending."""
    openings: list[Opening]
    """What each of them opens."""
    opened: list[Run]
    """The visits to it, in this piece."""


def schedule(
    manifest: Manifest,
    seed: int | None,
    shard: ReaderShard,
    progress: EpochProgress,
    skip: int,
    until: int | None = None,
) -> Iterator[Visits]:
    """Yield what a reader does in what is left of the epoch of ``progress``.

    Parameters
    ----------
    skip
        How many samples of its own it has had.
    until
        At which of its own samples to end; None: at the end of the epoch.
    """
    samples = manifest.blocks.samples
    order = epoch_order(manifest.blocks, manifest.lanes, seed, progress.epoch)
    is_open = np.full(order.lanes + 1, -1, np.int64)  # the last is for samples that are fetched one by one
    for position in shard.positions(progress, order.samples, skip, until):
        block, number = order.locate(position)
        lane = _slots(order, position, block, is_open)
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
            opened.append((at, Opening(b, place), Run(visits, numbers)))
        opened.sort(key=lambda each: each[0])
        yield Visits(
            order,
            lane.tolist(),
            continued,
            [at for at, _, _ in opened],
            [opening for _, opening, _ in opened],
            [run for _, _, run in opened],
        )


def _slots(order: EpochOrder, position: I64, block: I64, is_open: I64) -> I64:
    """The lane in which each visit finds its block; the one after the last lane where it is fetched for it alone."""
    lane = order.lane_of(position)
    late = order.is_late(position)
    if late.any():
        then_open = is_open.copy()
        then_open[lane[~late]] = block[~late]  # of several in a lane the last one stays
        lane[late & (then_open[lane] != block)] = order.lanes
    return lane


def _runs(lane: I64, block: I64, alone: Bools, is_open: I64) -> tuple[list[int], Bools]:
    """Where visits that are sorted by lane turn to another lane or block, and whether they open one there.

    ``is_open`` is brought up to date.
    """
    is_first = np.diff(lane, prepend=-1) != 0
    before = np.where(is_first, is_open[lane], np.roll(block, 1))
    opens = alone | (before != block)
    is_open[lane] = np.where(alone, -1, block)  # of several in a lane the last one stays
    return np.flatnonzero(is_first | opens).tolist(), opens
