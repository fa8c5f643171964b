"""How even brokers end under each policy, over workloads, layouts and seeds, in the simulator.

The figure is the written bytes of the fullest broker over the mean, the median over seeds; ``score`` is compared with
the best of the other policies. Records are drawn so that each broker gets about as many as asked for.

    python benchmarks/evenness.py --seeds 5
"""

from __future__ import annotations

import argparse
import itertools
import statistics

import numpy as np

from kafkabal.routing import load_policy, view_of
from kafkabal.scoring import load_scores
from kafkabal.simulator import (
    TOPIC,
    FixedSize,
    Leaders,
    ListedSizes,
    LogNormalSize,
    SimulationOptions,
    Sizes,
    SyntheticCluster,
    Workload,
    build_synthetic,
    simulate,
)

OTHERS = ("power-of-d", "least-loaded:own=true", "round-robin", "smooth-weighted", "default")
BROKERS = 4
LAYOUTS = {
    "RF 1": SyntheticCluster(brokers=BROKERS, partitions=12),
    "RF 1, brokers + 2": SyntheticCluster(brokers=BROKERS, leaders=Leaders.BROKERS_PLUS_2),
    "RF 2": SyntheticCluster(brokers=BROKERS, partitions=12, replication_factor=2),
    "RF 3": SyntheticCluster(brokers=BROKERS, partitions=12, replication_factor=3),
    "RF 1, existing": SyntheticCluster(brokers=BROKERS, partitions=12, existing_bytes=20_000_000),
}


def bimodal() -> Sizes:
    """One record in fifty is two hundred times as large as the others."""
    sizes = np.full(1000, 10_000, np.int64)
    sizes[::50] = 2_000_000
    return ListedSizes(np.random.default_rng(1).permutation(sizes), "bimodal", 0.0)


WORKLOADS: dict[str, Sizes] = {
    "tiny files": FixedSize(1000),
    "log-normal": LogNormalSize(50_000, 1.0),
    "widely spread": LogNormalSize(20_000, 1.5),
    "bimodal": bimodal(),
    "chunks of 1 MB": FixedSize(1_000_000),
}


def main() -> None:
    """Print a line for each layout, workload and number of records."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=5)
    given = options.parse_args()
    print("layout               workload         records a broker    score   best other")
    for (layout, cluster), (name, sizes), records in itertools.product(LAYOUTS.items(), WORKLOADS.items(), (200, 2000)):
        view = view_of(build_synthetic(cluster), TOPIC, load_scores(["disk"]))
        workload = Workload(records=records * BROKERS, sizes=sizes, bytes_per_s=100e6, metrics_interval_s=5.0)
        figures = {}
        for policy in ("score", *OTHERS):
            runs = (
                simulate(view, load_policy(policy), workload, SimulationOptions(delivery=False, seed=seed))
                for seed in range(given.seeds)
            )
            figures[policy] = statistics.median(run.max_over_mean for run in runs)
        best = min(OTHERS, key=figures.__getitem__)
        mark = "" if figures["score"] <= figures[best] + 0.001 else "  worse"
        print(
            f"{layout:20} {name:16} {records:16,} {figures['score']:8.4f} {figures[best]:8.4f} {best}{mark}", flush=True
        )


if __name__ == "__main__":
    main()
