"""Experiment 3: brokers that hold twice as much as others, and new records that even them out without a move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.experiment_sandbox import LIBRDKAFKA, ExperimentSandbox
from experiments.report import Finding

_UNIT_RECORDS = 7_500
_RECORD_BYTES = 2_000
_STEPS = 8
_GOAL = 1.05
_POLICIES = (LIBRDKAFKA, "round-robin", "least-loaded", "power-of-d", "smooth-weighted", "score")


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Begin with a 2:1 imbalance, send as much again in steps, and follow the brokers."""
    brokers = bench.brokers
    heavy = brokers[: len(brokers) // 2]
    assignment = [[broker] for broker in brokers for _ in range(2)]
    found: dict[str, list[list[int]]] = {}
    for policy in bench.extent.policies(_POLICIES):
        topic = f"skew-{_POLICIES.index(policy)}"
        bench.create(topic, assignment)
        unit = bench.extent.records(_UNIT_RECORDS)
        bench.send_by_hand(topic, [unit * (2 if replicas[0] in heavy else 1) for replicas in assignment], _RECORD_BYTES)
        found[policy] = [bench.bytes_by_broker(topic).tolist()]
        records = sum(found[policy][0]) // _RECORD_BYTES // _STEPS
        for step in range(_STEPS):
            bench.send(topic, policy, np.full(records, _RECORD_BYTES, np.int64), seed=step)
            found[policy].append(bench.bytes_by_broker(topic).tolist())
        bench.delete(topic)
        say(f"{policy}: max/mean {_skew(found[policy][0]):.3f} -> {_skew(found[policy][-1]):.3f}")
    best = _skew(found["score"][-1])
    return Finding(
        key="existing-skew",
        title="3. An existing imbalance eased by routing alone",
        setting=f"{len(brokers)} brokers with two partitions each; those of half of the brokers hold twice as much. "
        f"Then as much again is sent, in {_STEPS} runs of the producer; no replica is moved.",
        columns=["policy", *(f"{1 + i / _STEPS:.2f}x the data" for i in range(0, _STEPS + 1, 2))],
        rows=[[policy, *(f"{_skew(found[policy][i]):.3f}" for i in range(0, _STEPS + 1, 2))] for policy in found],
        verdicts=[(f"policy score at most {_GOAL} when the data has doubled ({best:.3f})", best <= _GOAL)],
        bars={policy: (np.array(steps[-1]) / np.mean(steps[-1])).tolist() for policy, steps in found.items()},
        bar_labels=[f"broker {broker}" for broker in brokers],
        bar_axis="bytes over the mean of all brokers, when the data has doubled",
        data=found,
    )


def _skew(sizes: list[int]) -> float:
    return max(sizes) / float(np.mean(sizes))
