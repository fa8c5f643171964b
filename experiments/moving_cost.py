"""Experiment 3, the alternative: what moving data costs while brokers are unbalanced and a producer keeps writing."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic, sleep
from typing import NamedTuple

import numpy as np

from experiments.experiment_sandbox import LIBRDKAFKA, ExperimentSandbox, machine_load
from experiments.imbalances import IMBALANCES, held_bytes, imbalance
from experiments.report import Finding
from kafkabal.config import DEFAULT_PLAN_TOLERANCE

_TOPIC = "moved"
_UNIT_RECORDS = 750
_FILL_BYTES = 20_000
_RECORD_BYTES = 1_000
_PER_S = 1_000.0
_CONNECTING_S = 2.0
_ALONE_S = 10.0
_LONGEST_S = 300.0
_THROTTLES = ("auto", "none")


class _Move(NamedTuple):
    """One rebalance while a producer writes."""

    before: float
    """Imbalance."""
    after: float
    held_bytes: int
    copied_bytes: int
    seconds: float
    alone_s: tuple[float, float]
    """p50 and p99 of the producer's latency before the first move."""
    beside_s: tuple[float, float]
    """The same from then until the last move."""


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Rebalance each imbalance while a producer writes at a steady rate."""
    found: dict[str, dict[str, _Move]] = {}
    for name in IMBALANCES:
        for throttle in _THROTTLES:
            move = found.setdefault(name, {})[throttle] = _measure_move(bench, name, throttle)
            say(
                f"{name}, throttle {throttle}: {move.before:.3f} -> {move.after:.3f}, {move.copied_bytes / 1e6:.0f} MB "
                f"in {move.seconds:.1f} s; p99 {move.alone_s[1] * 1000:.0f} -> {move.beside_s[1] * 1000:.0f} ms"
            )
    rows = [(name, throttle, move) for name, of in found.items() for throttle, move in of.items()]
    worst = max(move.after for *_, move in rows)
    return Finding(
        key="moving-cost",
        title="3, moving. What moving the data would have cost",
        setting=f"The imbalances of experiment 3 with {rows[0][2].held_bytes / 1e6:.0f} MB. `kafkabal rebalance --yes "
        f"--score disk` balances them, with the throttle that it chooses itself and with none, while a producer of "
        f"librdkafka's default writes {_PER_S:g} records of {_RECORD_BYTES} bytes a second to the topic. Its latency "
        f"*alone* is that of the {_ALONE_S:g} s before, without the first {_CONNECTING_S:g} s, in which it connects. "
        f"{machine_load()}",
        columns=[
            "imbalance",
            "throttle",
            "max/mean before",
            "after",
            "copied, MB",
            "of the data",
            "seconds",
            "p50 alone, ms",
            "while moving",
            "p99 alone, ms",
            "while moving",
        ],
        rows=[
            [
                name,
                throttle,
                f"{move.before:.3f}",
                f"{move.after:.3f}",
                f"{move.copied_bytes / 1e6:.0f}",
                f"{move.copied_bytes / move.held_bytes:.0%}",
                f"{move.seconds:.1f}",
                *(f"{of[i] * 1000:.1f}" for i in (0, 1) for of in (move.alone_s, move.beside_s)),
            ]
            for name, throttle, move in rows
        ],
        verdicts=[
            (
                f"moving ends within the tolerance of {DEFAULT_PLAN_TOLERANCE:.0%} ({worst:.3f})",
                worst <= 1 + DEFAULT_PLAN_TOLERANCE,
            )
        ],
        bars={
            f"{name}, {throttle}": [move.alone_s[1] * 1000, move.beside_s[1] * 1000] for name, throttle, move in rows
        },
        bar_labels=["alone", "while moving"],
        bar_axis="p99 of the producer's latency, milliseconds",
        data={name: {throttle: move._asdict() for throttle, move in of.items()} for name, of in found.items()},
    )


def _measure_move(bench: ExperimentSandbox, name: str, throttle: str) -> _Move:
    topics = IMBALANCES[name](bench, _TOPIC, bench.extent.records(_UNIT_RECORDS), _FILL_BYTES)
    before = held_bytes(bench, topics)
    sizes = np.full(int(_LONGEST_S * _PER_S), _RECORD_BYTES, np.int64)
    stop = Event()
    with ThreadPoolExecutor(1) as beside:
        sending = beside.submit(bench.send, _TOPIC, LIBRDKAFKA, sizes, per_s=_PER_S, until=stop)
        try:
            sleep(_CONNECTING_S + _ALONE_S)
            begun_s = monotonic()
            copied_bytes, seconds = _rebalance(bench, throttle)
            ended_s = monotonic()
        finally:
            stop.set()
    sent = sending.result()
    after = held_bytes(bench, topics)
    for topic in topics:
        bench.delete(topic)
    # excludes the start-up and planning of the command
    from_s = ended_s - seconds - sent.begun_s
    return _Move(
        before=imbalance(before),
        after=imbalance(after),
        held_bytes=sum(before),
        copied_bytes=copied_bytes,
        seconds=seconds,
        alone_s=sent.p50_and_p99_s(from_s=_CONNECTING_S, until_s=begun_s - sent.begun_s),
        beside_s=sent.p50_and_p99_s(from_s=from_s, until_s=ended_s - sent.begun_s),
    )


def _rebalance(bench: ExperimentSandbox, throttle: str) -> tuple[int, float]:
    """Bytes copied and seconds, as the command reports them."""
    words = ("rebalance", "--yes", "--score", "disk", "--throttle", throttle, "-q", "-o", "json")
    result = json.loads(bench.kafkabal(*words))
    return result["copied_bytes"], result["elapsed_s"]
