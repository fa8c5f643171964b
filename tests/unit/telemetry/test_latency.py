"""The table of latencies: means over clients, ages, and what counts as unknown."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from kafkabal.telemetry.client_statistics import StatisticsReader
from kafkabal.telemetry.latency import LatencyTable, as_column


class Clock:
    """A clock that stands still until it is told otherwise."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_clients_count_by_their_requests() -> None:
    """The mean over two clients is weighted by how many requests each made."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, 0.010, requests=9)
    table.put("b", 1, 0.110, requests=1)
    assert table.latencies_s() == {1: pytest.approx(0.020)}


def test_the_newest_figure_of_a_client_replaces_its_older_one() -> None:
    """A client is counted once for a broker."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, 0.5)
    table.put("a", 1, 0.1)
    assert table.latencies_s() == {1: pytest.approx(0.1)}


def test_an_old_figure_is_forgotten() -> None:
    """A broker that nobody measured lately is unknown, not fast."""
    clock = Clock()
    table = LatencyTable(max_age_s=10, clock=clock)
    table.put("a", 1, 0.5)
    table.put("a", 2, 0.5)
    clock.now = 6.0
    table.put("b", 1, 0.1)
    clock.now = 12.0
    assert table.latencies_s() == {1: pytest.approx(0.1)}


@pytest.mark.parametrize(("mean_s", "requests"), [(math.nan, 1), (math.inf, 1), (-0.1, 1), (0.1, 0)])
def test_what_is_no_measurement_is_not_taken(mean_s: float, requests: float) -> None:
    """NaN, infinite and negative means, and means of no request, leave the broker unknown."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    table.put("a", 1, mean_s, requests)
    assert table.latencies_s() == {}


def test_a_column_has_nan_for_unknown_brokers() -> None:
    """Figures are laid out by broker row; a broker without one is NaN, one that is no broker is dropped."""
    column = as_column({2: 0.5, 9: 1.0}, np.array([1, 2, 3], np.int32))
    np.testing.assert_array_equal(column, [math.nan, 0.5, math.nan])


def statistics(**brokers: tuple[int, float, int, int]) -> str:
    """A text as librdkafka writes it, cut to what is read: node id, mean rtt in microseconds, its count, requests."""
    return json.dumps(
        {
            "name": "producer-1",
            "brokers": {
                name: {"nodeid": node, "rtt": {"avg": avg, "cnt": cnt, "p99": 1}, "req": {"Produce": produced}}
                for name, (node, avg, cnt, produced) in brokers.items()
            },
        }
    )


def test_statistics_of_a_producer() -> None:
    """Round trips of brokers that got produce requests are read; bootstrap entries and idle brokers are not."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(a=(1, 2500.0, 4, 10), idle=(2, 300.0, 4, 0), bootstrap=(-1, 100.0, 4, 10)))
    assert table.latencies_s() == {1: pytest.approx(0.0025)}


def test_a_broker_without_new_requests_keeps_its_figure() -> None:
    """Other traffic to a broker, such as metadata, does not pass for produce latency."""
    table = LatencyTable(max_age_s=10, clock=Clock())
    read = StatisticsReader(table)
    read(statistics(a=(1, 2500.0, 4, 10)))
    read(statistics(a=(1, 90.0, 1, 10)))
    assert table.latencies_s() == {1: pytest.approx(0.0025)}
    read(statistics(a=(1, 5000.0, 2, 12)))
    assert table.latencies_s() == {1: pytest.approx(0.005)}
