"""The failures of a case: which broker fails when, including random ones, and their effect on the cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kafkabal.watch.simulation.simulation_case import BrokerFault, SimulationCase

_SHORTEST, _LONGEST = 0.1, 2.0


def faults_of(case: SimulationCase, brokers: Sequence[int], for_s: float) -> tuple[BrokerFault, ...]:
    """All faults within a time, sorted by their beginning; random ones never overlap.

    Parameters
    ----------
    brokers
        Ids of brokers that random faults may affect; without any, there are none.
    """
    return tuple(sorted((*case.faults, *_drawn(case, brokers, for_s)), key=lambda fault: (fault.at_s, fault.broker)))


def _drawn(case: SimulationCase, brokers: Sequence[int], for_s: float) -> list[BrokerFault]:
    rule = case.random_faults
    if rule is None or not brokers:
        return []
    source = np.random.default_rng((case.seed, 1))
    scripted = [(f.at_s, f.at_s + f.for_s) for f in case.faults]
    found: list[BrokerFault] = []
    at_s = 0.0
    while True:
        at_s += float(source.exponential(rule.every_s))
        lasting_s = float(np.clip(source.exponential(rule.for_s), _SHORTEST * rule.for_s, _LONGEST * rule.for_s))
        broker = int(source.choice(brokers))
        if at_s >= for_s:
            return found
        if any(begin < at_s + lasting_s and at_s < end for begin, end in scripted):
            continue
        found.append(BrokerFault(broker=broker, at_s=at_s, for_s=lasting_s, kind=rule.kind))
        at_s += lasting_s


def last_change_s(case: SimulationCase, faults: Sequence[BrokerFault]) -> float:
    """When the last broker failed, came back or joined; 0 if none did."""
    times = [0.0, *(b.at_s for b in case.new_brokers)]
    for fault in faults:
        times += [fault.at_s, fault.at_s + fault.for_s if math.isfinite(fault.for_s) else fault.at_s]
    return max(times)
