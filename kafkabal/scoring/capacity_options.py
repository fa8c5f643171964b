"""What a user may choose of the built-in scores: what holders are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kafkabal.config import Settings
from kafkabal.model import Default
from kafkabal.scoring.score_protocol import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Choices that hold for all scores of a command."""

    count_by_disk: bool = False
    """Brokers are due replicas and leaders in proportion to their disks, instead of the same number each."""
    nic_rate_bytes_per_s: Mapping[int | Default, int] = field(default_factory=dict)
    """The network bandwidth of each broker, by id or for all others; empty: the same for all."""


def score_options(settings: Settings) -> ScoreOptions:
    """What the settings of a command choose."""
    return ScoreOptions(
        count_by_disk=settings.count_capacity == "disk", nic_rate_bytes_per_s=settings.nic_rate_bytes_per_s
    )


@runtime_checkable
class Configurable(Protocol):
    """A score that takes options."""

    def configured(self, options: ScoreOptions) -> Score:
        """The score as the options want it."""
