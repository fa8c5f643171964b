"""Throughput with one slow broker: the default producer, ours, and oracles that know the broker.

A sandbox of four brokers, the last of them slow in one of three ways: halted for 7/8 or 1/2 of every 80 ms (SIGSTOP),
or behind a link of an eighth of the others' rate. The oracles send to the partitions in turn, with a fixed weight for
those of the slow broker, and stay at each for a while; the best of them is what a producer that knows the broker can
reach. Runs are interleaved, in a random order in each round, because what one writes to disk slows down the next; the
results are medians of the ratios to the default.

::

    python -m benchmarks.slow_broker --rounds 5 --out docs/benchmarks/slow-broker.md

Each case is saved to the file of ``--rates`` as soon as it is measured, and the page is written from that whole file,
so that cases may be measured one at a time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka import Producer as Client

from experiments.__main__ import SHAPED, free_ports, rates_bytes_per_s, spec
from experiments.broker_halting import HaltedBroker
from experiments.rate_limited_proxies import RateLimitedProxies
from kafkabal.clusters import NewTopic, connect
from kafkabal.config import ConnectionSettings
from kafkabal.producer import Producer
from kafkabal.sandbox import Sandbox, up

BROKERS: Final = 4
SLOW: Final = BROKERS
PARTITIONS: Final = 2 * BROKERS
VALUE: Final = bytes(1000)
BUFFER_KIB: Final = 4096
DEFAULT: Final = "default"
WITHIN: Final = 0.9
"""Target: fraction of the best oracle's throughput."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """How the last broker is slow."""

    name: str
    records: int
    halted_part: float = 0.0
    is_link: bool = False

    def of(self, sandbox: Sandbox) -> AbstractContextManager[object]:
        """Slow it down until the block ends."""
        return HaltedBroker(sandbox, SLOW, self.halted_part) if self.halted_part else nullcontext()


KINDS: Final = (
    Slowness("halted 7/8", 80_000, halted_part=7 / 8),
    Slowness("halted 1/2", 80_000, halted_part=1 / 2),
    Slowness("slow link", 15_000, is_link=True),
    Slowness("none slow", 400_000),
)
REPLICATION: Final[Mapping[str, tuple[int, dict[str, str]]]] = {
    "RF 1, acks=1": (1, {"acks": "1"}),
    "RF 3, acks=all": (3, {"acks": "all"}),
}
SCORES: Final = ("latency", "disk,latency", "disk")
ORACLES: Final = ((0.0, 64), (0.1, 256), (0.3, 256), (0.3, 1000))
"""Weight of the slow broker's partitions, and consecutive records per partition."""


@dataclass(frozen=True, slots=True)
class CaseRates:
    """Records per second of the runs of one case."""

    case: str
    rates: Mapping[str, Sequence[float]]

    def ratio(self, way: str) -> float:
        """Median over the rounds of the ratio to the default in the same round."""
        return statistics.median(ours / bare for ours, bare in zip(self.rates[way], self.rates[DEFAULT], strict=True))

    def best_oracle(self) -> str:
        """The best of all oracles' medians."""
        return max((way for way in self.rates if way.startswith("oracle")), key=self.ratio)


def send(producer: Any, topic: str, records: int, partition_of: Callable[[int], int] | None = None) -> float:
    """Records per second until all are acknowledged, without connecting and the first view."""
    producer.produce(topic, VALUE)
    assert producer.flush(60) == 0
    start_s = time.perf_counter()
    for number in range(records):
        more = {} if partition_of is None else {"partition": partition_of(number)}
        while True:
            try:
                producer.produce(topic, VALUE, **more)
                break
            except BufferError:
                producer.poll(0.01)
        if not number % 64:
            producer.poll(0)
    assert producer.flush(60) == 0
    return records / (time.perf_counter() - start_s)


