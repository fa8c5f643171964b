"""Storage systems that training data is read from: rate and latency of each kind.

References
----------
The built-in profiles reproduce the figures of "Lustre for training IO", for one shard of 60 GB and the default job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProfile:
    """How fast a shard is read."""

    bytes_per_s: float
    """Rate of one shard, > 0."""
    latency_s: float = 0.0
    """Seconds per record in addition to its bytes if records are read one by one, 0 or more."""


PROFILES: Mapping[str, StorageProfile] = MappingProxyType(
    {
        "local-ssd": StorageProfile(bytes_per_s=500e6, latency_s=0.0002),
        "nfs": StorageProfile(bytes_per_s=250e6, latency_s=0.0003),
        "lustre": StorageProfile(bytes_per_s=1e9, latency_s=0.0001),
    }
)
