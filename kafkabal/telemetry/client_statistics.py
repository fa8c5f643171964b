"""Produce latency from librdkafka's own statistics: a source that needs nothing of the brokers.

``statistics.interval.ms`` makes librdkafka hand over a JSON text now and then; ``brokers.*.rtt`` is a window of the
time from sending a request until its response, in microseconds, and ``int_latency`` what a record waited before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    rtt: _Window = msgspec.field(default_factory=_Window)
    req: _Requests = msgspec.field(default_factory=_Requests)


class _Statistics(msgspec.Struct):
    name: str = ""
    brokers: dict[str, _Broker] = {}


class StatisticsReader:
    """Takes each statistics text of one librdkafka producer and puts what it says of brokers into a table."""

    def __init__(self, table: LatencyTable) -> None:
        self._table = table
        self._decoder = msgspec.json.Decoder(_Statistics)
        self._produced: dict[int, int] = {}

    def __call__(self, text: str) -> None:
        """Read one text; a broker that got no produce request since the last one keeps its figure."""
        statistics = self._decoder.decode(text)
        for broker in statistics.brokers.values():
            requests = broker.req.produce - self._produced.get(broker.nodeid, 0)
            self._produced[broker.nodeid] = broker.req.produce
            if broker.nodeid >= 0 and requests > 0 and broker.rtt.cnt > 0:
                self._table.put(statistics.name, broker.nodeid, broker.rtt.avg * _MICROSECONDS, requests)
