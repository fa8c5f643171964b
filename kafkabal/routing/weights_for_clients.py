"""What a client needs to distribute the bytes of a topic as one of our policies does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kafkabal.model import F64, I32


@dataclass(frozen=True, slots=True, eq=False)
class ClientWeights:
    """Arguments of :class:`~kafkabal.routing.byte_stride.ByteStride`: a client that has them picks the same
    partitions."""

    weights: F64
    """float64, shape (n_partitions,), >= 0, summing to 1."""
    leader: I32
    """int32, shape (n_partitions,): row of the broker that leads each partition, -1 if none does."""
    slot_bytes: int
    slot_part: float
    """Maximum length of a slot over what each broker got so far; infinite if bytes are not balanced."""


@runtime_checkable
class WeightsPolicy(Protocol):
    """A policy whose picks between two views follow from weights alone."""

    def client_weights(self) -> ClientWeights:
        """What it routes by; only after the first view."""
