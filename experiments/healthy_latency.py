"""Experiment 2a: what routing adds to the time from produce to acknowledgement while all brokers are healthy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.experiment_sandbox import LIBRDKAFKA, ExperimentSandbox, another_sandbox, machine_load
from experiments.report import Finding
from kafkabal.config import DEFAULT_REFRESH_S
from kafkabal.sandbox import default_cache, ensure_jars
from kafkabal.sandbox.jars import ensure_java_compiler
from kafkabal.sandbox.java_programs import java_binary
from kafkabal.telemetry.broker_plugin.build_jar import REPORTER_CLASS, build_plugin

_TOPIC: Final = "latency"
_FIRST_PER_S: Final = {100: 2_000.0, 1_000: 1_000.0, 100_000: 50.0}
"""By record size in bytes: the rate at which the ramp starts."""
_LOADS: Final = (0.3, 0.6, 0.9)
_STEP_S: Final = 3.0
"""Within 1 s, queues and page caches absorb more than brokers sustain: at 90% of that the default's p50 was 1 s."""
_KEPT_UP_RATIO: Final = 0.8
_TRIES: Final = 2
_RUN_S: Final = 12.0
"""Two readings of the cluster at the default interval, after clients have connected."""
_CONNECTING_S: Final = 2.0
_ROUNDS: Final = 3
_P50_GOAL, _P99_GOAL = 1.05, 1.15
_PUSH_INTERVAL: Final = "1s"
_TELEMETRY_TOPIC: Final = "__kafkabal_telemetry"
_SCORE: Final = "score"
_TELEMETRY_SUFFIX: Final = ", telemetry"

Latencies = list[tuple[float, float]]
"""p50 and p99 of each round, in seconds."""


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Interleaved rounds of the client's default and of the policy, at three rates, with three record sizes."""
    ways: dict[str, dict[str, Any]] = {LIBRDKAFKA: {}, _SCORE: {}}
    found = _all_sizes(bench, say, ways, _LOADS)
    cells = [(size, load, per_s, of) for size, loads in found.items() for load, (per_s, of) in loads.items()]
    over = [_ratios(of[_SCORE], of[LIBRDKAFKA]) for *_, of in cells]
    return Finding(
        key="write-latency",
        title="2a. Write latency, all brokers healthy",
        setting=f"{len(bench.brokers)} brokers with two partitions each. {_setting(bench)} The ratios are those of the "
        "policy score to librdkafka's default in the same round: median (least to most).",
        columns=["record", "rate", "records/s", "default p50, ms", "p99, ms", "score over it, p50", "p99"],
        rows=[
            [
                _bytes(size),
                f"{load:.0%}",
                f"{per_s:.0f}",
                *(f"{value * 1000:.1f}" for value in np.median(of[LIBRDKAFKA], axis=0)),
                *(_spread([pair[column] for pair in ratios]) for column in (0, 1)),
            ]
            for (size, load, per_s, of), ratios in zip(cells, over, strict=True)
        ],
        verdicts=[
            _verdict(over, 0, f"policy score: p50 within {_P50_GOAL} x the default", _P50_GOAL),
            _verdict(over, 1, f"policy score: p99 within {_P99_GOAL} x the default", _P99_GOAL),
        ],
        bars={
            f"{_bytes(size)}, {load:.0%}": np.median(ratios, axis=0).tolist()
            for (size, load, *_), ratios in zip(cells, over, strict=True)
        },
        bar_labels=["p50", "p99"],
        bar_axis="policy score over librdkafka's default",
        data=found,
    )


