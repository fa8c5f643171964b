"""How often a watch observes what, and what it may heal."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkabal.watch.broker_health import HealthRules
from kafkabal.watch.heal_policy import HealPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How often to observe what."""

    every_s: float = 5.0
    state_every_s: float = 30.0
    broker_timeout_s: float = 3.0
    rules: HealthRules = field(default_factory=HealthRules)
    policy: HealPolicy = field(default_factory=HealPolicy)
