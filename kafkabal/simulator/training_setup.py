"""The storage and the job of a training, from a profile name or a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafkabal.config import (
    Schema,
    YamlNode,
    positive_rate,
    positive_size,
    positive_whole,
    read_fields,
    read_filled_yaml,
    value_parsers,
)
from kafkabal.errors import UsageError
from kafkabal.model import F64, I32
from kafkabal.simulator.storage_profiles import PROFILES, StorageProfile
from kafkabal.simulator.training_model import TrainingJob
from kafkabal.wording import first_of

_ALL: Final = "all"
"""In place of a name: every profile."""


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """A storage profile, a job, and the brokers with a read rate of their own."""

    profile: StorageProfile
    job: TrainingJob = field(default_factory=TrainingJob)
    own_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    """By broker id, > 0; all other brokers are read at the profile's rate."""
    gives_record_size: bool = True
    """Whether the size of a record is that of the job, and not that of the data."""

    def job_on(self, record_bytes: float) -> TrainingJob:
        """The job on data with records of this mean size in the log; 0 if it is unknown."""
        if self.gives_record_size or not record_bytes:
            return self.job
        return replace(self.job, record_bytes=record_bytes)

    def rates(self, broker_id: I32) -> F64:
        """float64, shape (n_brokers,): bytes per second at which each of these brokers is read."""
        rate = self.profile.bytes_per_s
        return np.array([self.own_bytes_per_s.get(broker, rate) for broker in broker_id.tolist()])

    def check_brokers(self, broker_id: I32) -> None:
        """Check that every broker with a rate of its own is among these.

        Raises
        ------
        UsageError
            Naming a broker that is not.
        """
        unknown = sorted(set(self.own_bytes_per_s) - set(broker_id.tolist()))
        if unknown:
            raise UsageError(
                f"unknown broker in read_rate: {unknown[0]}",
                hint=f"choose from: {first_of(broker_id.tolist())}",
            )


def load_trainings(named: Sequence[str], path: Path | None = None) -> Mapping[str, TrainingSetup]:
    """Profiles by name, or ``all`` of them: built-in ones, and those of a YAML file, which may also describe the job.

    Without ``record``, records are as long as those of the data.

    ::

        profiles: {nas: {rate: 300MB/s, latency: 1ms}}
        job: {epochs: 5, compute: 2ms, record: 110kB, batch: 64, prefetch: 4, cache: 10GB, inference: 10MB}
        read_rate: {default: 300MB/s, 3: 50MB/s}    # or one rate for all, in place of the profile's

    Raises
    ------
    UsageError
        If a profile is unknown, or a key or value in the file is invalid.
    """
    profiles, job, rates = _read_training(path)
    names = [*profiles] if _ALL in named else dict.fromkeys(named)
    return {name: _setup(name, profiles, job, rates) for name in names}


def _read_training(
    path: Path | None,
) -> tuple[dict[str, StorageProfile], dict[str, Any], value_parsers.PerBroker[float]]:
    """Profiles, what is said about the job, and the rates of brokers."""
    profiles, job = dict(PROFILES), dict[str, Any]()
    rates: value_parsers.PerBroker[float] = {}
    if path is not None:
        entries = value_parsers.check_keys(read_filled_yaml(path), ("profiles", "job", "read_rate"), "a training file")
        if "profiles" in entries:
            own = value_parsers.mapping(entries["profiles"])
            if _ALL in own:
                raise own[_ALL].key_error(
                    f"reserved name of a storage profile: {_ALL!r}", hint=f"rename it; {_ALL!r} selects every profile"
                )
            profiles |= {name: _profile(node) for name, node in own.items()}
        if "job" in entries:
            job = read_fields(entries["job"], _JOB, "job")
        if "read_rate" in entries:
            rates = value_parsers.per_broker(positive_rate)(entries["read_rate"])
    return profiles, job, rates


def _setup(
    name: str,
    profiles: Mapping[str, StorageProfile],
    job: Mapping[str, Any],
    rates: value_parsers.PerBroker[float],
) -> TrainingSetup:
    if name not in profiles:
        raise UsageError(f"unknown storage profile: {name!r}", hint=f"choose from: {', '.join(sorted(profiles))}")
    profile = profiles[name]
    own_rates = {broker: rate for broker, rate in rates.items() if broker != "default"}
    return TrainingSetup(
        replace(profile, bytes_per_s=rates.get("default", profile.bytes_per_s)),
        TrainingJob(**job),
        own_rates,
        gives_record_size="record_bytes" in job,
    )


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
