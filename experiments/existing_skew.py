"""Experiment 3: brokers start with unequal data, and new records balance them without a move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.experiment_sandbox import LIBRDKAFKA, ExperimentSandbox
from experiments.imbalances import IMBALANCES, Build, held_bytes, imbalance
from experiments.report import Finding

_UNIT_RECORDS = 1_000
_RECORD_BYTES = 2_000
_STEPS = 8
_GOAL = 1.05
_POLICIES = (LIBRDKAFKA, "round-robin", "least-loaded", "power-of-d", "smooth-weighted", "score")


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Start with each imbalance, send as much again in steps, and track the brokers."""
    policies = bench.extent.policies(_POLICIES)
    found: dict[str, dict[str, list[list[int]]]] = {}
    for name, build in IMBALANCES.items():
        found[name] = {}
        for policy in policies:
            steps = found[name][policy] = _send_until_doubled(bench, build, policy)
            say(f"{name}, {policy}: max/mean {imbalance(steps[0]):.3f} -> {imbalance(steps[-1]):.3f}")
    shown = range(0, _STEPS + 1, 2)
    best = {name: imbalance(of["score"][-1]) for name, of in found.items()}
    return Finding(
        key="existing-skew",
        title="3. An existing imbalance eased by routing alone",
        setting=f"{len(bench.brokers)} brokers; the fullest holds a third more than the mean. The causes: two "
        "brokers hold twice as much of the topic as the others, or of another topic; or the last broker has just "
        "joined, with new partitions but no data. Then the data is doubled by sending to the topic, in "
        f"{_STEPS} runs of the producer; no replica is moved. The figures are max/mean of the bytes in the brokers' "
        "log dirs.",
        columns=["imbalance", "policy", *(f"{1 + i / _STEPS:.2f}x the data" for i in shown)],
        rows=[
            [name, policy, *(f"{imbalance(steps[i]):.3f}" for i in shown)]
            for name, of in found.items()
            for policy, steps in of.items()
        ],
        verdicts=[
            (f"policy score at most {_GOAL} when the data has doubled: {name} ({over:.3f})", over <= _GOAL)
            for name, over in best.items()
        ],
        bars={policy: [imbalance(of[policy][-1]) for of in found.values()] for policy in policies},
        bar_labels=list(found),
        bar_axis="max/mean when the data has doubled",
        data=found,
    )


def _send_until_doubled(bench: ExperimentSandbox, build: Build, policy: str) -> list[list[int]]:
    """Bytes of each broker at the start, and after each step."""
    topic = f"skew-{_POLICIES.index(policy)}"
    topics = build(bench, topic, bench.extent.records(_UNIT_RECORDS), _RECORD_BYTES)
    steps = [held_bytes(bench, topics)]
    sizes = np.full(sum(steps[0]) // _RECORD_BYTES // _STEPS, _RECORD_BYTES, np.int64)
    for step in range(_STEPS):
        bench.send(topic, policy, sizes, seed=step)
        steps.append(held_bytes(bench, topics))
    for each in topics:
        bench.delete(each)
    return steps