def oracle(leaders: Mapping[int, int], weight: float, slot_records: int) -> Callable[[int], int]:
    """Partitions in turn, with those of the slow broker as often as their weight says."""
    turns = 20
    ring = [
        partition
        for turn in range(turns)
        for partition, leader in leaders.items()
        if leader != SLOW or turn < weight * turns
    ]
    return lambda number: ring[number // slot_records % len(ring)]


def ways(
    settings: dict[str, Any], topic: str, leaders: Mapping[int, int], records: int
) -> dict[str, Callable[[], float]]:
    """The producers to compare, by name."""

    def routed(scores: str) -> float:
        with Producer({**settings, "kafkabal.scores": scores}) as producer:
            return send(producer, topic, records)

    def known(weight: float, slot_records: int) -> float:
        return send(Client(settings), topic, records, oracle(leaders, weight, slot_records))

    return {
        DEFAULT: lambda: send(Client(settings), topic, records),
        **{f"score by {scores}": lambda scores=scores: routed(scores) for scores in SCORES},  # type: ignore[misc]
        **{
            f"oracle {weight:g}, {slot} records": lambda weight=weight, slot=slot: known(weight, slot)  # type: ignore[misc]
            for weight, slot in ORACLES
        },
    }


def in_random_order(runs: Mapping[str, object], rounds: int) -> Iterator[str]:
    """Every name once in each round."""
    for number in range(rounds):
        yield from Random(number).sample(list(runs), len(runs))


@contextmanager
def brokers_and_links() -> Iterator[Sandbox]:
    """Four brokers, each also behind a link."""
    ports = free_ports(BROKERS)
    with tempfile.TemporaryDirectory() as name, up(spec(ports), home=Path(name)) as sandbox:
        routes = {
            port: (sandbox.record.node(broker).ports[SHAPED], rate)
            for (broker, port), rate in zip(sorted(ports.items()), rates_bytes_per_s(BROKERS), strict=True)
        }
        with RateLimitedProxies(routes):
            yield sandbox


def measure(sandbox: Sandbox, rounds: int, kinds: Sequence[Slowness], cases: Sequence[str]) -> Iterator[CaseRates]:
    """Interleaved rounds of every producer, for each kind of slowness."""
    for kind, case in itertools.product(kinds, cases):
        copies, acks = REPLICATION[case]
        assignment = tuple(tuple((p + r) % BROKERS + 1 for r in range(copies)) for p in range(PARTITIONS))
        topic = f"{kind.name}-{copies}".replace(" ", "-").replace("/", "-")
        servers = sandbox.bootstrap_servers
        with connect(ConnectionSettings(bootstrap_servers=tuple(servers.split(",")))) as cluster:
            assert not cluster.create_topics([NewTopic(name=topic, assignment=assignment)])
        settings = {
            "bootstrap.servers": sandbox.bootstrap_servers_of(SHAPED) if kind.is_link else servers,
            "queue.buffering.max.kbytes": BUFFER_KIB,
            "log_level": 2,
            **acks,
        }
        leaders = {partition: replicas[0] for partition, replicas in enumerate(assignment)}
        runs = ways(settings, topic, leaders, kind.records)
        rates: dict[str, list[float]] = {way: [] for way in runs}
        with kind.of(sandbox):
            for way in in_random_order(runs, rounds):
                rates[way].append(runs[way]())
        found = CaseRates(f"{kind.name}, {case}", rates)
        for way, each in rates.items():
            print(f"{found.case:28} {way:24} {statistics.median(each):9,.0f}/s  {found.ratio(way):.2f}", flush=True)
        yield found


def page(found: Sequence[CaseRates], rounds: int) -> str:
    """The page of results."""
    rows, by_latency, over_oracle = [], [], []
    for each in found:
        best = each.best_oracle()
        ours = [each.ratio(f"score by {scores}") for scores in SCORES]
        by_latency.append(ours[0])
        over_oracle.append(ours[0] / each.ratio(best))
        cells = [
            f"{statistics.median(each.rates[DEFAULT]):,.0f}",
            *(_spread(each, f"score by {scores}") for scores in SCORES),
            f"{_spread(each, best)}: {best.removeprefix('oracle ')}",
            f"{over_oracle[-1]:.2f}",
        ]
        rows.append(f"| {each.case} | {' | '.join(cells)} |")
    n = len(found)
    # rounded as in the table, so that a reader counts the same rows
    above, near = (
        sum(round(ratio, 2) >= least for ratio in ratios) for ratios, least in ((by_latency, 1), (over_oracle, WITHIN))
    )
    text = f"""# One slow broker

```
python -m benchmarks.slow_broker --rounds {rounds} --out docs/benchmarks/slow-broker.md
```

Four real brokers, the last one slow: halted (SIGSTOP) for a part of every 80 ms, or behind a link of an eighth of the
rate that the others have. {KINDS[0].records:,} records of 1 kB as fast as they go ({KINDS[2].records:,} over the link,
{KINDS[3].records:,} where none is slow), a buffer of {BUFFER_KIB // 1024} MiB, {rounds} interleaved rounds, each in a
random order; connecting and the first view are not counted.

* *default*: records per second of `confluent_kafka.Producer` with its own partitioner
* {", ".join(f"`{scores}`" for scores in SCORES)}: throughput of `kafkabal.Producer` with the policy
  `score` by these scores, divided by the default's: median (least to most)
* *best oracle*: the same for the best of {len(ORACLES)} producers that know the slow broker: the weight of its
  partitions, and how many records go to a partition before the next. The best of several is partly lucky

| case | default | {" | ".join(f"`{scores}`" for scores in SCORES)} | best oracle | `latency` / best oracle |
|---|--:|{"--:|" * len(SCORES)}---|--:|
"""
    reached = [
        f"* Median not below the default: {above} of {n} rows by `latency`, {min(by_latency):.2f} at worst.",
        f"* At least {WITHIN} of the best oracle: {near} of {n} rows, {min(over_oracle):.2f} at worst.",
    ]
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.0f}"
    measured = f"Measured on {load}; where that is more than the cores, differences below a half are noise."
    return text + "\n".join([*rows, "", *reached, "", measured, ""])


def _spread(found: CaseRates, way: str) -> str:
    ratios = [ours / bare for ours, bare in zip(found.rates[way], found.rates[DEFAULT], strict=True)]
    return f"{found.ratio(way):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    """Print one line per case and producer, and write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", nargs="*", default=[kind.name for kind in KINDS], help="kinds of slowness")
    options.add_argument("--cases", nargs="*", default=list(REPLICATION))
    options.add_argument("--records", type=int, help="of each run, instead of what its kind of slowness says")
    options.add_argument("--rates", type=Path, help="JSON file of the cases measured so far")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    kinds = [replace(kind, records=given.records or kind.records) for kind in KINDS if kind.name in given.only]
    is_begun = given.rates is not None and given.rates.exists()
    found: dict[str, Mapping[str, Sequence[float]]] = json.loads(given.rates.read_text()) if is_begun else {}
    with brokers_and_links() as sandbox:
        for each in measure(sandbox, given.rounds, kinds, given.cases):
            found[each.case] = each.rates
            if given.rates is not None:
                given.rates.write_text(json.dumps(found))
            if given.out is not None:
                given.out.write_text(page([CaseRates(case, rates) for case, rates in found.items()], given.rounds))


if __name__ == "__main__":
    main()
