"""Predicts how long training takes with a placement: data-parallel readers wait for the slowest shard.

Readers fetch shards in parallel, one shard per broker (or one for a storage system), and synchronise after every batch.
With bytes ``B``, records ``n`` and rate ``r`` of each shard, ``c`` seconds of computing per record and ``readers``
readers::

    read    = max over shards of (B / r + n x latency)
    compute = records x c / readers
    epoch   = read + compute             without prefetching
            = max(read, compute)         if batches are prefetched during computing
    train   = epochs x epoch, + the first batch if batches are prefetched

The part of a shard that fits into the cache is fetched in the first epoch only. ``read`` grows with the largest shard:
if training is bound by reading, a shard of twice the mean halves the speed.

References
----------
Synchronous data parallelism waits for the slowest worker: Chen et al., *Revisiting Distributed Synchronous SGD*, arXiv
1604.00981.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64
from kafkabal.simulator.storage_profiles import StorageProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What training does with the data."""

    epochs: int = 2
    compute_s: float = 0.0009
    """Seconds of computing per record, 0 or more."""
    record_bytes: float = 200e3
    """Mean size of a record in the log, > 0."""
    batch_records: int = 64
    prefetch_batches: int = 0
    """Batches fetched during computing; 0 for no prefetching."""
    cache_bytes: float = 0.0
    """Bytes of each shard that are kept from one epoch to the next."""
    inference_bytes: float = 10e6
    """Bytes that one inference reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """Seconds."""

    load_s: float
    """Reading everything once, sequentially."""
    train_s: float
    inference_s: float
    even_train_s: float
    """Training if reading every shard took the same time."""
    compute_s: float
    """The part of the training spent on computing."""

    @property
    def waiting_fraction(self) -> float:
        """Fraction of the training in which nothing is computed, 0 to 1."""
        return max(0.0, 1 - self.compute_s / self.train_s) if self.train_s else 0.0

    @property
    def slowdown(self) -> float:
        """Fraction of the speed lost to unequal shards, 0 to 1."""
        # with a cache, shards that are balanced for the first epoch need not be so for the others
        return max(0.0, 1 - self.even_train_s / self.train_s) if self.train_s else 0.0

    @classmethod
    def mean(cls, times: Sequence[TrainingTime]) -> TrainingTime:
        """Mean of several trainings, at least one."""
        return cls(**{field.name: fmean(getattr(time, field.name) for time in times) for field in fields(cls)})


def training_time(
    shard_bytes: F64, job: TrainingJob, profile: StorageProfile, rates_bytes_per_s: F64 | None = None
) -> TrainingTime:
    """Predict how long training takes.

    Parameters
    ----------
    shard_bytes
        float64, shape (n_shards,): bytes of each in the log, as they are fetched; an empty shard delays no reader, but
        its rate is not used either.
    rates_bytes_per_s
        float64, shape (n_shards,), > 0: rate of each; None uses the profile's.

    Raises
    ------
    UsageError
        If the bytes are 0.
    """
    total = float(shard_bytes.sum())
    if not total > 0:
        raise UsageError("nothing to train on: the topic is empty")
    rates = np.full(len(shard_bytes), profile.bytes_per_s) if rates_bytes_per_s is None else rates_bytes_per_s
    per_byte_s = 1 / rates + profile.latency_s / job.record_bytes
    even = total / per_byte_s / (1 / per_byte_s).sum()
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
    """Seconds of computing per epoch."""
    return float(shard_bytes.sum()) / job.record_bytes * job.compute_s / len(shard_bytes)


def _epoch_s(read_s: float, compute_s: float, job: TrainingJob) -> float:
    return max(read_s, compute_s) if job.prefetch_batches else read_s + compute_s


def _read_s(shard_bytes: F64, rates: F64, job: TrainingJob, profile: StorageProfile) -> float:
    return float((shard_bytes / rates + shard_bytes / job.record_bytes * profile.latency_s).max())
