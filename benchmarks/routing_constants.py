"""The effect of a tuned constant of the policy ``score``: brokers filled with other values of it, against its own.

    python -m benchmarks.routing_constants policies.score._RECOMPUTE_AFTER 0.25 1
    python -m benchmarks.routing_constants fair_weights._REGULARISATION 0.0001 0.01

Prints, for each value, how the fullest broker over the mean changes, in the mean and at most, and processor time, which
is exact to a tenth: over the 20 workloads of ``evenness.py``; over 144 whose brokers 1 and 2 start with up to as many
bytes as are written and a third of that (12 and 60 partitions, 3 to 300 MB, one and eight producers, a reading every
0.1 and 1 s, one and three replicas); over four of 300,000 records at full speed; and over 36 of 20,000 records at 0.5
to 5 MB/s, where linger closes batches, with the number of those.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from itertools import product
from math import exp, log
from statistics import fmean, median

from benchmarks.evenness import CASES
from kafkabal.routing import load_policy, view_of
from kafkabal.scoring import load_scores
from kafkabal.simulator import (
    TOPIC,
    LogNormalSize,
    PolicyOutcome,
    SimulationOptions,
    Workload,
    WorkloadCluster,
    build_workload_cluster,
    simulate,
)

MEAN_BYTES = {3_000: 20_000, 50_000: 1_000, 300_000: 1_000}


def main() -> None:
    """Print one line per value and group of workloads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant", help="module below kafkabal.routing, and name")
    parser.add_argument("values", nargs="+", type=float)
    options = parser.parse_args()
    path, _, name = options.constant.rpartition(".")
    module = importlib.import_module(f"kafkabal.routing.{path}")
    own = getattr(module, name)
    groups = {
        "evenness": evenness,
        "imbalanced": imbalanced,
        "at speed": at_speed,
        "slowly": slowly,
        "batches": slow_batches,
    }
    usual = {title: measured(group) for title, group in groups.items()}
    for value in options.values:
        setattr(module, name, type(own)(value))
        for title, group in groups.items():
            (before, before_s), (after, after_s) = usual[title], measured(group)
            ratio = [new / old for new, old in zip(after, before, strict=True)]
            print(
                f"{options.constant} = {value:g} (is {own:g}), {title:10}: x {exp(fmean(map(log, ratio))):.5f}, "
                f"{min(ratio):.4f} to {max(ratio):.4f}; worse by 0.001 in {sum(r > 1.001 for r in ratio)}, better in "
                f"{sum(r < 0.999 for r in ratio)} of {len(ratio)}; time x {after_s / before_s:.1f}",
                flush=True,
            )
        setattr(module, name, own)


def measured(group: Callable[[], Iterator[float]]) -> tuple[list[float], float]:
    """The figures of a group, and their processor time."""
    began_s = time.process_time()
    return list(group()), time.process_time() - began_s


def evenness() -> Iterator[float]:
    """The workloads of the published table."""
    return (median(case.run("score", seed).max_over_mean for seed in range(10)) for case in CASES)


def imbalanced() -> Iterator[float]:
    """Brokers 1 and 2 hold more than the others."""
    drawn = product((12, 60), MEAN_BYTES, (3, 20, 100), (0.1, 1.0), (1, 8), (1, 3))
    for partitions, records, percent, every_s, producers, copies in drawn:
        total_bytes = records * MEAN_BYTES[records] * percent // 100
        cluster = WorkloadCluster(
            brokers=4 if partitions == 12 else 6,
            partitions=partitions,
            replication_factor=copies,
            own_existing_bytes={1: total_bytes, 2: total_bytes // 3},
        )
        workload = Workload(
            records=records,
            sizes=LogNormalSize(MEAN_BYTES[records], 1.0),
            bytes_per_s=100e6,
            metrics_interval_s=every_s,
            producers=producers,
        )
        yield fmean(simulated(cluster, workload, seed) for seed in range(2))


def at_speed() -> Iterator[float]:
    """As fast as a client sends, one reading per second."""
    for partitions, brokers, existing in ((12, 4, {}), (120, 6, {}), (12, 4, {1: 60_000_000}), (300, 12, {})):
        cluster = WorkloadCluster(brokers=brokers, partitions=partitions, own_existing_bytes=existing)
        workload = Workload(records=300_000, sizes=LogNormalSize(1000, 1.0), bytes_per_s=100e6, metrics_interval_s=1.0)
        yield simulated(cluster, workload, 1)


def slowly() -> Iterator[float]:
    """So slow that linger closes batches, with and without a broker that holds more than the others."""
    return (outcome.max_over_mean for outcome in slow_outcomes())


def slow_batches() -> Iterator[float]:
    """The number of batches of these workloads."""
    return (outcome.batches or 0 for outcome in slow_outcomes())


def slow_outcomes() -> Iterator[PolicyOutcome]:
    """The outcomes of these workloads."""
    drawn = product(((12, 4), (60, 6), (300, 12)), (0.5e6, 2e6, 5e6), ({}, {1: 4_000_000}), (1, 2))
    for (partitions, brokers), bytes_per_s, existing, seed in drawn:
        cluster = WorkloadCluster(brokers=brokers, partitions=partitions, own_existing_bytes=existing)
        sizes = LogNormalSize(1000, 1.0)
        workload = Workload(records=20_000, sizes=sizes, bytes_per_s=bytes_per_s, metrics_interval_s=1.0)
        yield outcome_of(cluster, workload, seed, delivery=True)


def simulated(cluster: WorkloadCluster, workload: Workload, seed: int) -> float:
    """The fullest broker over the mean."""
    return outcome_of(cluster, workload, seed, delivery=False).max_over_mean


def outcome_of(cluster: WorkloadCluster, workload: Workload, seed: int, *, delivery: bool) -> PolicyOutcome:
    """The outcome of a workload that the policy routes."""
    view = view_of(build_workload_cluster(cluster), TOPIC, load_scores(["disk"]))
    return simulate(view, load_policy("score"), workload, SimulationOptions(delivery=delivery, seed=seed))


if __name__ == "__main__":
    main()
