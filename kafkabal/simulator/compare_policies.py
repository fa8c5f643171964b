"""Compares policies under one workload and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kafkabal.model import F64
from kafkabal.routing import About, PolicyChoice, RoutingView
from kafkabal.simulator.balance_and_latency_statistics import Estimate, estimate
from kafkabal.simulator.policy_outcome import PolicyOutcome
from kafkabal.simulator.simulate_policy import SimulationOptions, check_simulable, simulate
from kafkabal.simulator.training_setup import TrainingSetup
from kafkabal.simulator.workload import Workload


@dataclass(frozen=True, slots=True)
class PolicyRuns:
    """One policy under all seeds, at least one."""

    runs: tuple[PolicyOutcome, ...]

    @property
    def label(self) -> str:
        """The policy as the user wrote it."""
        return self.runs[0].label

    @property
    def about(self) -> About:
        """The policy's description."""
        return self.runs[0].about

    def figure(self, of: Callable[[PolicyOutcome], float], least: float | None = None) -> Estimate:
        """Mean of a figure over the seeds, with the prediction interval for one more run; see :func:`estimate`."""
        return estimate([of(run) for run in self.runs], least)

    def column(self, of: Callable[[PolicyOutcome], F64]) -> F64:
        """float64, shape (n_brokers,): mean of a column over the seeds."""
        return np.asarray(np.mean([of(run) for run in self.runs], axis=0), np.float64)


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """All that was simulated, best balanced policy first."""

    view: RoutingView
    workload: Workload
    policies: tuple[PolicyRuns, ...]
    training: Mapping[str, TrainingSetup] = field(default_factory=dict)
    """By the storage from which each broker is read."""

    @property
    def has_latencies(self) -> bool:
        """Whether delivery was simulated for some policy: for those that depend on it, it always is."""
        return any(run.latency is not None for runs in self.policies for run in runs.runs)

    @classmethod
    def ranked(
        cls,
        view: RoutingView,
        workload: Workload,
        policies: Sequence[PolicyRuns],
        training: Mapping[str, TrainingSetup],
    ) -> PolicyComparison:
        """Sort the policies by how balanced they leave the brokers."""
        order = sorted(policies, key=lambda runs: (runs.figure(lambda run: run.max_over_mean).mean, runs.label))
        return cls(view, workload, tuple(order), training)


def compare(
    view: RoutingView,
    choices: Sequence[PolicyChoice],
    workload: Workload,
    seeds: Sequence[int],
    options: SimulationOptions,
) -> Iterator[PolicyRuns]:
    """Simulate one policy after the other; with the same seed all of them get the same records.

    Raises
    ------
    UsageError
        See :func:`~kafkabal.simulator.simulate_policy.simulate`; the options of all policies are checked before the
        first simulation.
    """
    for choice in choices:
        check_simulable(view, choice, options)
    for choice in choices:
        yield PolicyRuns(tuple(simulate(view, choice, workload, replace(options, seed=seed)) for seed in seeds))
