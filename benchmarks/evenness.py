"""How evenly each policy fills brokers: 20 workloads, 10 seeds, all policies, simulated; and published results.

The figure is used bytes over capacity of the fullest broker over the mean, the median over seeds. Each broker gets
about five hundred records.

::

    python -m benchmarks.evenness --out docs/benchmarks/evenness.md
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Final

import numpy as np

from kafkabal.routing import RoutingView, load_policy, policy_names, view_of
from kafkabal.scoring import Need, load_scores
from kafkabal.simulator import (
    TOPIC,
    FixedSize,
    Leaders,
    ListedSizes,
    LogNormalSize,
    PolicyOutcome,
    SimulationOptions,
    Sizes,
    Workload,
    WorkloadCluster,
    ZipfKeys,
    build_workload_cluster,
    load_workload,
    simulate,
)

BROKERS: Final = 4
RECORDS: Final = 500 * BROKERS
# a policy this close to the best one of a workload counts as equal
NOISE: Final = 0.005
EVEN: Final = WorkloadCluster(brokers=BROKERS, partitions=12)
UNEVEN: Final = WorkloadCluster(brokers=BROKERS, leaders=Leaders.BROKERS_PLUS_2)
EXISTING: Final = replace(EVEN, own_existing_bytes={1: 30_000_000, 2: 10_000_000})
UNEQUAL: Final = (1, 1, 2, 4)


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table."""

    name: str
    cluster: WorkloadCluster
    sizes: Sizes
    keys: ZipfKeys | None = None
    capacities: tuple[int, ...] = ()
    """Relative capacities of the brokers; empty for equal ones."""

    def view(self) -> RoutingView:
        """The topic before the first record."""
        state = build_workload_cluster(self.cluster)
        if self.capacities:
            total_bytes = np.array(self.capacities, np.int64) * 10**12
            state = state.replace(log_dirs=replace(state.log_dirs, total_bytes=total_bytes, usable_bytes=total_bytes))
        return view_of(state, TOPIC, load_scores(["disk"]))

    def run(self, policy: str, seed: int) -> PolicyOutcome:
        """Route the records."""
        workload = Workload(
            records=RECORDS, sizes=self.sizes, keys=self.keys, bytes_per_s=100e6, metrics_interval_s=5.0
        )
        return simulate(self.view(), load_policy(policy), workload, SimulationOptions(delivery=False, seed=seed))


def bimodal() -> Sizes:
    """One record in fifty is two hundred times as large as the others."""
    sizes = np.full(1000, 10_000, np.int64)
    sizes[::50] = 2_000_000
    return ListedSizes(np.random.default_rng(1).permutation(sizes), "bimodal", 0.0)


SIZES: Final[Mapping[str, Sizes]] = {
    "files of 1 kB": FixedSize(1000),
    "log-normal, mean 50 kB": LogNormalSize(50_000, 1.0),
    "log-normal, sigma 1.5": LogNormalSize(20_000, 1.5),
    "bimodal": bimodal(),
    "chunks of 1 MB": FixedSize(1_000_000),
}
_LOG_NORMAL, _BIMODAL = SIZES["log-normal, mean 50 kB"], SIZES["bimodal"]
CASES: Final = (
    *(Case(f"{name}; 12 partitions", EVEN, sizes) for name, sizes in SIZES.items()),
    *(Case(f"{name}; brokers + 2", UNEVEN, sizes) for name, sizes in SIZES.items()),
    *(
        Case(f"{name}; RF {copies}", replace(EVEN, replication_factor=copies), sizes)
        for copies, (name, sizes) in product((2, 3), (("log-normal", _LOG_NORMAL), ("bimodal", _BIMODAL)))
    ),
    Case("log-normal; two brokers hold 30 and 10 MB", EXISTING, _LOG_NORMAL),
    Case("chunks of 1 MB; two brokers hold 30 and 10 MB", EXISTING, SIZES["chunks of 1 MB"]),
    Case("log-normal; capacities 1:1:2:4", EVEN, _LOG_NORMAL, capacities=UNEQUAL),
    Case("log-normal; capacities 1:1:2:4, RF 2", replace(EVEN, replication_factor=2), _LOG_NORMAL, capacities=UNEQUAL),
    Case("1 kB, Zipf keys, exponent 1", EVEN, SIZES["files of 1 kB"], ZipfKeys(10_000, 1.0)),
    Case("1 kB, Zipf keys, exponent 1.4", EVEN, SIZES["files of 1 kB"], ZipfKeys(10_000, 1.4)),
)


