"""What training takes when its data lie as they do: data-parallel readers wait for the slowest shard.

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
"Lustre for training IO" gives the figures that the built-in profiles reproduce; synchronous data parallelism waits
for the slowest worker (Chen et al., *Revisiting Distributed Synchronous SGD*, arXiv 1604.00981).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.config import values
from kafkabal.config.document import read_yaml
from kafkabal.errors import UsageError
from kafkabal.routing.fields import positive_rate, positive_size, positive_whole, read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kafkabal.config.document import Node
    from kafkabal.model.state import F64
    from kafkabal.routing.fields import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProfile:
    """How quickly a shard is read."""

    bytes_per_s: float
    """Of one shard, > 0."""
    latency_s: float = 0.0
    """What a record costs besides its bytes when records are read one by one, 0 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What is done with the data."""

    epochs: int = 2
    compute_s: float = 0.0009
    """Seconds of computing a record, 0 or more."""
    record_bytes: float = 200e3
    """Mean, > 0."""
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

    @property
    def loss(self) -> float:
        """Part of the speed that uneven shards cost, 0 to 1."""
        return 1 - self.even_train_s / self.train_s if self.train_s else 0.0


PROFILES: Mapping[str, StorageProfile] = MappingProxyType(
    {
        "local-ssd": StorageProfile(bytes_per_s=500e6, latency_s=0.0002),
        "nfs": StorageProfile(bytes_per_s=250e6, latency_s=0.0003),
        "lustre": StorageProfile(bytes_per_s=1e9, latency_s=0.0001),
    }
)
REFERENCE_BYTES = 60e9
"""Data set for which the profiles give the article's figures, as one shard with the default job."""


def training_time(
    shard_bytes: F64, job: TrainingJob, profile: StorageProfile, rates_bytes_per_s: F64 | None = None
) -> TrainingTime:
    """Predict how long training takes.

    Parameters
    ----------
    shard_bytes
        float64, shape (n_shards,): bytes of each; an empty shard has no reader to wait for, but its rate is not used.
    rates_bytes_per_s
        float64, shape (n_shards,), > 0: rate of each; that of the profile where it is None.

    Raises
    ------
    UsageError
        If there are no bytes at all.
    """
    total = float(shard_bytes.sum())
    if not total > 0:
        raise UsageError("there is nothing to train with: the topic holds no bytes")
    rates = np.full(len(shard_bytes), profile.bytes_per_s) if rates_bytes_per_s is None else rates_bytes_per_s
    even = total * rates / rates.sum()
    return TrainingTime(
        load_s=float((shard_bytes / rates).max()),
        train_s=_train_s(shard_bytes, rates, job, profile),
        inference_s=profile.latency_s + job.inference_bytes / float(rates.max()),
        even_train_s=_train_s(even, rates, job, profile),
    )


def _train_s(shard_bytes: F64, rates: F64, job: TrainingJob, profile: StorageProfile) -> float:
    compute_s = float(shard_bytes.sum()) / job.record_bytes * job.compute_s / len(shard_bytes)
    uncached = np.maximum(shard_bytes - job.cache_bytes, 0.0)
    first_s = _epoch_s(_read_s(shard_bytes, rates, job, profile), compute_s, job)
    later_s = _epoch_s(_read_s(uncached, rates, job, profile), compute_s, job)
    batch_bytes = np.minimum(shard_bytes, job.batch_records * job.record_bytes / len(shard_bytes))
    ahead_s = _read_s(batch_bytes, rates, job, profile) if job.prefetch_batches else 0.0
    return ahead_s + first_s + (job.epochs - 1) * later_s


def _epoch_s(read_s: float, compute_s: float, job: TrainingJob) -> float:
    return max(read_s, compute_s) if job.prefetch_batches else read_s + compute_s


def _read_s(shard_bytes: F64, rates: F64, job: TrainingJob, profile: StorageProfile) -> float:
    return float((shard_bytes / rates + shard_bytes / job.record_bytes * profile.latency_s).max())


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """A storage profile and a job."""

    profile: StorageProfile
    job: TrainingJob = TrainingJob()


def load_training(chosen: str, path: Path | None = None) -> TrainingSetup:
    """A built-in profile by its name, or one of a YAML file, which may also describe the job.

    ::

        profiles: {nas: {rate: 300MB/s, latency: 1ms}}
        job: {epochs: 5, compute: 2ms, record: 110kB, batch: 64, prefetch: 4, cache: 10GB, inference: 10MB}

    Raises
    ------
    UsageError
        If there is no such profile, or a key or value in the file is wrong.
    """
    profiles, job = dict(PROFILES), TrainingJob()
    if path is not None:
        entries = values.check_keys(read_yaml(path), ("profiles", "job"), "a training file")
        if "profiles" in entries:
            own = values.mapping(entries["profiles"])
            profiles |= {name: _profile(node) for name, node in own.items()}
        if "job" in entries:
            job = TrainingJob(**read_fields(entries["job"], _JOB, "job"))
    if chosen not in profiles:
        raise UsageError(f"there is no storage profile {chosen!r}", hint=f"there are: {', '.join(sorted(profiles))}")
    return TrainingSetup(profiles[chosen], job)


def _profile(node: Node) -> StorageProfile:
    found = read_fields(node, _PROFILE, "a profile")
    if "bytes_per_s" not in found:
        raise node.error("a profile needs a rate")
    return StorageProfile(**found)


_PROFILE: Schema = {"rate": ("bytes_per_s", positive_rate), "latency": ("latency_s", values.duration)}
_JOB: Schema = {
    "epochs": ("epochs", positive_whole),
    "compute": ("compute_s", values.duration),
    "record": ("record_bytes", positive_size),
    "batch": ("batch_records", positive_whole),
    "prefetch": ("prefetch_batches", values.whole_number),
    "cache": ("cache_bytes", values.size),
    "inference": ("inference_bytes", positive_size),
}
