"""Experiment 2b: how a policy affects the time from produce to acknowledgement with one slow broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.broker_halting import HALT_PERIOD_S, HaltedBroker
from experiments.experiment_sandbox import LIBRDKAFKA, ExperimentSandbox
from experiments.report import Finding

_RECORD_BYTES = 1_000
_SLOW_RECORDS = 40_000
_REPLICATED_RECORDS = 20_000
_SLOW_RUNS = 3
_HALTED = 7 / 8
_BUFFER_KIB = 4 * 1024
_SLOW = ("round-robin", "adaptive", "least-loaded", "astraea", "c3", "prequal", "join-idle-queue", "score")
_JUDGED = ("prequal", "score")
_THROUGHPUT_GOAL, _SLOW_P99_GOAL = 1.9, 0.5


def run_slow_broker(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """At full speed with a bounded buffer; one of the brokers takes an eighth of the others' rate."""
    settings = {"queue_buffering_max_kbytes": _BUFFER_KIB, "acks": 1, "enable_idempotence": False}
    assignment = [[broker] for broker in bench.brokers for _ in range(2)]
    found = _with_slow_broker(bench, say, assignment, _SLOW_RECORDS, settings)
    medians = _medians(found)
    return _slow_finding(
        found,
        key="slow-broker",
        title="2b. Write latency with one slow broker",
        setting=f"{len(bench.brokers)} brokers, one replica, acks=1, {_BUFFER_KIB} KiB of buffer. Each broker is "
        "behind a proxy that limits its rate, one of them to an eighth of the others' rate. "
        f"{bench.extent.records(_SLOW_RECORDS)} records of {_RECORD_BYTES} bytes as fast as they go; median of "
        f"{bench.extent.runs(_SLOW_RUNS)} runs. The policy score balances by the score latency.",
        verdicts=[
            verdict
            for policy in bench.extent.policies(_JUDGED)
            for verdict in _verdicts(policy, medians[policy], medians[LIBRDKAFKA])
        ],
    )


def run_slow_replica(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Three replicas and acks=all, with one broker halted most of the time: as leader and as follower."""
    settings = {"queue_buffering_max_kbytes": _BUFFER_KIB, "acks": "all"}
    n = len(bench.brokers)
    assignment = [[bench.brokers[(p + i) % n] for i in range(3)] for p in range(2 * n)]
    with HaltedBroker(bench.sandbox, bench.brokers[-1], _HALTED):
        found = _with_slow_broker(bench, say, assignment, _REPLICATED_RECORDS, settings)
    own, default = _medians(found)["score"], _medians(found)[LIBRDKAFKA]
    return _slow_finding(
        found,
        key="slow-replica",
        title="2b, replicated. Write latency with one slow broker, three replicas, acks=all",
        setting=f"{n} brokers, three replicas on brokers in a row, acks=all, idempotent, {_BUFFER_KIB} KiB of buffer. "
        f"One broker is halted for seven eighths of every {HALT_PERIOD_S * 1000:g} ms, so that it is slow as leader "
        "and as follower, and only the partitions without a replica there escape it. "
        f"{bench.extent.records(_REPLICATED_RECORDS)} records of {_RECORD_BYTES} bytes as fast as they go; median of "
        f"{bench.extent.runs(_SLOW_RUNS)} runs. "
        "These runs have no target: routing avoids a slow follower only with the partitions that have no replica "
        "there.",
        verdicts=[
            (f"policy score: not less than the default's throughput ({own[0] / default[0]:.2f})", own[0] >= default[0])
        ],
    )


def _with_slow_broker(
    bench: ExperimentSandbox,
    say: Callable[[str], None],
    assignment: Sequence[Sequence[int]],
    records: int,
    settings: Mapping[str, Any],
) -> dict[str, list[tuple[float, float, float]]]:
    """Records per second, and p50 and p99 in seconds, of each run of each policy."""
    sizes = np.full(bench.extent.records(records), _RECORD_BYTES, np.int64)
    bench.create("slow", assignment)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(bench.extent.runs(_SLOW_RUNS)):
        for policy in (LIBRDKAFKA, *bench.extent.policies(_SLOW)):
            sent = bench.send("slow", policy, sizes, scores=("latency",), **settings)
            found.setdefault(policy, []).append((len(sizes) / sent.seconds, *sent.p50_and_p99_s()))
    bench.delete("slow")
    for policy, (per_s, _, p99) in _medians(found).items():
        say(f"{policy}: {per_s:.0f} records a second, p99 {p99 * 1000:.0f} ms")
    return found


def _medians(found: Mapping[str, list[tuple[float, float, float]]]) -> dict[str, list[float]]:
    return {policy: np.median(runs, axis=0).tolist() for policy, runs in found.items()}


def _slow_finding(
    found: Mapping[str, list[tuple[float, float, float]]],
    *,
    key: str,
    title: str,
    setting: str,
    verdicts: Sequence[tuple[str, bool]],
) -> Finding:
    medians = _medians(found)
    default = medians[LIBRDKAFKA]
    return Finding(
        key=key,
        title=title,
        setting=setting,
        columns=["policy", "records/s", "over the default", "p50, ms", "p99, ms"],
        rows=[
            [policy, f"{per_s:.0f}", f"{per_s / default[0]:.2f}", f"{p50 * 1000:.0f}", f"{tail * 1000:.0f}"]
            for policy, (per_s, p50, tail) in medians.items()
        ],
        verdicts=verdicts,
        bars={policy: [per_s / default[0]] for policy, (per_s, _, _) in medians.items()},
        bar_labels=["throughput"],
        bar_axis="records a second over those of the default",
        data=found,
    )


def _verdicts(policy: str, own: list[float], default: list[float]) -> list[tuple[str, bool]]:
    throughput, p99 = own[0] / default[0], own[2] / default[2]
    return [
        (
            f"policy {policy}: at least {_THROUGHPUT_GOAL} x the throughput of the default ({throughput:.2f})",
            throughput >= _THROUGHPUT_GOAL,
        ),
        (f"policy {policy}: p99 at most {_SLOW_P99_GOAL} x the default ({p99:.2f})", p99 <= _SLOW_P99_GOAL),
    ]