def main() -> None:
    """Print the page, or write it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    text = "\n".join(page(given.seeds)) + "\n"
    if given.out is None:
        print(text, end="")
    else:
        given.out.write_text(text)


def page(seeds: int) -> Iterator[str]:
    """The lines of the page."""
    policies = [*policy_names(), "least-loaded:own=true"]
    found = {
        policy: [statistics.median(case.run(policy, seed).max_over_mean for seed in range(seeds)) for case in CASES]
        for policy in policies
    }
    best = [min(column) for column in zip(*found.values(), strict=True)]
    order = sorted(policies, key=lambda policy: _log_mean(found[policy]))
    yield f"""# How evenly policies fill brokers

```
python -m benchmarks.evenness --seeds {seeds} --out docs/benchmarks/evenness.md
```

{len(CASES)} workloads of {RECORDS:,} records onto {BROKERS} brokers, {seeds} seeds, simulated, brokers measured every
5 s. The figure is used / capacity of the fullest broker, divided by the mean: 1 is balanced. Medians over the seeds.
No broker is slow here; see [slow-broker.md](slow-broker.md) and [experiments.md](../experiments.md) for that. Policies
that keep key order (*) can be only as even as the keys allow; the others lose that order.

| policy | geometric mean | worst | within {NOISE} of the best |
|---|--:|--:|--:|"""
    for policy in order:
        near = sum(value <= least + NOISE for value, least in zip(found[policy], best, strict=True))
        label = f"`{policy}`{' *' if load_policy(policy).about.keeps_key_order else ''}"
        mean, worst = exp(_log_mean(found[policy])), max(found[policy])
        yield f"| {label} | {mean:.3f} | {worst:.3f} | {near} of {len(CASES)} |"
    behind = [
        f"{i + 1} ({value:.3f}, best {least:.3f})"
        for i, (value, least) in enumerate(zip(found["score"], best, strict=True))
        if value > least + NOISE
    ]
    place = (
        f"behind the best in workloads {', '.join(behind)}" if behind else f"within {NOISE} of the best in all of them"
    )
    yield f"\n`score` is {place}."
    yield "\nEvery workload, by its number:\n"
    yield f"| policy | {' | '.join(str(i + 1) for i in range(len(CASES)))} |"
    yield f"|---|{'--:|' * len(CASES)}"
    for policy in order:
        yield f"| `{policy}` | {' | '.join(f'{value:.3f}' for value in found[policy])} |"
    yield ""
    yield from (f"{i + 1}. {case.name}" for i, case in enumerate(CASES))
    yield from published(seeds)


def published(seeds: int) -> Iterator[str]:
    """Published results, and the same workloads here."""
    sticky, uniform, adaptive, score = (
        _delayed(name) for name in ("sticky:linger-ms=0", "uniform-sticky", "adaptive", "score")
    )
    yield """
## Beside published results

