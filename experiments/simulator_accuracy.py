"""How accurate the simulator is: bytes of brokers, and the order of policies by latency, compared with a real
cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment_sandbox import ExperimentSandbox, Sent
from experiments.reconstructed_log_bytes import log_bytes
from experiments.report import Finding
from kafkabal.model import F64, I64
from kafkabal.routing import RoutingView, is_available, load_policy
from kafkabal.simulator import ArrivalProcess, FixedSize, SimulationOptions, Transport, Workload, simulate

POLICIES = ("random", "round-robin", "uniform-sticky", "adaptive", "smooth-weighted", "power-of-d", "score")
ORDERED = ("random", "uniform-sticky", "round-robin", "adaptive", "prequal", "c3", "score")

_RECORDS = 100_000
_RECORD_BYTES = 1_000
_SEEDS = 10
_BLIND_SEED, _BLIND_SEEDS = 1000, 40
_SAME_PICKS_GOAL, _BLIND_GOAL = 0.01, 0.03
_ENOUGH_POLICIES = 6
_BATCH_BYTES, _LINGER_S = 1_000_000, 0.005
_REFRESH_S = 0.5

_ORDERED_RECORDS = 24_000
_ORDERED_PER_S = 20_000.0
_ORDERED_RUNS = 3
_BUFFER_KIB = 4 * 1024


class Run(NamedTuple):
    """One policy with one seed."""

    held: I64
    """int64, shape (n_brokers,): bytes in the log dirs."""
    from_picks: F64
    """The same, computed from the partitions that the policy picked."""
    rate_bytes_per_s: float


def run_bytes(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Send with some seeds, compute from the recorded picks, and predict with other seeds."""
    records, seeds = bench.extent.records(_RECORDS), bench.extent.runs(_SEEDS)
    found: dict[str, tuple[float, float, list[float]]] = {}
    for policy in bench.extent.policies(POLICIES):
        runs, view = _send_all(bench, policy, records, seeds)
        blind = _predict(view, policy, records, float(np.median([run.rate_bytes_per_s for run in runs])))
        held = np.array([run.held for run in runs])
        same = float(np.abs(np.array([run.from_picks for run in runs]) / held - 1).max())
        mean = held.mean(axis=0)
        found[policy] = same, float(np.abs(blind / mean - 1).max()), (mean / mean.mean()).tolist()
        say(f"{policy}: {same:.2%} from the same picks, {found[policy][1]:.2%} blind")
    worst_same = max(same for same, _, _ in found.values())
    near = [policy for policy, (_, blind, _) in found.items() if blind <= _BLIND_GOAL]
    enough = min(_ENOUGH_POLICIES, len(found))
    return Finding(
        key="prediction",
        title="Prediction against reality: bytes",
        setting=f"{len(bench.brokers)} brokers, a partition on each and two more; {records} records of {_RECORD_BYTES} "
        f"bytes a run, {seeds} runs of each policy. The bytes in the log dirs are compared with two predictions: "
        "from the recorded picks and the log format (worst broker of the worst run), and by the simulator from the "
        f"cluster before the run, with {_BLIND_SEEDS} other seeds (worst broker, means over the seeds).",
        columns=["policy", "from the same picks", "blind", "bytes over the mean, by broker"],
        rows=[
            [policy, f"{same:.2%}", f"{blind:.2%}", " ".join(f"{share:.3f}" for share in shares)]
            for policy, (same, blind, shares) in found.items()
        ],
        verdicts=[
            (f"the same picks within {_SAME_PICKS_GOAL:.0%} ({worst_same:.2%})", worst_same <= _SAME_PICKS_GOAL),
            (f"blind within {_BLIND_GOAL:.0%} for at least {enough} policies ({len(near)})", len(near) >= enough),
        ],
        data=found,
    )


def _send_all(bench: ExperimentSandbox, policy: str, records: int, seeds: int) -> tuple[list[Run], RoutingView]:
    """Each run, into a new topic; also the view of the topic before the first."""
    leaders = [*bench.brokers, *bench.brokers[:2]]
    sizes = np.full(records, _RECORD_BYTES, np.int64)
    runs, first = [], None
    for seed in range(seeds):
        topic = f"prediction-{POLICIES.index(policy)}-{seed}"
        bench.create(topic, [[broker] for broker in leaders])
        first = first or bench.view(topic, ("disk",))
        sent = bench.send(topic, policy, sizes, seed=seed)
        rows = np.searchsorted(bench.brokers, leaders)
        from_picks = np.bincount(rows, _partition_bytes(sent, sizes, len(leaders)), len(bench.brokers))
        runs.append(
            Run(bench.bytes_by_broker(topic), from_picks.astype(np.float64), records * _RECORD_BYTES / sent.seconds)
        )
        bench.delete(topic)
    assert first is not None
    return runs, first


def _partition_bytes(sent: Sent, sizes: I64, n_partitions: int) -> list[int]:
    rows = [np.flatnonzero(sent.partition == partition) for partition in range(n_partitions)]
    return [log_bytes(sizes[own], sent.at_s[own], batch_bytes=_BATCH_BYTES, linger_s=_LINGER_S) for own in rows]


