"""Which blocks one reader opens, and which records it takes of them, in order; no record is read for that.

::

    for each of the reader's positions:
        (block, number) = locate(position)
        if its lane does not have that block open: open it in place of the one before
        take the record with that number

A reader has one block open in each of its lanes. The last few positions of an epoch, where some lanes have no sample
left, are fetched one by one: to open a block of another reader's lane for one sample would fetch the block twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkabal.model import I64, Bools
from kafkabal.reader.epoch_order import epoch_order

if TYPE_CHECKING:
    from kafkabal.reader.epoch_order import EpochOrder
    from kafkabal.reader.epoch_progress import EpochProgress
    from kafkabal.reader.manifest import Manifest
    from kafkabal.reader.reader_shard import ReaderShard


class Opening(NamedTuple):
    """A block to be fetched."""

    block: int
    only: int | None
    """Place in the block of the one record that is wanted; None: all of them."""


@dataclass(frozen=True, slots=True)
class Visits:
    """A piece of a schedule: lists of equal length, and the blocks that are opened on the way."""

    order: EpochOrder
    lane: list[int]
    number: list[int]
    """Of the record in the block that is open in the lane, in the order of the epoch."""
    opens: list[bool]
    openings: list[Opening]
    """One for every True, in that order."""


def schedule(
    manifest: Manifest,
    seed: int | None,
    share: ReaderShard,
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
    is_open = np.full(order.lanes, -1, np.int64)
    for position in share.positions(progress, order.samples, skip, until):
        block, number = order.locate(position)
        lane = position % order.lanes
        late = position >= order.even * order.lanes
        opens = late | _changes(lane, block, late, is_open)
        only = late & manifest.is_dense
        openings = [
            Opening(b, int(order.within(b, int(samples[b]))[n]) if alone else None)
            for b, n, alone in zip(block[opens].tolist(), number[opens].tolist(), only[opens].tolist(), strict=True)
        ]
        number = np.where(only, 0, number)
        yield Visits(order, lane.tolist(), number.tolist(), opens.tolist(), openings)


def _changes(lane: I64, block: I64, late: Bools, is_open: I64) -> Bools:
    """bool, shape (n,): whether a lane turns to another block there; ``is_open`` is brought up to date."""
    by_lane = np.lexsort((np.arange(len(lane)), lane))
    sorted_lane, sorted_block = lane[by_lane], block[by_lane]
    is_first = np.diff(sorted_lane, prepend=-1) != 0
    before = np.where(is_first, is_open[sorted_lane], np.roll(sorted_block, 1))
    changed = np.empty(len(lane), np.bool_)
    changed[by_lane] = before != sorted_block
    is_open[lane] = np.where(late, -1, block)  # of several in a lane the last one stays
    return changed
