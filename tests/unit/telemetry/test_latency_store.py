"""The latency table: means over clients, ages, and unknown values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kafkabal.telemetry.latency_store import LatencyTable
from kafkabal.telemetry.librdkafka_statistics import StatisticsReader


class Clock:
    """A clock that advances only on request."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_clients_count_the_same() -> None:
    """How many requests each of them sent is unknown."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, 0.010)
    table.put("b", 1, 0.110)
    assert table.latencies_s() == {1: pytest.approx(0.060)}


def test_the_newest_figure_of_a_client_replaces_its_older_one() -> None:
    """A client counts once per broker, with its newest figure."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, 0.5)
    table.put("a", 1, 0.1)
    assert table.latencies_s() == {1: pytest.approx(0.1)}


@pytest.mark.parametrize("broker", [-1, 2**31, 99999999999999999999])
def test_invalid_broker_ids_are_ignored(broker: int) -> None:
    """Ids are non-negative 32-bit numbers; others are not stored."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", broker, 0.5)
    table.put("a", 2**31 - 1, 0.5)
    assert table.latencies_s() == {2**31 - 1: 0.5}


def test_brokers_are_bounded() -> None:
    """Beyond the limit the brokers with the oldest figures are forgotten."""
    table = LatencyTable(max_age_s=10, clock=Clock(), max_brokers=2)
    for broker in (1, 2, 1, 3):
        table.put("a", broker, 0.5)
    assert set(table.latencies_s()) == {1, 3}


def test_an_old_figure_is_expired() -> None:
    """A broker without a recent figure is unknown, not fast."""
    clock = Clock()
    table = LatencyTable(max_age_s=10, clock=clock)
    table.put("a", 1, 0.5)
    table.put("a", 2, 0.5)
    clock.now = 6.0
    table.put("b", 1, 0.1)
    clock.now = 12.0
    assert table.latencies_s() == {1: pytest.approx(0.1)}


@pytest.mark.parametrize("mean_s", [math.nan, math.inf, -0.1])
def test_invalid_measurements_are_ignored(mean_s: float) -> None:
    """NaN, infinite and negative means leave the broker unknown."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, mean_s)
    assert table.latencies_s() == {}


def statistics(at_s: float = 0.0, **brokers: dict[str, Any]) -> str:
    """Statistics as librdkafka writes them, reduced to what is read."""
    return json.dumps({"name": "producer-1", "ts": round(at_s * 1e6), "brokers": brokers})


def broker(
    node: int, *, rtt: float, produced: int, received: int = 1, owed: int = 0, waited: float = 0.0
) -> dict[str, Any]:
    """A broker: microseconds of round trip and of waiting, requests, responses, and requests in flight."""
    return {
        "nodeid": node,
        "rx": received,
        "waitresp_cnt": owed,
        "int_latency": {"avg": waited, "cnt": 4, "p99": 1},
        "outbuf_latency": {"avg": waited, "cnt": 4},
        "rtt": {"avg": rtt, "cnt": 4},
        "req": {"Produce": produced, "Metadata": 3},
    }


def test_statistics_of_a_producer() -> None:
    """Waiting and round trip add up for brokers with produce requests; idle brokers and addresses are ignored."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(
        statistics(
            a=broker(1, rtt=2500.0, produced=10, waited=500.0),
            idle=broker(2, rtt=300.0, produced=0),
            bootstrap=broker(-1, rtt=100.0, produced=10),
        )
    )
    assert table.latencies_s() == {1: pytest.approx(0.0035)}


def test_a_broker_without_new_requests_keeps_its_figure() -> None:
    """Other requests to a broker, such as metadata, do not count as produce latency."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(0.0, a=broker(1, rtt=2500.0, produced=10, received=10)))
    read(statistics(1.0, a=broker(1, rtt=90.0, produced=10, received=11)))
    assert table.latencies_s() == {1: pytest.approx(0.0025)}
    read(statistics(2.0, a=broker(1, rtt=1500.0, produced=12, received=13)))
    assert table.latencies_s() == {1: pytest.approx(0.0015)}


