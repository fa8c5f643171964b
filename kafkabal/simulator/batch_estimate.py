"""Estimates how many records a batch gets when delivery is not simulated.

A batch is closed when it is full or has lingered. A producer makes ``m`` records in a linger time. The first opens the
batch, so the batch gets that record and those of the next ``m`` that go to the same partition.

*How many of the next m.* A fraction ``f`` of all records goes to the partition. If each record is picked independently,
``f m`` follow. A policy that stays with a partition is modelled as a Markov chain: with probability ``k`` a record goes
where the previous one went, otherwise it is picked independently. The i-th record after one in the partition is then
there with probability ``f + (1 - f) k^i``, and

    following = f m + (1 - f) k (1 - k^m) / (1 - k)

Independent records stay with probability ``c``, the sum of ``f^2`` over the partitions; in the chain, a fraction ``a =
c + (1 - c) k`` stays. So the observed ``a`` gives ``k = (a - c) / (1 - c)``.

*If a policy avoids the last partition* (``a < c``), partitions take turns, and the distance between two records of one
partition is constant. In a window of m records that starts at one of them, only whole turns count: on average ``(1 - f)
/ 2`` fewer than ``f m``, but not less than 0. If it avoids it only partly, the fraction ``1 - a / c`` of that is
deducted.

*How many fill it.* A record that does not fit opens the next batch. The space it leaves free is on average half of its
size, ``s (1 + v) / 2`` for sizes of mean ``s`` and squared coefficient of variation ``v``, because such a record is met
in proportion to its size (the inspection paradox). A batch of ``B`` bytes therefore gets ``B / s - (1 + v) / 2``
records, at least 1; if all records have one size, ``floor(B / s)``.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64


def records_until_closed(fraction: F64, staying: float | None, linger_records: float, full_records: float) -> F64:
    """Mean number of records in a batch of each partition: float64, shape (n_partitions,), 1 or more.

    Parameters
    ----------
    fraction
        float64, shape (n_partitions,), sum 1: fraction of a producer's records that goes to each partition.
    staying
        Fraction of its records, 0 to 1, that go where its previous record went; None for as many as by chance.
    linger_records
        Number of records it makes in a linger time.
    full_records
        Number of records that fill a batch, see :func:`records_until_full`.
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
    """Mean number of records in a batch that is closed when the next record does not fit, 1 or more.

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
