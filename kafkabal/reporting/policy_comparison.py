"""What ``route-simulate`` found: the runs of each policy, the most even one first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafkabal.routing import RoutingView
from kafkabal.simulator import PolicyRuns, TrainingSetup, Workload


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """All that was simulated, most even policy first."""

    view: RoutingView
    workload: Workload
    policies: tuple[PolicyRuns, ...]
    training: Mapping[str, TrainingSetup] = field(default_factory=dict)
    """By the storage that each broker is read like."""

    @classmethod
    def ranked(
        cls,
        view: RoutingView,
        workload: Workload,
        policies: Sequence[PolicyRuns],
        training: Mapping[str, TrainingSetup],
    ) -> PolicyComparison:
        """Put the policies in order of how evenly they leave the brokers."""
        order = sorted(policies, key=lambda runs: (runs.figure(lambda run: run.max_over_mean).mean, runs.label))
        return cls(view, workload, tuple(order), training)
