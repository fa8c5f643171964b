"""Experiment 1: how evenly each policy fills the brokers of topics with unbalanced partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.experiment_sandbox import JAVA, LIBRDKAFKA, POLICIES, REFRESH_S, ExperimentSandbox, another_sandbox
from experiments.report import Finding
from kafkabal.config import TopicSpec
from kafkabal.model import F64, ClusterState
from kafkabal.placement import parse_policy, place_topics
from kafkabal.routing import load_policy, view_of
from kafkabal.scoring import load_scores
from kafkabal.simulator import (
    FixedSize,
    SimulationOptions,
    Sizes,
    Transport,
    Workload,
    WorkloadCluster,
    build_workload_cluster,
    load_workload,
    max_over_mean,
    simulate,
)

_TOPIC: Final = "space"
"""Random placements are drawn by topic name: every policy gets those of this topic."""
_RUNS: Final = 3
_EQUAL_SIZES: Final = FixedSize(2_000)
_GOAL: Final = 1.02
_DEFAULTS_ABOVE: Final = 1.3
_SIMULATED_A_BROKER: Final = 2_000
_SIMULATED_BYTES_PER_S: Final = 100e6
"""Approximately what the producers reach on the real brokers."""
_CAPACITY_BYTES: Final = 2 * 2**30
_COMPARED: Final = (LIBRDKAFKA, JAVA, "round-robin", "power-of-d", "score")
_SIMULATED_CLIENTS: Final = {LIBRDKAFKA: "default", JAVA: "adaptive"}
"""The policies that match the behaviour of these clients without settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A topic, its brokers, and what is written to it."""

    name: str
    brokers: int = 4
    placement: str = "brokers+2"
    """As in ``kafkabal create --placement``; every run draws a new one."""
    partitions: int | None = None
    """None leaves the number to the placement."""
    replication_factor: int = 1
    capacity: tuple[int, ...] = ()
    """Relative capacities of the brokers; empty for equal ones."""
    sizes: Sizes = _EQUAL_SIZES
    records: int = 20_000
    producers: int = 1
    is_simulated: bool = False

    def capacity_bytes(self) -> F64:
        """float64, shape (n_brokers,)."""
        return np.array(self.capacity or [1] * self.brokers, np.float64) * _CAPACITY_BYTES


CASES: Final = (
    Case(name="one partition a broker and two more"),
    Case(name="the same, 6 brokers", brokers=6, records=30_000),
    Case(name="the same, 12 brokers, simulated", brokers=12, records=12 * _SIMULATED_A_BROKER, is_simulated=True),
    Case(name="the same, 100 brokers, simulated", brokers=100, records=100 * _SIMULATED_A_BROKER, is_simulated=True),
    Case(name="three replicas", replication_factor=3),
    Case(name="12 partitions, binomial", placement="binomial:0.5", partitions=12),
    Case(
        name="12 partitions, binomial, three replicas",
        placement="binomial:0.5",
        partitions=12,
        replication_factor=3,
    ),
    Case(name="capacities of 1:1:2:4", capacity=(1, 1, 2, 4)),
    Case(name="four producers at once", producers=4),
    Case(name="images as in COCO", sizes=load_workload("coco").workload.sizes, records=1_200),
    Case(name="sentences as in CoLA", sizes=load_workload("cola").workload.sizes, records=8_551),
)


@dataclass(frozen=True, slots=True)
class _Run:
    """A topic after a policy has filled it."""

    held: Sequence[int]
    """Bytes of the topic on each broker."""
    imbalance: float
    """Largest used / capacity over that of all brokers together."""
    least_imbalance: float
    """The lowest that any distribution over the partitions allows."""


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Run every policy in the first case."""
    case = CASES[0]
    found = _measure(case, bench, bench.extent.policies(POLICIES), say)
    best = _worst(found["score"])
    return Finding(
        key="space-usage",
        title="1. Space usage under uneven partition allocation",
        setting=f"{case.brokers} brokers, {case.brokers + 2} partitions: one on each broker, and two more on brokers "
        f"drawn at random. {len(found['score'])} runs of {bench.extent.records(case.records)} records of "
        f"{case.sizes.mean_bytes:g} bytes; each run has other partitions, the same for every policy. The bytes are "
        "those of the brokers' log dirs; the worst run counts.",
        columns=["policy", "max/mean", "min/mean", "MB on each broker (last run)"],
        rows=[
            [
                policy,
                f"{_worst(runs):.3f}",
                f"{min(min(run.held) / np.mean(run.held) for run in runs):.3f}",
                " ".join(f"{size / 1e6:.1f}" for size in runs[-1].held),
            ]
            for policy, runs in found.items()
        ],
        verdicts=[
            (f"policy score at most {_GOAL} ({best:.3f})", best <= _GOAL),
            *(
                (
                    f"{name} {_DEFAULTS_ABOVE} or more ({_worst(found[name]):.3f})",
                    _worst(found[name]) >= _DEFAULTS_ABOVE,
                )
                for name in (LIBRDKAFKA, JAVA)
            ),
        ],
        bars={policy: (np.array(runs[-1].held) / np.mean(runs[-1].held)).tolist() for policy, runs in found.items()},
        bar_labels=[f"broker {broker}" for broker in range(1, case.brokers + 1)],
        bar_axis="bytes over the mean of all brokers, last run",
        data={policy: [run.held for run in runs] for policy, runs in found.items()},
    )