def _predict(view: RoutingView, policy: str, records: int, bytes_per_s: float) -> F64:
    """float64, shape (n_brokers,): mean over seeds that were not used for sending."""
    workload = Workload(
        records=records,
        sizes=FixedSize(_RECORD_BYTES),
        bytes_per_s=bytes_per_s,
        process=ArrivalProcess.STEADY,
        metrics_interval_s=_REFRESH_S,
        transport=Transport(batch_bytes=_BATCH_BYTES, linger_s=_LINGER_S),
    )
    seeds = range(_BLIND_SEED, _BLIND_SEED + _BLIND_SEEDS)
    options = [SimulationOptions(seed=seed, delivery=False, compiled=is_available()) for seed in seeds]
    outcomes = [simulate(view, load_policy(policy), workload, each) for each in options]
    return np.asarray(np.mean([outcome.added_bytes for outcome in outcomes], axis=0), np.float64)


def run_order(bench: ExperimentSandbox, say: Callable[[str], None], rates_bytes_per_s: Sequence[float]) -> Finding:
    """Tail latency with a slow broker, real and simulated; records arrive at no more than the brokers' rate."""
    policies = bench.extent.policies(ORDERED)
    bench.create("order", [[broker] for broker in bench.brokers for _ in range(2)])
    view = bench.view("order", ("latency",))
    sizes = np.full(_ORDERED_RECORDS, _RECORD_BYTES, np.int64)
    settings: dict[str, Any] = {"queue_buffering_max_kbytes": _BUFFER_KIB, "acks": 1, "enable_idempotence": False}
    real: dict[str, list[float]] = {policy: [] for policy in policies}
    for seed in range(_ORDERED_RUNS):
        for policy in policies:
            sent = bench.send("order", policy, sizes, seed=seed, per_s=_ORDERED_PER_S, scores=("latency",), **settings)
            real[policy].append(float(np.percentile(sent.latency_s, 99)))
    bench.delete("order")
    simulated = {policy: _simulated_latency_s(view, policy, rates_bytes_per_s) for policy in policies}
    for policy in policies:
        say(f"{policy}: {np.median(real[policy]):.3f} s, simulated {np.median(simulated[policy]):.3f} s")
    agree, apart = agreement(real, simulated)
    by_tail = sorted(policies, key=lambda policy: float(np.median(real[policy])))
    return Finding(
        key="prediction-latency",
        title="Prediction against reality: the order of policies by latency",
        setting=f"{len(bench.brokers)} brokers, one replica, acks=1, {_BUFFER_KIB} KiB of buffer, the last broker at "
        f"an eighth of the others' rate. {_ORDERED_RECORDS} records of {_RECORD_BYTES} bytes at {_ORDERED_PER_S:g} a "
        "second; p99 of the time from the planned time of a record to its acknowledgement, median, least and most of "
        f"{_ORDERED_RUNS} runs. The simulator was given the rates, the buffer and the linger time, nothing measured. "
        "Two policies are compared where the runs of one are all quicker than those of the other, in both worlds.",
        columns=["policy", "real, s", "simulated, s"],
        rows=[[policy, _spread(real[policy]), _spread(simulated[policy])] for policy in by_tail],
        verdicts=[(f"the same order in all pairs that differ ({agree} of {apart})", agree == apart)],
        data={"real": real, "simulated": simulated},
    )


def agreement(real: dict[str, list[float]], simulated: dict[str, list[float]]) -> tuple[int, int]:
    """Pairs in the same order, and pairs whose runs overlap neither in the real cluster nor in the simulation."""
    pairs = [(_order(real[a], real[b]), _order(simulated[a], simulated[b])) for a, b in combinations(real, 2)]
    apart = [pair for pair in pairs if all(pair)]
    return sum(one == other for one, other in apart), len(apart)


def _order(a: list[float], b: list[float]) -> int:
    """-1 if all of a are below all of b, 1 if above, 0 if they overlap."""
    return -1 if max(a) < min(b) else int(min(a) > max(b))


def _simulated_latency_s(view: RoutingView, policy: str, rates_bytes_per_s: Sequence[float]) -> list[float]:
    transport = Transport(
        linger_s=_LINGER_S,
        in_flight=1000,
        buffer_bytes=_BUFFER_KIB * 1024,
        acks_all=False,
        own_bytes_per_s=dict(zip(view.broker_id.tolist(), rates_bytes_per_s, strict=True)),
    )
    workload = Workload(
        records=_ORDERED_RECORDS,
        sizes=FixedSize(_RECORD_BYTES),
        bytes_per_s=_ORDERED_PER_S * _RECORD_BYTES,
        process=ArrivalProcess.STEADY,
        metrics_interval_s=_REFRESH_S,
        transport=transport,
    )
    options = [SimulationOptions(seed=_BLIND_SEED + seed, compiled=False) for seed in range(_ORDERED_RUNS)]
    latencies = [simulate(view, load_policy(policy), workload, each).latency for each in options]
    return [latency.p99_s for latency in latencies if latency is not None]


def _spread(values: list[float]) -> str:
    return f"{np.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