def run_telemetry(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """The same at one rate, on brokers that collect client telemetry, with clients that push it and clients that do
    not."""
    pushes = {"enable_metrics_push": True}
    silent = {"enable_metrics_push": False}
    ways = {
        LIBRDKAFKA: silent,
        LIBRDKAFKA + _TELEMETRY_SUFFIX: pushes,
        _SCORE: silent,
        _SCORE + _TELEMETRY_SUFFIX: pushes,
    }
    with tempfile.TemporaryDirectory() as folder:
        jar = Path(folder) / "telemetry.jar"
        jars = ensure_jars(bench.sandbox.record.spec.version, default_cache())
        build_plugin(jar, jars, java=java_binary(), compiler=ensure_java_compiler(default_cache()))
        more = {"class_path": (jar,), "properties": {"metric.reporters": REPORTER_CLASS}}
        with another_sandbox(len(bench.brokers), bench.extent, **more) as collecting:
            collecting.kafkabal("telemetry", "subscribe", "--interval", _PUSH_INTERVAL)
            found = _all_sizes(collecting, say, ways, _LOADS[1:2])
            pushed_bytes = int(collecting.bytes_by_broker(_TELEMETRY_TOPIC).sum())
    cells = [(size, of) for size, loads in found.items() for _, of in loads.values()]
    over = {way: [_ratios(of[way + _TELEMETRY_SUFFIX], of[way]) for _, of in cells] for way in (LIBRDKAFKA, _SCORE)}
    return Finding(
        key="write-latency-telemetry",
        title="2a, telemetry. Write latency with and without client metrics",
        setting=f"{len(bench.brokers)} brokers with the plug-in of `kafkabal telemetry` and a subscription of "
        f"{_PUSH_INTERVAL}; {_LOADS[1]:.0%} of the saturating rate. {_setting(bench)} The ratios are those "
        "of clients that push their metrics to clients of the same kind that do not, in the same round: median (least "
        f"to most). The metrics took {pushed_bytes / 1e3:.0f} kB in the brokers' logs.",
        columns=["record", "client", "p50, ms", "p99, ms", "pushing over it, p50", "p99"],
        rows=[
            [
                _bytes(size),
                way,
                *(f"{value * 1000:.1f}" for value in np.median(of[way], axis=0)),
                *(_spread([pair[column] for pair in over[way][number]]) for column in (0, 1)),
            ]
            for number, (size, of) in enumerate(cells)
            for way in over
        ],
        verdicts=[
            ("metrics were pushed and forwarded", pushed_bytes > 0),
            _verdict(over[_SCORE], 0, f"policy score: pushing changes p50 within {_P50_GOAL} x", _P50_GOAL),
            _verdict(over[_SCORE], 1, f"policy score: pushing changes p99 within {_P99_GOAL} x", _P99_GOAL),
        ],
        data=found,
    )


def saturating_per_s(reached_per_s: Callable[[float], float], first_per_s: float) -> float:
    """The highest rate reached in a ramp: each rate is offered briefly, and then doubled, until one is missed.

    It counts as missed only if a second try misses it too, since the machine may have been busy during the first.

    Parameters
    ----------
    reached_per_s
        Given the offered records per second, returns how many are acknowledged.
    """
    offered_per_s, best_per_s, misses = first_per_s, 0.0, 0
    while misses < _TRIES:
        reached = reached_per_s(offered_per_s)
        best_per_s = max(best_per_s, reached)
        if reached < _KEPT_UP_RATIO * offered_per_s:
            misses += 1
        else:
            offered_per_s, misses = 2 * offered_per_s, 0
    return best_per_s


def _all_sizes(
    bench: ExperimentSandbox,
    say: Callable[[str], None],
    ways: Mapping[str, Mapping[str, Any]],
    loads: Sequence[float],
) -> dict[int, dict[float, tuple[float, dict[str, Latencies]]]]:
    """By record size and fraction of the saturating rate: records per second, and latencies of each way."""
    found: dict[int, dict[float, tuple[float, dict[str, Latencies]]]] = {}
    for size, first_per_s in _FIRST_PER_S.items():
        most_per_s = saturating_per_s(partial(_reached_per_s, bench, size), first_per_s)
        say(f"{_bytes(size)}: saturated at {most_per_s:.0f} records/s")
        for load in loads:
            of = _rounds(bench, ways, size, load * most_per_s)
            found.setdefault(size, {})[load] = load * most_per_s, of
            for way in ways:
                p50_s, p99_s = np.median(of[way], axis=0)
                say(f"{_bytes(size)}, {load:.0%}, {way}: p50 {p50_s * 1000:.1f} ms, p99 {p99_s * 1000:.1f} ms")
    return found


@contextmanager
def _new_topic(bench: ExperimentSandbox) -> Iterator[None]:
    """One for each run: records of 100 kB come at 700 MB/s, and those of all runs together fill a disk."""
    bench.create(_TOPIC, [[broker] for broker in bench.brokers for _ in range(2)])
    try:
        yield
    finally:
        bench.delete(_TOPIC)


def _reached_per_s(bench: ExperimentSandbox, size: int, per_s: float) -> float:
    sizes = np.full(int(_STEP_S * per_s), size, np.int64)
    with _new_topic(bench):
        return len(sizes) / bench.send(_TOPIC, LIBRDKAFKA, sizes, per_s=per_s).seconds


def _rounds(
    bench: ExperimentSandbox, ways: Mapping[str, Mapping[str, Any]], size: int, per_s: float
) -> dict[str, Latencies]:
    run_s = _RUN_S * bench.extent.part
    sizes = np.full(int(run_s * per_s), size, np.int64)
    found: dict[str, Latencies] = {}
    for seed in range(bench.extent.runs(_ROUNDS)):
        # the second run writes to brokers that still flush the first one's data
        for way, settings in list(ways.items())[:: -1 if seed % 2 else 1]:
            policy = way.removesuffix(_TELEMETRY_SUFFIX)
            more = {"seed": seed, "per_s": per_s, "refresh_s": DEFAULT_REFRESH_S, **settings}
            with _new_topic(bench):
                sent = bench.send(_TOPIC, policy, sizes, **more)
            found.setdefault(way, []).append(sent.p50_and_p99_s(from_s=_warm_up_s(bench)))
    return found


def _warm_up_s(bench: ExperimentSandbox) -> float:
    return _CONNECTING_S * bench.extent.part


def _setting(bench: ExperimentSandbox) -> str:
    return (
        "Records arrive at a fraction of the saturating rate. To find that rate, librdkafka's default sends at rates "
        f"that double every {_STEP_S:g} s; it is the highest rate of acknowledgements. A run takes "
        f"{_RUN_S * bench.extent.part:g} s, without its first {_warm_up_s(bench):g} s, in which clients connect. There "
        f"are {bench.extent.runs(_ROUNDS)} interleaved rounds; each begins with another producer. "
        f"The cluster is read every {DEFAULT_REFRESH_S:g} s, as by default. "
        f"{machine_load()}"
    )


def _ratios(own: Latencies, other: Latencies) -> Latencies:
    """p50 and p99 divided by those of another way, by round."""
    return [(a[0] / b[0], a[1] / b[1]) for a, b in zip(own, other, strict=True)]


def _verdict(over: Sequence[Latencies], column: int, what: str, goal: float) -> tuple[str, bool]:
    medians = [float(np.median([pair[column] for pair in ratios])) for ratios in over]
    within = sum(ratio <= goal for ratio in medians)
    return f"{what} in {within} of {len(over)} cases (worst: {max(medians):.2f})", within == len(over)


def _bytes(size: int) -> str:
    return f"{size} B" if size < 1_000 else f"{size / 1e3:g} kB"


def _spread(values: Sequence[float]) -> str:
    return f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
