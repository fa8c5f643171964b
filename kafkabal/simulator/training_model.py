"""How long training takes with data placed as it is: data-parallel readers wait for the slowest shard.

Readers fetch shards in parallel, one shard a broker (or one for a storage system), and meet after every batch. With
bytes ``B``, records ``n`` and rate ``r`` of each shard, ``c`` seconds of computing a record and ``readers`` readers::

    read    = max over shards of (B / r + n x latency)
    compute = records x c / readers
    epoch   = read + compute             nothing is fetched ahead
            = max(read, compute)         batches are fetched while others are computed with
    train   = epochs x epoch, + the first batch where batches are fetched ahead

The part of a shard that fits into the cache is fetched in the first epoch only. Shards of unequal size make ``read``
grow with the largest one: where reading decides, a shard of twice the mean costs half of the speed.

References
----------
Synchronous data parallelism waits for the slowest worker: Chen et al., *Revisiting Distributed Synchronous SGD*,
arXiv 1604.00981.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64
from kafkabal.simulator.storage_profiles import StorageProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What is done with the data."""

    epochs: int = 2
    compute_s: float = 0.0009
    """Seconds of computing a record, 0 or more."""
    record_bytes: float = 200e3
    """What a record takes in the log, mean, > 0."""
    batch_records: int = 64
    prefetch_batches: int = 0
    """Batches fetched while others are computed with; 0 is none."""
    cache_bytes: float = 0.0
    """Of each shard, kept from one epoch to the next."""
    inference_bytes: float = 10e6
    """What one inference reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """Seconds."""

    load_s: float
    """Reading everything once, in one sweep."""
    train_s: float
    inference_s: float
    even_train_s: float
    """Training if every shard had its fair part for its rate."""
    compute_s: float
    """Of the training, what computing takes."""

    @property
    def waiting_fraction(self) -> float:
        """Part of the training in which nothing is computed, 0 to 1."""
        return max(0.0, 1 - self.compute_s / self.train_s) if self.train_s else 0.0

    @property
    def loss(self) -> float:
        """Part of the speed that uneven shards cost, 0 to 1."""
        return 1 - self.even_train_s / self.train_s if self.train_s else 0.0


def training_time(
    shard_bytes: F64, job: TrainingJob, profile: StorageProfile, rates_bytes_per_s: F64 | None = None
) -> TrainingTime:
    """Predict how long training takes.

    Parameters
    ----------
    shard_bytes
        float64, shape (n_shards,): bytes of each in the log, which are those that are fetched; an empty shard has no
        reader to wait for, but its rate is not used.
    rates_bytes_per_s
        float64, shape (n_shards,), > 0: rate of each; the profile's where it is None.

    Raises
    ------
    UsageError
        If the bytes are 0.
    """
    total = float(shard_bytes.sum())
    if not total > 0:
        raise UsageError("nothing to train on: the topic is empty")
    rates = np.full(len(shard_bytes), profile.bytes_per_s) if rates_bytes_per_s is None else rates_bytes_per_s
    even = total * rates / rates.sum()
    return TrainingTime(
        load_s=float((shard_bytes / rates).max()),
        train_s=_train_s(shard_bytes, rates, job, profile),
        inference_s=profile.latency_s + job.inference_bytes / float(rates.max()),
        even_train_s=_train_s(even, rates, job, profile),
        compute_s=job.epochs * _compute_s(shard_bytes, job),
    )


def _train_s(shard_bytes: F64, rates: F64, job: TrainingJob, profile: StorageProfile) -> float:
    compute_s = _compute_s(shard_bytes, job)
    uncached = np.maximum(shard_bytes - job.cache_bytes, 0.0)
    first_s = _epoch_s(_read_s(shard_bytes, rates, job, profile), compute_s, job)
    later_s = _epoch_s(_read_s(uncached, rates, job, profile), compute_s, job)
    batch_bytes = np.minimum(shard_bytes, job.batch_records * job.record_bytes / len(shard_bytes))
    ahead_s = _read_s(batch_bytes, rates, job, profile) if job.prefetch_batches else 0.0
    return ahead_s + first_s + (job.epochs - 1) * later_s


def _compute_s(shard_bytes: F64, job: TrainingJob) -> float:
    """Of an epoch."""
    return float(shard_bytes.sum()) / job.record_bytes * job.compute_s / len(shard_bytes)


def _epoch_s(read_s: float, compute_s: float, job: TrainingJob) -> float:
    return max(read_s, compute_s) if job.prefetch_batches else read_s + compute_s


def _read_s(shard_bytes: F64, rates: F64, job: TrainingJob, profile: StorageProfile) -> float:
    return float((shard_bytes / rates + shard_bytes / job.record_bytes * profile.latency_s).max())
