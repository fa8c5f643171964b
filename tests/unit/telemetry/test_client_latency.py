"""Broker latencies from what clients push: both kinds of client, and every case of an unknown latency."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.telemetry.client_latency import produce_latencies_s
from kafkabal.telemetry.latency_store import LatencyTable
from kafkabal.telemetry.otlp_metrics import MalformedPayloadError, read_samples


@pytest.mark.parametrize(
    ("nodes", "attribute"),
    [
        ({1: 12.5, 3: 80.0}, "node.id"),
        ({"node-1": 12.5, "node-3": 80.0}, "node_id"),
        ({"1": 12.5, "3": 80.0}, "node-id"),
    ],
)
def test_librdkafka_and_java_name_nodes_differently(
    nodes: dict[Any, float], attribute: str, push: Callable[..., bytes]
) -> None:
    """Numbers, ``node-1`` and all spellings of the attribute mean the same broker; milliseconds become seconds."""
    found = produce_latencies_s(read_samples(push(nodes, attribute=attribute, overall=40.0)))
    assert found == {1: pytest.approx(0.0125), 3: pytest.approx(0.08)}


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -1.0, 1.7e308])
def test_a_broker_that_got_no_request_is_unknown(value: float, push: Callable[..., bytes]) -> None:
    """Latencies of a broker that a client did not write to are ignored, not taken for fast responses."""
    assert produce_latencies_s(read_samples(push({1: value, 2: 5.0}))) == {2: pytest.approx(0.005)}


@pytest.mark.parametrize(
    ("overall", "found"),
    [
        (40.0, {2: 0.04}),
        (39.2, {2: 0.0392}),
        (22.0, {1: 0.004, 2: 0.04}),
        (4.001, {1: 0.004001}),
        (60.0, {}),
        (1.0, {}),
    ],
)
def test_a_broker_that_only_gets_the_pushes_is_unknown(
    overall: float, found: dict[int, float], push: Callable[..., bytes]
) -> None:
    """librdkafka counts its pushes too: its mean over produce requests shows which of two brokers got any of those.

    If the two brokers cannot explain the mean, other requests weigh too much, and both are unknown.
    """
    assert produce_latencies_s(
        read_samples(push({1: 4.0, 2: 40.0}, attribute="node.id", overall=overall))
    ) == pytest.approx(found)


def test_java_counts_produce_requests_only(push: Callable[..., bytes]) -> None:
    """The figures of a Java client for two brokers are used whatever its mean over all."""
    samples = read_samples(push({"node-1": 4.0, "node-2": 40.0}, attribute="node-id", overall=40.0))
    assert produce_latencies_s(samples, is_first=True) == {1: pytest.approx(0.004), 2: pytest.approx(0.04)}


def test_of_three_brokers_all_are_believed(push: Callable[..., bytes]) -> None:
    """A single mean does not determine the shares of three brokers, so all their figures are used."""
    found = produce_latencies_s(read_samples(push({1: 4.0, 2: 40.0, 3: 8.0}, attribute="node.id", overall=40.0)))
    assert found == {1: pytest.approx(0.004), 2: pytest.approx(0.04), 3: pytest.approx(0.008)}


def test_the_first_push_of_a_client_gives_no_latency(push: Callable[..., bytes]) -> None:
    """The first push covers the requests of connecting, which do not measure producing."""
    table = LatencyTable(max_age_s=60, clock=lambda: 0.0)
    table.take("a", read_samples(push({1: 249.0, 2: 4.0}, attribute="node.id", overall=100.0)))
    assert table.latencies_s() == {}
    table.take("a", read_samples(push({2: 4.0}, attribute="node.id", overall=3.0)))
    assert table.latencies_s() == {2: pytest.approx(0.003)}


def test_first_pushes_that_do_not_count_are_counted(push: Callable[..., bytes]) -> None:
    """A librdkafka producer that ends within an interval pushes once, which explains a missing latency. A first push of
    Java, which counts, does not, nor one of a client that produced nothing."""
    table = LatencyTable(max_age_s=60, clock=lambda: 0.0)
    for _ in range(2):
        table.take("a", read_samples(push({1: 4.0}, attribute="node.id", overall=4.0)))
        table.take("b", read_samples(push({1: 4.0}, overall=4.0)))
        table.take("c", read_samples(push({1: 4.0}, attribute="node.id", overall=0.0)))
        assert table.first_pushes == 1


@pytest.mark.parametrize("overall", [0.0, math.nan])
def test_a_client_that_produced_nothing_gives_no_latency(overall: float, push: Callable[..., bytes]) -> None:
    """An admin client has latencies of other requests, which are ignored."""
    assert produce_latencies_s(read_samples(push({1: 249.0}, overall=overall))) == {}


def test_without_a_total_the_figures_of_nodes_are_used(push: Callable[..., bytes]) -> None:
    """If only node latencies are subscribed to, they are used without the mean."""
    assert produce_latencies_s(read_samples(push({1: 249.0}, overall=None))) == {1: pytest.approx(0.249)}


@pytest.mark.parametrize("node", [-1, "node--1", "bootstrap", ""])
def test_nodes_that_are_no_brokers_are_left_out(node: Any, push: Callable[..., bytes]) -> None:
    """Bootstrap addresses and coordinators under odd ids are not brokers and are ignored."""
    assert produce_latencies_s(read_samples(push({node: 5.0}))) == {}


def test_samples_carry_the_attributes_of_their_resource(push: Callable[..., bytes]) -> None:
    """Attributes of a data point override those of its resource; sums are read like gauges."""
    samples = read_samples(push({7: 5.0}, attribute="node.id", resource={"client_id": "me", "node.id": "?"}))
    assert samples[0].attributes == {"client_id": "me", "node.id": "7"}
    assert [(s.name, s.value) for s in samples][-1] == ("org.apache.kafka.producer.connection.creation.total", 3.0)


def test_pushes_of_two_clients_are_averaged(push: Callable[..., bytes]) -> None:
    """A broker's latency is the mean over the clients that wrote to it."""
    table = LatencyTable(max_age_s=60, clock=lambda: 0.0)
    table.take("a", read_samples(push({1: 10.0})))
    table.take("b", read_samples(push({1: 30.0, 2: 1.0})))
    assert table.latencies_s() == {1: pytest.approx(0.02), 2: pytest.approx(0.001)}


def test_the_latency_table_is_bounded() -> None:
    """Beyond the limit the client with the oldest push is forgotten."""
    table = LatencyTable(max_age_s=60, clock=lambda: 0.0, max_clients=2)
    for client, latency in (("a", 1.0), ("b", 2.0), ("a", 3.0), ("c", 5.0)):
        table.put(client, 1, latency)
    assert table.latencies_s() == {1: 4.0}


@pytest.mark.parametrize("payload", [b"\xff\xff", b"\n\x05abc"])
def test_invalid_payloads_are_refused(payload: bytes) -> None:
    """An undecodable message raises an error of its own, so that an intake can count it."""
    with pytest.raises(MalformedPayloadError, match="not an OTLP metrics message"):
        read_samples(payload)


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(payload: bytes) -> None:
    """Arbitrary bytes are either read or refused as malformed."""
    with suppress(MalformedPayloadError):
        produce_latencies_s(read_samples(payload))
