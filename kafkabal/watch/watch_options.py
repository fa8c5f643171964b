"""How often a watch observes what, and what it may heal."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkabal.watch.broker_health import HealthRules
from kafkabal.watch.heal_policy import HealPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How often to observe what."""

    every_s: float = 5.0
    again_after_s: float = 2.0
    """Instead of ``every_s`` while a broker may turn out to be slow. One that stalls for 0.3 s of each second was found
    after 5 to 9 s instead of 13 to 17, at a load of 7 to 12 on two cores."""
    state_every_s: float = 30.0
    broker_timeout_s: float = 3.0
    rules: HealthRules = field(default_factory=HealthRules)
    policy: HealPolicy = field(default_factory=HealPolicy)
