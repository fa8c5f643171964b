"""Experiment 2c: the cost of refreshing views: in the sending thread, in another thread, and there with cached
weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from confluent_kafka import Producer as Client

from experiments.experiment_sandbox import LIBRDKAFKA, REFRESH_S, ExperimentSandbox, Sent, send_to
from experiments.report import Finding
from kafkabal.config import DEFAULT_REFRESH_S
from kafkabal.producer import Producer
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.producer.view_refresher import ViewRefresher
from kafkabal.routing import Context, load_policy
from kafkabal.scoring import load_scores

_TOPIC = "ablation"
_RECORDS = 8_000
_RECORD_BYTES = 1_000
_PER_S = 1_000.0
_CONNECTING_S = 2.0
_RUNS = 5
_P99_GOAL = 1.15
SYNC = "read by the sending thread, weighed for each record"
ASYNC = "read beside it, weighed for each record"
CACHED = "read beside it, weights and slots kept (`score`)"
AS_BY_DEFAULT = f"the same, read every {DEFAULT_REFRESH_S:g} s, as by default"
MEASURED = f"read every {REFRESH_S:g} s, with latencies measured (`score` by `disk` and `latency`)"


class _TimedProducer:
    """Sends to one topic, and records the duration of each call."""

    def __init__(self, client: Client, partition: Callable[[int], int] | None = None) -> None:
        self._client = client
        self._partition = partition
        self.call_s: list[float] = []

    def produce(self, value: bytes, on_delivery: Any) -> None:
        """Queue a record."""
        start_s = perf_counter()
        if self._partition is None:
            self._client.produce(_TOPIC, value, on_delivery=on_delivery)
        else:
            self._client.produce(_TOPIC, value, partition=self._partition(len(value)), on_delivery=on_delivery)
        self.call_s.append(perf_counter() - start_s)
        self._client.poll(0)

    def poll(self, timeout_s: float) -> None:
        """Serve delivery reports."""
        self._client.poll(timeout_s)

    def flush(self) -> None:
        """Wait for all deliveries."""
        self._client.flush()


class _WeightedPartitions:
    """Recomputes weights for each record; reads the cluster itself, or has a thread read it."""

    def __init__(self, bench: ExperimentSandbox, client: Client, *, reads: bool) -> None:
        self._reads = reads
        self._policy = load_policy("score").create(Context(seed=1))
        self._router = TopicRouter(_TOPIC, self._policy, _raise)
        self.refresher = ViewRefresher(
            lambda: bench.cluster,
            lambda: (self._router,),
            load_scores(["disk"]),
            refresh_s=REFRESH_S,
            clock=monotonic,
            failed=_raise,
        )
        self.refresher.refresh()
        self._due_s = monotonic() + REFRESH_S
        if not reads:
            self.refresher.start(lambda: client)

    def partition(self, size_bytes: int) -> int:
        """The partition of the next record."""
        if self._reads and monotonic() >= self._due_s:
            self.refresher.refresh()
            self._due_s = monotonic() + REFRESH_S
        assert self._router.view is not None
        self._policy.refresh(self._router.view)
        return self._router.pick(None, size_bytes)


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Interleaved runs of all ways at a steady rate."""
    n = len(bench.brokers)
    bench.create(_TOPIC, [[broker] for broker in bench.brokers for _ in range(2)])
    records, runs = bench.extent.records(_RECORDS), bench.extent.runs(_RUNS)
    from_s = min(_CONNECTING_S, 0.4 * records / _PER_S)
    _send_by_default(bench, records)  # the first run into a new topic is slower than later ones
    found: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(runs):
        for way, send in _WAYS.items():
            found.setdefault(way, []).append(_figures(*send(bench, records), from_s))
    bench.delete(_TOPIC)
    medians = {way: np.median(each, axis=0).tolist() for way, each in found.items()}
    over = {way: _over_default(found, way) for way in found}
    for way, (p50, p99, longest) in medians.items():
        say(f"{way}: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.0f} ms, longest call {longest * 1000:.1f} ms")
    return Finding(
        key="refresh-ablation",
        title="2c. Refreshing views: in the sending thread, beside it, and with weights kept",
        setting=f"{n} healthy brokers with two partitions each; {records} records of {_RECORD_BYTES} bytes at "
        f"{_PER_S:g} a second, of which the first {from_s:g} s, in which clients connect, are left out; the "
        f"cluster is read every {REFRESH_S:g} s. {runs} interleaved runs: medians, those "
        "of latency over librdkafka's default in the same round. A call is what the sending thread "
        "spends in handing one record over.",
        columns=["way", "p50, ms", "p99, ms", "p50 over the default", "p99 over the default", "longest call, ms"],
        rows=[
            [
                way,
                f"{p50 * 1000:.1f}",
                f"{p99 * 1000:.1f}",
                *(f"{ratio:.2f}" for ratio in over[way]),
                f"{longest * 1000:.1f}",
            ]
            for way, (p50, p99, longest) in medians.items()
        ],
        verdicts=_verdicts(medians, over),
        bars={way: [p99 * 1000, longest * 1000] for way, (_, p99, longest) in medians.items()},
        bar_labels=["p99 of latency", "longest call"],
        bar_axis="milliseconds",
        data=found,
    )


