"""How long brokers take to respond, and how late this host notices it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.response_times import response_times
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import KafkabalError, NoResponseError


class LateClock(FakeClock):
    """The clock of a host that wakes a process too late."""

    lateness_s = 0.0

    def sleep(self, seconds: float) -> None:
        """Sleep too long."""
        super().sleep(seconds + self.lateness_s)


class Client:
    """One broker that responds in 2 ms, and hangs after some requests."""

    def __init__(self) -> None:
        self.clock, self.requests, self.hangs_after = LateClock(), 0, 1000

    def call_broker(self, broker: int, request: Any, deadline: Deadline) -> None:
        """Take 2 ms, or fail at the deadline."""
        self.requests += 1
        if self.requests > self.hangs_after or deadline.remaining_s < 0.002:
            self.clock.at(self.clock.monotonic() + deadline.remaining_s, lambda: None)
            raise NoResponseError(f"broker {broker}: no response to {request}")
        FakeClock.sleep(self.clock, 0.002)

    def for_each(self, brokers: Iterable[int], task: Callable[[int, Deadline], Any], seconds: float) -> dict[int, Any]:
        """Ask one broker after the other."""
        found = {}
        for broker in brokers:
            try:
                found[broker] = task(broker, Deadline(seconds, self.clock))
            except KafkabalError as error:
                found[broker] = error
        return found


@pytest.fixture
def client() -> Client:
    """A client of one broker."""
    return Client()


def measured(client: Client, deadline_s: float = 3.0) -> Any:
    """What is measured of broker 1."""
    return response_times(cast("KafkaClient", client), [1], deadline_s)[1]


def test_lateness_is_not_response_time(client: Client) -> None:
    """A process that wakes 40 ms too late measures the same response time, and its lateness."""
    assert measured(client) == (pytest.approx(0.002), pytest.approx(0.0))
    client.clock.lateness_s = 0.04

    assert measured(client) == (pytest.approx(0.002), pytest.approx(0.04))


def test_a_starved_host_does_not_make_a_broker_unreachable(client: Client) -> None:
    """Pauses that take seven times too long leave time for fewer requests, but the broker has responded."""
    client.clock.lateness_s = 0.6

    assert measured(client) == (pytest.approx(0.002), pytest.approx(0.6))
    assert client.requests == 4


def test_a_short_deadline_leaves_time_for_fewer_requests(client: Client) -> None:
    """With a deadline of half a second, fewer than ten requests are made, and the broker is reachable."""
    assert measured(client, 0.5) == (pytest.approx(0.002), pytest.approx(0.0))


def test_a_broker_that_hangs_has_not_responded(client: Client) -> None:
    """A broker that stops responding after three requests is not measured by those."""
    client.hangs_after = 3

    assert measured(client) is None
