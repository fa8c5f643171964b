"""Produce latency from librdkafka's own statistics, which require nothing of the brokers.

With ``statistics.interval.ms`` librdkafka emits a JSON text periodically. For each broker it has windows, in
microseconds, of how long records waited to be sent (``int_latency``), how long requests waited for the socket
(``outbuf_latency``), and the time until the response (``rtt``); their sum is the latency of producing. If responses are
outstanding, a broker is at least as slow as the time since its last response; with a backlog, as slow as the backlog
takes at the current throughput.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kafkabal.json_decoders import json_decoder
from kafkabal.telemetry.broker_backlog import Backlog
from kafkabal.telemetry.latency_store import LatencyTable

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
    requests: float
    """Requests whose times were measured; older ones weigh less."""
    seconds: float
    """Sum of those times."""


class StatisticsReader:
    """Reads each statistics text of one librdkafka producer, and stores what it says about brokers in a table.

    Parameters
    ----------
    memory_s
        Seconds after which a measured time has a weight of one third; 0 uses only the latest.
    backlogged
        Called after a text that shows a broker whose backlog takes longer than the time since the previous text, and
        once when that has ended.
    """

    def __init__(
        self, table: LatencyTable, *, memory_s: float = 0.0, backlogged: Callable[[], None] = lambda: None
    ) -> None:
        self._table = table
        self._memory_s = memory_s
        self._backlogged = backlogged
        self._decoder = json_decoder(_Statistics)
        self._seen: dict[int, _Seen] = {}
        self._backlogs: defaultdict[int, Backlog] = defaultdict(Backlog)
        self._at_s = -math.inf
        self._was_backlogged = False

    def __call__(self, text: str) -> None:
        """Read one text; a broker that got no produce request since the last one keeps its figure."""
        statistics = self._decoder.decode(text)
        at_s = statistics.ts * _MICROSECONDS
        elapsed_s, self._at_s = at_s - self._at_s, at_s
        waits_s = self._waits_s(statistics, at_s)
        late = {broker: wait_s for broker, wait_s in waits_s.items() if wait_s > elapsed_s}
        for broker in statistics.brokers.values():
            if broker.nodeid >= 0:
                self._take(statistics.name, broker, at_s, elapsed_s, late.get(broker.nodeid, 0.0))
        if late or self._was_backlogged:
            self._backlogged()
        self._was_backlogged = bool(late)

    def _waits_s(self, statistics: _Statistics, at_s: float) -> dict[int, float]:
        """How long a record sent now waits, by broker."""
        queued: Counter[int] = Counter()
        done: Counter[int] = Counter()
        for topic in statistics.topics.values():
            for partition in topic.partitions.values():
                queued[partition.leader] += partition.queued
                done[partition.leader] += partition.txmsgs - partition.msgs_inflight
        return {broker: self._backlogs[broker].wait_s(at_s, queued[broker], done[broker]) for broker in done}

    def _take(self, client: str, broker: _Broker, at_s: float, elapsed_s: float, wait_s: float) -> None:
        before = self._seen.get(broker.nodeid, _Seen(0, -1, at_s, 0.0, 0.0))
        answered = broker.rx != before.received
        # those in flight took no time yet; when a connection opens, rtt is that of other requests
        done = max(0, broker.req.produce - broker.waitresp_cnt)
        requests = done - before.produced
        measured = answered and requests > 0 and broker.rtt.cnt > 0
        kept = math.exp(-elapsed_s / self._memory_s) if self._memory_s > 0 else 0.0
        now = _Seen(
            produced=done,
            received=broker.rx,
            changed_s=at_s if answered or not broker.waitresp_cnt else before.changed_s,
            requests=kept * before.requests + requests if measured else before.requests,
            seconds=kept * before.seconds + requests * broker.mean_s if measured else before.seconds,
        )
        self._seen[broker.nodeid] = now
        if measured:
            self._table.put(client, broker.nodeid, max(now.seconds / now.requests, wait_s), now.requests)
        elif wait_s or (broker.waitresp_cnt and not answered and broker.req.produce):
            least_s, known_s = max(at_s - now.changed_s, wait_s), [_mean_s(seen) for seen in self._seen.values()]
            # before its first response it takes longer than this; less than others take says nothing
            if now.requests or least_s >= max(known_s):
                self._table.put(client, broker.nodeid, max(least_s, _mean_s(now)))


def _mean_s(seen: _Seen) -> float:
    """Mean time of the measured requests; 0 before any."""
    return seen.seconds / seen.requests if seen.requests else 0.0
