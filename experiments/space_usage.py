"""Experiment 1: how evenly a topic with two partitions more than brokers fills the brokers, under each policy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.experiment_sandbox import JAVA, LIBRDKAFKA, POLICIES, ExperimentSandbox
from experiments.report import Finding

_RECORDS = 60_000
_RECORD_BYTES = 2_000
_RUNS = 3
_GOAL = 1.02
_DEFAULTS_BAD = 1.3


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Fill a topic anew with each policy, a few times, and compare the brokers."""
    n = len(bench.brokers)
    assignment = [[broker] for broker in [*bench.brokers, *bench.brokers[:2]]]
    records, runs = bench.extent.records(_RECORDS), bench.extent.runs(_RUNS)
    sizes = np.full(records, _RECORD_BYTES, np.int64)
    found: dict[str, list[list[int]]] = {}
    for policy in bench.extent.policies(POLICIES):
        for seed in range(runs):
            topic = f"space-{POLICIES.index(policy)}-{seed}"
            bench.create(topic, assignment)
            bench.send(topic, policy, sizes, seed=seed)
            found.setdefault(policy, []).append(bench.bytes_by_broker(topic).tolist())
            bench.delete(topic)
        say(f"{policy}: max/mean {_worst(found[policy]):.3f}")
    best = _worst(found["score"])
    return Finding(
        key="space-usage",
        title="1. Space usage under uneven partition allocation",
        setting=f"{n} brokers, {n + 2} partitions: one a broker, and a second one on two of them. {records} records "
        f"of {_RECORD_BYTES} bytes a run, {runs} runs. Bytes from the brokers' log dirs; the worst run counts.",
        columns=["policy", "max/mean", "min/mean", "bytes a broker, MB (last run)"],
        rows=[
            [
                policy,
                f"{_worst(runs):.3f}",
                f"{min(min(run) / np.mean(run) for run in runs):.3f}",
                " ".join(f"{size / 1e6:.1f}" for size in runs[-1]),
            ]
            for policy, runs in found.items()
        ],
        verdicts=[
            (f"policy score at most {_GOAL} ({best:.3f})", best <= _GOAL),
            *(
                (f"{name} {_DEFAULTS_BAD} or more ({_worst(found[name]):.3f})", _worst(found[name]) >= _DEFAULTS_BAD)
                for name in (LIBRDKAFKA, JAVA)
            ),
        ],
        bars={policy: (np.array(runs[-1]) / np.mean(runs[-1])).tolist() for policy, runs in found.items()},
        bar_labels=[f"broker {broker}" for broker in bench.brokers],
        bar_axis="bytes over the mean of all brokers",
        data=found,
    )


def _worst(runs: list[list[int]]) -> float:
    return max(max(run) / float(np.mean(run)) for run in runs)