def _verdicts(medians: Mapping[str, list[float]], over: Mapping[str, list[float]]) -> list[tuple[str, bool]]:
    kept_s, by_sender_s = medians[CACHED][2], medians[SYNC][2]
    calls = f"{kept_s * 1000:.1f} and {by_sender_s * 1000:.1f} ms"
    return [
        *(
            (f"{way}: p99 within {_P99_GOAL} x the default ({over[way][1]:.2f})", over[way][1] <= _P99_GOAL)
            for way in (CACHED, AS_BY_DEFAULT)
        ),
        (f"{CACHED}: no call as long as with reading by the sender ({calls})", kept_s < by_sender_s),
    ]


def _send_by_default(bench: ExperimentSandbox, records: int) -> tuple[Sent, list[float]]:
    return _send(_TimedProducer(Client(bench.settings)), records)


def _send_and_refresh_in_turn(bench: ExperimentSandbox, records: int) -> tuple[Sent, list[float]]:
    client = Client(bench.settings)
    return _send(_TimedProducer(client, _WeightedPartitions(bench, client, reads=True).partition), records)


def _send_beside_refreshes(bench: ExperimentSandbox, records: int) -> tuple[Sent, list[float]]:
    client = Client(bench.settings)
    weighing = _WeightedPartitions(bench, client, reads=False)
    sent = _send(_TimedProducer(client, weighing.partition), records)
    weighing.refresher.close()
    return sent


def _send_with_producer(
    bench: ExperimentSandbox, records: int, *, scores: str = "disk", refresh_s: float = REFRESH_S
) -> tuple[Sent, list[float]]:
    own = {"kafkabal.scores": scores, "kafkabal.refresh.ms": round(refresh_s * 1000), "kafkabal.seed": 1}
    with Producer({**bench.settings, **own}) as producer:
        return _send(_TimedProducer(producer), records)


_WAYS: Mapping[str, Callable[[ExperimentSandbox, int], tuple[Sent, list[float]]]] = {
    LIBRDKAFKA: _send_by_default,
    SYNC: _send_and_refresh_in_turn,
    ASYNC: _send_beside_refreshes,
    CACHED: _send_with_producer,
    AS_BY_DEFAULT: lambda bench, records: _send_with_producer(bench, records, refresh_s=DEFAULT_REFRESH_S),
    MEASURED: lambda bench, records: _send_with_producer(bench, records, scores="disk,latency"),
}


def _send(producer: _TimedProducer, records: int) -> tuple[Sent, list[float]]:
    return send_to(producer, np.full(records, _RECORD_BYTES, np.int64), _PER_S), producer.call_s


def _figures(sent: Sent, call_s: list[float], from_s: float) -> tuple[float, float, float]:
    """p50 and p99 latency, and the longest call, in seconds."""
    return *sent.p50_and_p99_s(from_s=from_s), float(np.array(call_s)[sent.at_s >= from_s].max())


def _over_default(found: Mapping[str, list[tuple[float, float, float]]], way: str) -> list[float]:
    """Medians of p50 and p99 over those of the default."""
    ratios = [
        (own[0] / default[0], own[1] / default[1]) for own, default in zip(found[way], found[LIBRDKAFKA], strict=True)
    ]
    return [float(ratio) for ratio in np.median(ratios, axis=0)]


def _raise(error: Exception) -> None:
    raise error
