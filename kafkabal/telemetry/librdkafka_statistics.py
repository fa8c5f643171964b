"""Produce latency from librdkafka's own statistics, which require nothing of the brokers.

With ``statistics.interval.ms`` librdkafka emits a JSON text periodically. For each broker it has windows, in
microseconds, of how long records waited to be sent (``int_latency``), how long requests waited for the socket
(``outbuf_latency``), and the time until the response (``rtt``); their sum is the latency of producing. If responses are
outstanding, a broker is at least as slow as the time since its last response; with a backlog, as the time that its
oldest record has waited.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from statistics import median_low
from typing import Final, NamedTuple

import msgspec

from kafkabal.json_decoders import json_decoder
from kafkabal.telemetry.broker_backlog import Backlog
from kafkabal.telemetry.latency_store import LatencyTable

_MICROSECONDS = 1e-6
_TIMES: Final = 9
"""A median of so many takes five slow ones in a row to change: with statistics every 50 ms, a quarter of a second. In a
mean over 5 s, one request that a busy machine delayed by 0.2 s counted for seconds, because the broker then got few
others: 400,000 records over four healthy brokers ended at 1.0 to 2.0 of the mean, with the median at 1.01 to 1.07
(2026-11)."""


class _Window(msgspec.Struct, gc=False):
    avg: float = 0.0
    cnt: int = 0


class _Requests(msgspec.Struct, rename={"produce": "Produce"}, gc=False):
    produce: int = 0


class _Broker(msgspec.Struct):
    nodeid: int = -1
    rx: int = 0
    """Responses received."""
    waitresp_cnt: int = 0
    """Requests without a response yet."""
    int_latency: _Window = msgspec.field(default_factory=_Window)
    outbuf_latency: _Window = msgspec.field(default_factory=_Window)
    rtt: _Window = msgspec.field(default_factory=_Window)
    req: _Requests = msgspec.field(default_factory=_Requests)

    @property
    def mean_s(self) -> float:
        """Time from produce to response."""
        return (self.int_latency.avg + self.outbuf_latency.avg + self.rtt.avg) * _MICROSECONDS


class _Partition(msgspec.Struct, gc=False):
    leader: int = -1
    msgq_cnt: int = 0
    xmit_msgq_cnt: int = 0
    msgs_inflight: int = 0
    txmsgs: int = 0
    """Records put into requests, including those in flight."""

    @property
    def queued(self) -> int:
        """Records accepted and not acknowledged."""
        return self.msgq_cnt + self.xmit_msgq_cnt + self.msgs_inflight


class _Topic(msgspec.Struct):
    partitions: dict[str, _Partition] = {}


class _Statistics(msgspec.Struct):
    name: str = ""
    ts: int = 0
    """Monotonic clock, in microseconds."""
    brokers: dict[str, _Broker] = {}
    topics: dict[str, _Topic] = {}


class _Seen(NamedTuple):
    """A broker as of earlier statistics."""

    produced: int
    received: int
    changed_s: float
    """When the last response arrived."""
    times_s: tuple[float, ...]
    """The latest mean times of requests, one for each text that has some."""


class StatisticsReader:
    """Reads each statistics text of one librdkafka producer, and stores what it says about brokers in a table.

    Parameters
    ----------
    backlogged
        Called after a text that shows a broker whose oldest record has waited for longer than the time since the
        previous text, and after the next texts until their times outweigh those of the backlog.
    """

    def __init__(self, table: LatencyTable, *, backlogged: Callable[[], None] = lambda: None) -> None:
        self._table = table
        self._backlogged = backlogged
        self._decoder = json_decoder(_Statistics)
        self._seen: dict[int, _Seen] = {}
        self._backlogs: defaultdict[int, Backlog] = defaultdict(Backlog)
        self._at_s = -math.inf
        self._texts_to_report = 0

    def __call__(self, text: str) -> None:
        """Read one text; a broker that got no produce request since the last one keeps its figure."""
        statistics = self._decoder.decode(text)
        at_s = statistics.ts * _MICROSECONDS
        elapsed_s, self._at_s = at_s - self._at_s, at_s
        waits_s = self._waits_s(statistics, at_s)
        late = {broker: wait_s for broker, wait_s in waits_s.items() if wait_s > elapsed_s}
        for broker in statistics.brokers.values():
            if broker.nodeid >= 0:
                self._take(statistics.name, broker, at_s, late.get(broker.nodeid, 0.0))
        self._texts_to_report = _TIMES if late else max(0, self._texts_to_report - 1)
        if self._texts_to_report > 0:
            self._backlogged()

    def _waits_s(self, statistics: _Statistics, at_s: float) -> dict[int, float]:
        """How long the oldest record has waited, by broker."""
        queued: Counter[int] = Counter()
        done: Counter[int] = Counter()
        for topic in statistics.topics.values():
            for partition in topic.partitions.values():
                queued[partition.leader] += partition.queued
                done[partition.leader] += partition.txmsgs - partition.msgs_inflight
        return {broker: self._backlogs[broker].wait_s(at_s, queued[broker], done[broker]) for broker in done}

    def _take(self, client: str, broker: _Broker, at_s: float, wait_s: float) -> None:
        before = self._seen.get(broker.nodeid, _Seen(0, -1, at_s, ()))
        answered = broker.rx != before.received
        # those in flight took no time yet; when a connection opens, rtt is that of other requests
        done = max(0, broker.req.produce - broker.waitresp_cnt)
        requests = done - before.produced
        measured = answered and requests > 0 and broker.rtt.cnt > 0
        now = _Seen(
            produced=done,
            received=broker.rx,
            changed_s=at_s if answered or not broker.waitresp_cnt else before.changed_s,
            times_s=(*before.times_s[1 - _TIMES :], broker.mean_s) if measured else before.times_s,
        )
        self._seen[broker.nodeid] = now
        if measured:
            self._table.put(client, broker.nodeid, max(_typical_s(now), wait_s))
        elif wait_s or (broker.waitresp_cnt and not answered and broker.req.produce):
            least_s, known_s = max(at_s - now.changed_s, wait_s), [_typical_s(seen) for seen in self._seen.values()]
            # before its first response it takes longer than this; less than others take says nothing
            if now.times_s or least_s >= max(known_s):
                self._table.put(client, broker.nodeid, max(least_s, _typical_s(now)))


def _typical_s(seen: _Seen) -> float:
    """Median of the latest measured times; 0 before any."""
    return median_low(seen.times_s) if seen.times_s else 0.0