def run_cases(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Run some policies in every case."""
    policies = bench.extent.policies(_COMPARED)
    found: dict[str, dict[str, list[_Run]]] = {}
    for case in CASES:
        say(case.name)
        found[case.name] = _measure(case, bench, policies, say)
    return Finding(
        key="space-cases",
        title="1, cases. Space usage of other topics, brokers and records",
        setting="A figure is used / capacity of the fullest broker, divided by that of all brokers together, in the "
        f"worst of {bench.extent.runs(_RUNS)} runs; each run has other partitions, the same for every policy. Used "
        "bytes are those of the brokers' log dirs. Unless a case says otherwise: 4 equal brokers, one replica, a "
        "partition on each broker and two more on brokers drawn at random, one producer, 20000 records of 2000 bytes "
        "(30000 to 6 brokers). Binomial: leaders drawn from a binomial distribution over the brokers. COCO: "
        f"{CASES[-2].records} images of 163 kB on average; CoLA: all {CASES[-1].records} sentences, of 50 B. "
        f"Simulated: {_SIMULATED_A_BROKER} records per broker; the policies `default` and `adaptive` take the place of "
        "the defaults of librdkafka and of the Java client. The least possible is what the best distribution over the "
        "partitions gives (a linear program): it is above 1 if a broker has no replica.",
        columns=["case", *policies, "least possible"],
        rows=[
            [
                name,
                *(f"{_worst(runs):.3f}" for runs in of.values()),
                f"{max(run.least_imbalance for run in of['score']):.3f}",
            ]
            for name, of in found.items()
        ],
        verdicts=[
            (f"policy score within {_GOAL} x the least possible: {name} ({excess:.3f})", excess <= _GOAL)
            for name, excess in (
                (name, max(run.imbalance / run.least_imbalance for run in of["score"])) for name, of in found.items()
            )
        ],
        bars={name: [_worst(runs) for runs in of.values()] for name, of in found.items()},
        bar_labels=policies,
        bar_axis="max/mean of used / capacity, worst run",
        data={
            name: {
                policy: [(run.held, run.imbalance, run.least_imbalance) for run in runs] for policy, runs in of.items()
            }
            for name, of in found.items()
        },
    )


def least_imbalance(assignment: Sequence[Sequence[int]], capacity: F64) -> float:
    """The lowest max/mean of used / capacity that any distribution of records over the partitions allows.

    Parameters
    ----------
    assignment
        Brokers of each partition, by row.
    capacity
        float64, shape (n_brokers,): capacity of each broker.
    """
    from scipy.optimize import linprog

    n_partitions, n_brokers = len(assignment), len(capacity)
    fair = capacity / capacity.sum()
    held = np.zeros((n_brokers, n_partitions))
    for partition, brokers in enumerate(assignment):
        held[list(brokers), partition] = 1
    # variables: fractions of the partitions, and the largest used / capacity, which is minimised
    rows = np.column_stack([held / fair[:, np.newaxis], -np.ones(n_brokers)])
    objective = np.append(np.zeros(n_partitions), 1.0)
    whole = np.append(np.ones(n_partitions), 0.0)[np.newaxis]
    return float(linprog(objective, rows, np.zeros(n_brokers), whole, [1.0]).fun) / len(assignment[0])


def placed_topic(case: Case, seed: int) -> tuple[ClusterState, list[list[int]]]:
    """Brokers 1 to n with the empty topic; and the brokers of each partition, by row."""
    bare = build_workload_cluster(WorkloadCluster(brokers=case.brokers))
    spec = TopicSpec(
        name=_TOPIC, partitions=case.partitions, replication_factor=case.replication_factor, partition_bytes=0
    )
    placed = place_topics(bare, [spec], parse_policy(f"{case.placement}:{seed}"))
    return placed.state, [[broker - 1 for broker in brokers] for brokers in placed.topics[0].assignment]


def simulated_bytes(case: Case, policy: str, seed: int) -> list[int]:
    """Bytes of the topic on each broker after one run, by the simulator."""
    view = view_of(placed_topic(case, seed)[0], _TOPIC, load_scores(["disk"]))
    workload = Workload(
        records=case.records,
        sizes=case.sizes,
        bytes_per_s=_SIMULATED_BYTES_PER_S,
        metrics_interval_s=REFRESH_S,
        transport=Transport(batch_bytes=1_000_000),
    )
    choice = load_policy(_SIMULATED_CLIENTS.get(policy, policy))
    outcome = simulate(view, choice, workload, SimulationOptions(seed=seed, delivery=False))
    return [round(added) for added in outcome.added_bytes.tolist()]


def _measure(
    case: Case, bench: ExperimentSandbox, policies: Sequence[str], say: Callable[[str], None]
) -> dict[str, list[_Run]]:
    """Some runs of each policy; on a sandbox of its own if the shared one has another number of brokers."""
    with ExitStack() as stack:
        if not case.is_simulated and case.brokers != len(bench.brokers):
            bench = stack.enter_context(another_sandbox(case.brokers, bench.extent))
        found: dict[str, list[_Run]] = {}
        for policy in policies:
            for seed in range(bench.extent.runs(_RUNS)):
                held = simulated_bytes(case, policy, seed) if case.is_simulated else _sent(case, bench, policy, seed)
                found.setdefault(policy, []).append(_run_of(case, seed, held))
            say(f"{policy}: max/mean {_worst(found[policy]):.3f}")
    return found


def _sent(case: Case, bench: ExperimentSandbox, policy: str, seed: int) -> list[int]:
    """Bytes of the topic on each broker after one run, from the log dirs."""
    _, assignment = placed_topic(case, seed)
    topic = f"{_TOPIC}-{POLICIES.index(policy)}-{seed}"
    bench.create(topic, [[bench.brokers[row] for row in rows] for rows in assignment])
    records = bench.extent.records(case.records)
    sizes = case.sizes.draw(np.random.Generator(np.random.PCG64(seed)), 0, records)
    with bench.profile(case.capacity_bytes()) as profile, ThreadPoolExecutor(case.producers) as producers:
        sending = [
            producers.submit(bench.send, topic, policy, part, seed=seed * case.producers + number, profile=profile)
            for number, part in enumerate(np.array_split(sizes, case.producers))
        ]
        for each in sending:
            each.result()
    held: list[int] = bench.bytes_by_broker(topic).tolist()
    bench.delete(topic)
    return held


def _run_of(case: Case, seed: int, held: list[int]) -> _Run:
    capacity = case.capacity_bytes()
    _, assignment = placed_topic(case, seed)
    return _Run(held, max_over_mean(np.array(held, np.float64), capacity), least_imbalance(assignment, capacity))


def _worst(runs: Sequence[_Run]) -> float:
    return max(run.imbalance for run in runs)
