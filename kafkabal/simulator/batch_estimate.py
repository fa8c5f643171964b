"""How many records a batch gets, where delivery is not simulated.

A batch is closed when it is full or has lingered. A producer makes ``m`` records in a linger time; the first
opens the batch, so that it gets one record and those of the next ``m`` that go to the same partition.

*How many of the next m.* A fraction ``f`` of all records goes to the partition. Decided one by one, ``f m`` would
follow. A policy that stays is taken for a chain: with probability ``k`` a record goes where the one before went, else
it is decided by itself. The i-th record after one in the partition is then there with probability
``f + (1 - f) k^i``, and

    following = f m + (1 - f) k (1 - k^m) / (1 - k)

By itself a record stays with probability ``c``, the sum of ``f^2`` over the partitions; of a chain, a part
``a = c + (1 - c) k`` stays. Counting ``a`` gives ``k = (a - c) / (1 - c)``.

*Where a policy avoids the last partition* (``a < c``), partitions come in turns, and as many records are between two of
one partition each time. In a window of m records that begins at one of them, whole turns are counted: on average
``(1 - f) / 2`` fewer than ``f m``, and never less than none. In between goes the part ``1 - a / c``.

*How many fill it.* A record that finds no room opens the next batch. What is left free is what the record that did not
fit had before the end, on average half of its size, ``s (1 + v) / 2`` with sizes of mean ``s`` and squared coefficient
of variation ``v``, as such a record is met in proportion to its size (the paradox of inspection). A batch of ``B``
bytes therefore gets ``B / s - (1 + v) / 2``, at least 1; records of one size, ``floor(B / s)``.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64


def records_until_closed(fraction: F64, staying: float | None, linger_records: float, full_records: float) -> F64:
    """Mean number of records in a batch of each partition: float64, shape (n_partitions,), 1 or more.

    Parameters
    ----------
    fraction
        float64, shape (n_partitions,), sum 1: of a producer's records, those that go to each partition.
    staying
        Part of its records, 0 to 1, that go where its record before went; None for as many as would by chance.
    linger_records
        How many it makes in a linger time.
    full_records
        How many fill a batch, see :func:`records_until_full`.
    """
    by_chance = float((fraction**2).sum())
    following = fraction * linger_records
    if staying is None:
        return np.minimum(1 + following, full_records)
    if staying < by_chance:
        in_turns = 1 - staying / by_chance
        following -= in_turns * np.minimum(following, (1 - fraction) / 2)
    elif by_chance < 1:
        again = min((staying - by_chance) / (1 - by_chance), 1 - 1e-9)
        following += (1 - fraction) * again * (1 - again**linger_records) / (1 - again)
    return np.minimum(1 + following, full_records)


def records_until_full(size_bytes: I64, batch_bytes: int) -> float:
    """Mean number of records in a batch that is closed when the next finds no room, 1 or more.

    Parameters
    ----------
    size_bytes
        int64, shape (n,), n >= 1, > 0: a sample of the sizes.
    """
    mean = float(size_bytes.mean())
    variation2 = float(size_bytes.var()) / mean**2
    if not variation2:
        return float(max(1, batch_bytes // int(size_bytes[0])))
    return max(1.0, batch_bytes / mean - (1 + variation2) / 2)