def test_a_broker_with_overdue_responses_gets_slower() -> None:
    """A broker that does not respond is at least as slow as its silence; its first response gives a figure again."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(0.0, a=broker(1, rtt=900_000.0, produced=10, received=10, owed=2)))
    read(statistics(0.5, a=broker(1, rtt=0.0, produced=11, received=10, owed=3)))
    assert table.latencies_s() == {1: pytest.approx(0.9)}, "half a second of silence is less than what is known"
    read(statistics(3.0, a=broker(1, rtt=0.0, produced=11, received=10, owed=3)))
    assert table.latencies_s() == {1: pytest.approx(3.0)}
    read(statistics(4.0, a=broker(1, rtt=50_000.0, produced=12, received=13, owed=0)))
    assert table.latencies_s() == {1: pytest.approx(0.05)}


def test_a_broker_without_requests_in_flight_is_not_slow() -> None:
    """A broker without requests in flight does not get slower."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(0.0, a=broker(1, rtt=1000.0, produced=10, received=10)))
    for at_s in (1.0, 2.0, 3.0):
        read(statistics(at_s, a=broker(1, rtt=0.0, produced=10, received=10)))
    assert table.latencies_s() == {1: pytest.approx(0.001)}


def queue(leader: int, *, waiting: int, in_flight: int, sent: int) -> dict[str, int]:
    """A partition: records that wait, that are in flight, and that were sent."""
    return {
        "leader": leader,
        "msgq_cnt": waiting,
        "xmit_msgq_cnt": 0,
        "msgs_inflight": in_flight,
        "txmsgs": sent,
    }


def test_a_backlog_counts_before_it_is_measured() -> None:
    """The backlog counts before a response measures it; it is reported, and so is every text until the times measured
    meanwhile are outweighed."""
    table, reported = LatencyTable(max_age_s=10, clock=Clock()), []
    read = StatisticsReader(table, backlogged=lambda: reported.append(len(reported)))

    def tell(at_s: float, waiting: int, done: int) -> None:
        text = json.loads(statistics(at_s, a=broker(1, rtt=1000.0, produced=10 + done, received=10 + done)))
        partitions = {"0": queue(1, waiting=waiting, in_flight=0, sent=done)}
        read(json.dumps({**text, "topics": {"t": {"partitions": partitions}}}))

    tell(0.0, 0, 0)
    tell(0.1, 0, 10)
    assert (table.latencies_s(), reported) == ({1: pytest.approx(0.001)}, [])
    tell(0.2, 1000, 20)
    tell(0.4, 1000, 20)
    assert (table.latencies_s(), len(reported)) == ({1: pytest.approx(0.3, abs=0.01)}, 1)
    tell(0.5, 0, 1040)
    assert (table.latencies_s(), len(reported)) == ({1: pytest.approx(0.001)}, 2)
    for step in range(20):
        tell(0.6 + 0.1 * step, 0, 1050 + step)
    assert len(reported) == 9


def test_requests_in_flight_have_no_time_yet() -> None:
    """Round trips of the requests that open a connection are no latency of producing."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(0.0, a=broker(1, rtt=900.0, produced=0)))
    read(statistics(0.1, a=broker(1, rtt=900.0, produced=2, received=3, owed=2)))
    assert table.latencies_s().get(1, 0.0) != pytest.approx(0.0009)


def test_a_broker_that_has_not_responded_is_unknown_until_it_takes_longer_than_others() -> None:
    """That a broker takes longer than a tenth of what others take does not make it fast."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    for at_s in (0.0, 0.05, 0.1, 0.3):
        mute = broker(2, rtt=0.0, produced=1, owed=1)
        responding = broker(1, rtt=200_000.0, produced=10 + round(100 * at_s), received=1 + round(100 * at_s))
        read(statistics(at_s, a=responding, b=mute))
        assert (2 in table.latencies_s()) == (at_s > 0.2)


def test_few_slow_requests_do_not_make_a_broker_slow() -> None:
    """Four slow texts do not change the median of nine; a lasting change does with the fifth."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    for step in range(20):
        read(statistics(0.1 * step, a=broker(1, rtt=1000.0, produced=10 * step, received=step)))
    for slow in range(5):
        read(statistics(2.0 + 0.1 * slow, a=broker(1, rtt=50_000.0, produced=200 + slow, received=20 + slow)))
        assert table.latencies_s()[1] == pytest.approx(0.001 if slow < 4 else 0.05)
