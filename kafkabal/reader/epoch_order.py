"""The order of all samples of an epoch, the same for any number of readers.

::

    deal(epoch):
        sort the blocks of each partition by (number of samples, bytes, place), and form groups of L similar ones
        each lane gets a random one of each group, as its next row         # every lane: the same of each partition
        spread the rows of each partition evenly over a cycle of all rows
        each lane reads its blocks around the cycle from a random place of its own, lanes of one reader from neighbours
    position i:
        lane  i mod L, its sample number i div L                           # as long as every lane has one
    sample j of a block:
        the j-th in a random order of the block's records

So at any moment L blocks are open, one per lane, and consecutive samples come from L different blocks. The open blocks
are spread over the partitions in proportion to their sizes, so that each broker sends at a constant rate (a shuffle
that left this to chance took 1.4 times as long if brokers are throttled and nothing is prefetched). Every lane has
blocks from all parts of a partition, so that readers get equal bytes even if records grew from beginning to end.

Reader r of R takes the positions r, r + R, r + 2R, ...: if R divides L these are whole lanes, and every block is
fetched by one reader only. A single integer says how far an epoch has come, whatever R is next.

The lanes are the canonical nodes of MosaicML Streaming, except that the number of readers may change to any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import I32, I64, Bools
from kafkabal.reader.manifest import Blocks
from kafkabal.reader.permutation import keys, permutation

# separate the random numbers drawn for different purposes from one seed and epoch
_DEAL, _LANE, _BLOCK, _ROW, _PHASE = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True, eq=False)
class EpochOrder:
    """Which sample is at each position of an epoch; created by :func:`epoch_order`."""

    samples: int
    """Positions are 0 to ``samples - 1``."""
    lanes: int
    even: int
    """Samples that every lane has; the surplus of longer lanes comes last, lane by lane."""
    block: I64
    """shape (n_blocks,): blocks in lane order, those of lane 0 first."""
    first: I64
    """shape (n_blocks + 1,): number of samples before each block."""
    lane_first: I64
    """shape (lanes + 1,): number of samples before each lane."""
    seed: int | None
    epoch: int

    def locate(self, positions: I64) -> tuple[I64, I64]:
        """The block of the sample at each position, and its number in the block.

        Parameters
        ----------
        positions
            int64, shape (n,), each 0 to ``samples - 1``.

        Returns
        -------
        int64, int64, shape (n,)
            The block of each, and its number in the order given by :meth:`within`.
        """
        position = np.asarray(positions, np.int64)
        lane, turn = self._lane_and_turn(position)
        at = self.lane_first[lane] + turn
        row = np.searchsorted(self.first, at, side="right") - 1
        return self.block[row], at - self.first[row]

    def lane_of(self, positions: I64) -> I64:
        """int64, shape (n,): the lane of the sample at each position."""
        return self._lane_and_turn(positions)[0]

    def is_late(self, positions: I64) -> Bools:
        """bool, shape (n,): whether some lanes have no sample left at the position."""
        found: Bools = positions >= self.even * self.lanes
        return found

    def within(self, block: int, samples: int) -> I64:
        """int64, shape (samples,): the order of the records of a block."""
        if self.seed is None:
            return np.arange(samples, dtype=np.int64)
        return permutation(samples, self.seed, self.epoch, _BLOCK, block)

    def _lane_and_turn(self, position: I64) -> tuple[I64, I64]:
        """The lane of each position, and its number among the samples of that lane."""
        turn, lane = np.divmod(position, self.lanes)
        late = self.is_late(position)
        if late.any():
            above = np.diff(self.lane_first) - self.even
            before = np.concatenate(([0], np.cumsum(above)))
            number = position[late] - self.even * self.lanes
            lane[late] = np.searchsorted(before, number, side="right") - 1
            turn[late] = self.even + number - before[lane[late]]
        return lane, turn


def epoch_order(blocks: Blocks, lanes: int, seed: int | None, epoch: int) -> EpochOrder:
    """The order of an epoch.

    Parameters
    ----------
    seed
        None keeps the blocks, and the records in them, in topic order.
    epoch
        Counted from 0; every epoch has an order of its own.
    """
    count = len(blocks)
    row, lane = np.divmod(np.arange(count), lanes)
    dealt, turn = np.arange(count), row
    if seed is not None:
        dealt = _deal(blocks, lanes, seed, epoch)
        turns = _turns(blocks.group[dealt[::lanes]], seed, epoch)
        turn = (turns[row] - _starts(lanes, seed, epoch)[lane]) % len(turns)
    block = dealt[np.lexsort((turn, lane))]
    first = np.concatenate(([0], np.cumsum(blocks.samples[block])))
    lane_first = first[np.searchsorted(np.sort(lane), np.arange(lanes + 1))]
    return EpochOrder(
        samples=int(first[-1]),
        lanes=lanes,
        even=int(np.diff(lane_first).min()),
        block=block,
        first=first,
        lane_first=lane_first,
        seed=seed,
        epoch=epoch,
    )


def _deal(blocks: Blocks, lanes: int, seed: int, epoch: int) -> I64:
    """int64, shape (n_blocks,): the blocks in the order in which lanes get them, one each in turn.

    Similar blocks of a partition are a group, with one for each lane. A lane that gets the third of a group gets the
    third from the end of the next one, or those that got larger ones by chance would keep their excess.
    """
    similar = np.lexsort((blocks.size_bytes, -blocks.samples, blocks.group))  # stable: equal ones by place
    _, first, of = np.unique(blocks.group[similar], return_index=True, return_inverse=True)
    place = (np.arange(len(similar)) - first[of]) % lanes
    group = np.cumsum(place == 0) - 1
    mirrored = np.where(group % 2, group * lanes - 1 - place, group * lanes + place)
    random = keys(lanes * (int(group.max(initial=-1)) + 1), seed, epoch, _DEAL)[mirrored]
    return similar[np.lexsort((random, group))]


def _turns(partition_of_row: I32, seed: int, epoch: int) -> I64:
    """int64, shape (n_rows,): the place of each row in the cycle, those of a partition at equal distances.

    Row j of n, in random order, is at (j + a random phase of its partition) / n of the cycle.
    """
    count = len(partition_of_row)
    random = keys(count, seed, epoch, _ROW)
    by_partition = np.lexsort((random, partition_of_row))
    of, first, index, n = np.unique(
        partition_of_row[by_partition], return_index=True, return_inverse=True, return_counts=True
    )
    number = (np.arange(count) - first[index]).astype(np.uint64)
    phase = keys(len(of), seed, epoch, _PHASE)[index] >> np.uint64(32)
    way = ((number << np.uint64(32)) + phase) // n[index].astype(np.uint64)  # integers: exact on every machine
    turns = np.empty(count, np.int64)
    turns[by_partition[np.lexsort((random[by_partition], way))]] = np.arange(count)
    return turns


def _starts(lanes: int, seed: int, epoch: int) -> I64:
    """int64, shape (lanes,): where in the cycle each lane starts; all places are different.

    The remainders modulo 2 are ordered at random, within each of them those modulo 4, and so on through the factors of
    ``lanes``. Thus the lanes of one of 2, 4 or 8 readers, which share a remainder, start at neighbouring places, and
    the reader's open blocks are spread over all partitions too.
    """
    lane, divisors = np.arange(lanes), [1]
    for factor in range(2, lanes + 1):
        while (lanes // divisors[-1]) % factor == 0:
            divisors.append(divisors[-1] * factor)
    by_remainder = [keys(d, seed, epoch, _LANE, d)[lane % d] for d in divisors]
    starts = np.empty(lanes, np.int64)
    starts[np.lexsort(by_remainder[::-1])] = lane
    return starts
