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
"Lustre for training IO" gives the figures that the built-in profiles reproduce; synchronous data parallelism waits
for the slowest worker (Chen et al., *Revisiting Distributed Synchronous SGD*, arXiv 1604.00981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from kafkabal.config import (
    Schema,
    YamlNode,
    positive_rate,
    positive_size,
    positive_whole,
    read_fields,
    read_yaml,
    value_parsers,
)
from kafkabal.errors import UsageError
from kafkabal.model import F64, I32


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


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """A storage profile, a job, and the brokers that are read at a rate of their own."""

    profile: StorageProfile
    job: TrainingJob = TrainingJob()
    own_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    """By broker id, > 0; all others are read at the rate of the profile."""

    def rates(self, broker_id: I32) -> F64:
        """float64, shape (n_brokers,): bytes a second at which each of these brokers is read."""
        rate = self.profile.bytes_per_s
        return np.array([self.own_bytes_per_s.get(broker, rate) for broker in broker_id.tolist()])

    def expect_brokers(self, broker_id: I32) -> None:
        """See that every broker with a rate of its own is among these.

        Raises
        ------
        UsageError
            Naming one that is not.
        """
        strangers = sorted(set(self.own_bytes_per_s) - set(broker_id.tolist()))
        if strangers:
            raise UsageError(
                f"unknown broker in read_rate: {strangers[0]}",
                hint=f"choose from: {', '.join(map(str, broker_id.tolist()))}",
            )


def load_trainings(named: Sequence[str], path: Path | None = None) -> Mapping[str, TrainingSetup]:
    """Several profiles by their names, ``all`` for every one; see :func:`load_training`."""
    profiles, job, rates = _read_training(path)
    names = [*profiles] if "all" in named else dict.fromkeys(named)
    return {name: _setup(name, profiles, job, rates) for name in names}


def load_training(name: str, path: Path | None = None) -> TrainingSetup:
    """A built-in profile by its name, or one of a YAML file, which may also describe the job.

    ::

        profiles: {nas: {rate: 300MB/s, latency: 1ms}}
        job: {epochs: 5, compute: 2ms, record: 110kB, batch: 64, prefetch: 4, cache: 10GB, inference: 10MB}
        read_rate: {default: 300MB/s, 3: 50MB/s}    # or one rate for all, in place of the profile's

    Raises
    ------
    UsageError
        If the profile is unknown, or a key or value in the file is wrong.
    """
    return _setup(name, *_read_training(path))


def _read_training(path: Path | None) -> tuple[dict[str, StorageProfile], TrainingJob, value_parsers.PerBroker[float]]:
    profiles, job = dict(PROFILES), TrainingJob()
    rates: value_parsers.PerBroker[float] = {}
    if path is not None:
        entries = value_parsers.check_keys(read_yaml(path), ("profiles", "job", "read_rate"), "a training file")
        if "profiles" in entries:
            own = value_parsers.mapping(entries["profiles"])
            profiles |= {name: _profile(node) for name, node in own.items()}
        if "job" in entries:
            job = TrainingJob(**read_fields(entries["job"], _JOB, "job"))
        if "read_rate" in entries:
            rates = value_parsers.per_broker(positive_rate)(entries["read_rate"])
    return profiles, job, rates


def _setup(
    name: str,
    profiles: Mapping[str, StorageProfile],
    job: TrainingJob,
    rates: value_parsers.PerBroker[float],
) -> TrainingSetup:
    if name not in profiles:
        raise UsageError(f"unknown storage profile: {name!r}", hint=f"choose from: {', '.join(sorted(profiles))}")
    profile = profiles[name]
    own_rates = {broker: rate for broker, rate in rates.items() if broker != "default"}
    return TrainingSetup(replace(profile, bytes_per_s=rates.get("default", profile.bytes_per_s)), job, own_rates)


def _profile(node: YamlNode) -> StorageProfile:
    found = read_fields(node, _PROFILE, "a profile")
    if "bytes_per_s" not in found:
        raise node.error("storage profile without a rate")
    return StorageProfile(**found)


_PROFILE: Schema = {"rate": ("bytes_per_s", positive_rate), "latency": ("latency_s", value_parsers.duration)}
_JOB: Schema = {
    "epochs": ("epochs", positive_whole),
    "compute": ("compute_s", value_parsers.duration),
    "record": ("record_bytes", positive_size),
    "batch": ("batch_records", positive_whole),
    "prefetch": ("prefetch_batches", value_parsers.whole_number),
    "cache": ("cache_bytes", value_parsers.size),
    "inference": ("inference_bytes", positive_size),
}
