"""User options of the built-in scores: the capacities that loads are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kafkabal.config import Settings
from kafkabal.model import Default
from kafkabal.scoring.score_protocol import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Options that apply to all scores of a command."""

    count_by_disk: bool = False
    """Brokers are due replicas and leaders in proportion to their disks, instead of equal numbers."""
    nic_rate_bytes_per_s: Mapping[int | Default, int] = field(default_factory=dict)
    """Network bandwidth by broker id, or the default for all others; empty if all are equal."""


def score_options(settings: Settings) -> ScoreOptions:
    """The score options in the settings of a command."""
    return ScoreOptions(
        count_by_disk=settings.count_capacity == "disk", nic_rate_bytes_per_s=settings.nic_rate_bytes_per_s
    )


@runtime_checkable
class Configurable(Protocol):
    """A score that takes options."""

    def configured(self, options: ScoreOptions) -> Score:
        """The score with these options."""
