"""Produce latency from librdkafka's own statistics: a source that needs nothing of the brokers.

``statistics.interval.ms`` makes librdkafka hand over a JSON text now and then. Of each broker it has windows, in
microseconds, of what records waited to be sent (``int_latency``), of what requests waited for the socket
(``outbuf_latency``), and of the time until the response (``rtt``); their sum is what a producer waits. A broker that
owes responses and gives none is at least as slow as it has been silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from kafkabal.telemetry.latency import LatencyTable

_MICROSECONDS = 1e-6


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
    def mean_us(self) -> float:
        """From produce to response."""
        return self.int_latency.avg + self.outbuf_latency.avg + self.rtt.avg


class _Statistics(msgspec.Struct):
    name: str = ""
    ts: int = 0
    """Monotonic clock, in microseconds."""
    brokers: dict[str, _Broker] = {}


class _Seen(NamedTuple):
    """A broker as an earlier text showed it."""

    produced: int
    received: int
    changed_us: int
    """When a response came last."""


class StatisticsReader:
    """Takes each statistics text of one librdkafka producer and puts what it says of brokers into a table."""

    def __init__(self, table: LatencyTable) -> None:
        self._table = table
        self._decoder = msgspec.json.Decoder(_Statistics)
        self._seen: dict[int, _Seen] = {}

    def __call__(self, text: str) -> None:
        """Read one text; a broker that was sent no produce request since the last one keeps its figure."""
        statistics = self._decoder.decode(text)
        for broker in statistics.brokers.values():
            if broker.nodeid >= 0:
                self._take(statistics, broker)

    def _take(self, statistics: _Statistics, broker: _Broker) -> None:
        before = self._seen.get(broker.nodeid, _Seen(0, -1, statistics.ts))
        answered = broker.rx != before.received
        changed_us = statistics.ts if answered or not broker.waitresp_cnt else before.changed_us
        self._seen[broker.nodeid] = _Seen(broker.req.produce, broker.rx, changed_us)
        requests = broker.req.produce - before.produced
        if answered and requests > 0 and broker.rtt.cnt > 0:
            self._table.put(statistics.name, broker.nodeid, broker.mean_us * _MICROSECONDS, requests)
        elif broker.waitresp_cnt and not answered and broker.req.produce:
            silent_s = (statistics.ts - changed_us) * _MICROSECONDS
            known_s = self._table.latencies_s().get(broker.nodeid, 0.0)
            self._table.put(statistics.name, broker.nodeid, max(silent_s, known_s))