| published | there | here |
|---|---|---|"""
    one, two = (_gap(policy, seeds) for policy in ("random", "power-of-d"))
    at_random, of_two = log(_BINS) / log(log(_BINS)), log(log(_BINS)) / log(2)
    yield (
        "| records of the fullest above the mean, n records into n bins: ln n / ln ln n at random, ln ln n / ln 2 with "
        f"two choices (Azar et al. 1994) | {at_random:.1f} and {of_two:.1f}, up to a constant, n = {_BINS} "
        f"| {one:.1f} and {two:.1f} |"
    )
    hashed, pkg, heavy = (_keyed(policy, seeds) for policy in ("key-hash", "pkg", "w-choices"))
    yield (
        "| partial key grouping: imbalance orders of magnitude below hashing while no key is too heavy for two workers "
        f"(Nasir et al. 2015) | | fullest above the mean: `key-hash` {hashed:.4f}, `pkg` {pkg:.5f} |"
    )
    yield (
        "| more choices for heavy keys only: as even as shuffling (Nasir et al. 2016) | "
        f"| `w-choices` {heavy:.5f} on the same keys |"
    )
    bounded = max(_bounded(seed) for seed in range(seeds))
    yield (
        "| consistent hashing with bounded loads: no bin above c x the mean (Mirrokni et al. 2018) | 1.25 if c = 1.25 "
        f"| {bounded:.3f} at most |"
    )
    yield (
        "| KIP-794, one of three brokers 20 ms late, p99: old default, adaptive off, adaptive | 10,992, 214, 154 ms "
        f"| `sticky` {sticky:,.0f}, `uniform-sticky` {uniform:,.0f}, `adaptive` {adaptive:,.0f}, "
        f"`score` {score:,.0f} ms |"
    )
    yield (
        "| Astraea's partitioner, throughput with slow brokers | 1.98 x the default | real brokers behind proxies: "
        "`astraea` 1.03 x, `score` 4.79 x ([experiments.md](../experiments.md)) |"
    )


_BINS: Final = 1000


def _gap(policy: str, seeds: int) -> float:
    """With one partition per broker and as many as records: records of the fullest minus the mean, which is 1."""
    view = view_of(build_workload_cluster(WorkloadCluster(brokers=_BINS)), TOPIC, load_scores(["disk"]))
    workload = Workload(records=_BINS, sizes=FixedSize(1000), bytes_per_s=1e9)
    options = (SimulationOptions(delivery=False, seed=seed) for seed in range(seeds))
    return statistics.median(
        float(simulate(view, load_policy(policy), workload, each).broker_records.max()) - 1 for each in options
    )


def _keyed(policy: str, seeds: int) -> float:
    """Excess of the fullest partition over the mean, as a fraction of the mean, with keys of which none is heavy."""
    view = _even_view()
    workload = Workload(records=200_000, sizes=FixedSize(1000), keys=ZipfKeys(10_000, 0.8), bytes_per_s=1e9)
    options = (SimulationOptions(delivery=False, seed=seed) for seed in range(min(seeds, 3)))
    runs = [simulate(view, load_policy(policy), workload, each).partition_bytes for each in options]
    return statistics.median(float(run.max() / run.mean()) - 1 for run in runs)


def _bounded(seed: int) -> float:
    """Fullest partition over the mean of the records so far, at the end."""
    workload = Workload(records=20_000, sizes=FixedSize(1000), keys=ZipfKeys(1000, 1.2), bytes_per_s=1e9)
    options = SimulationOptions(delivery=False, seed=seed)
    run = simulate(_even_view(), load_policy("bounded-load"), workload, options).partition_bytes
    return float(run.max() / run.mean())


def _even_view() -> RoutingView:
    return view_of(build_workload_cluster(EVEN), TOPIC, load_scores(["disk"]))


def _delayed(policy: str) -> float:
    """p99 in milliseconds of KIP-794's benchmark."""
    chosen = load_workload("delayed-broker")
    assert chosen.cluster is not None
    view = view_of(
        build_workload_cluster(chosen.cluster),
        TOPIC,
        load_scores(["latency" if policy == "score" else "disk"]),
        supplied=[Need.TELEMETRY],
    )
    latency = simulate(view, load_policy(policy), chosen.workload, SimulationOptions()).latency
    assert latency is not None
    return latency.p99_s * 1000


def _log_mean(values: Sequence[float]) -> float:
    return sum(log(value) for value in values) / len(values)


if __name__ == "__main__":
    main()
