"""Prometheus as a source: labels, missing series, and invalid responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from kafkabal.errors import ConfigError, KafkabalError, OperationError, UnreachableError
from kafkabal.telemetry.prometheus_query import PrometheusQuery

URL = "http://prometheus/base/api/v1/query"


def query(answer: Callable[[httpx.Request], httpx.Response], label: str = "broker") -> PrometheusQuery:
    """A query whose Prometheus is a function."""
    return PrometheusQuery(
        "http://prometheus/base/", "sum(x) by (broker)", label, transport=httpx.MockTransport(answer)
    )


def vector(*series: tuple[dict[str, Any], Any]) -> dict[str, Any]:
    """A response to an instant query."""
    result = [{"metric": labels, "value": [1.5, value]} for labels, value in series]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def test_values_by_broker() -> None:
    """The last number in the label is the broker id; NaN and infinity are unknown."""
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        series = [("1", "0.5"), ("kafka-12", "2"), ("b_3", "NaN"), ("4", "+Inf")]
        return httpx.Response(200, json=vector(*(({"broker": broker}, value) for broker, value in series)))

    assert query(answer)() == {1: 0.5, 12: 2.0}
    assert str(asked[0].copy_with(query=None)) == "http://prometheus/base/api/v1/query"
    assert asked[0].params["query"] == "sum(x) by (broker)"


def test_no_series_means_unknown() -> None:
    """An empty result gives no broker a figure."""
    assert query(lambda request: httpx.Response(200, json=vector()))() == {}


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (vector(({"instance": "a"}, "1")), ConfigError, "returns no label 'broker'"),
        (vector(({"broker": "abc"}, "1")), ConfigError, "does not end in a broker id"),
        (vector(({"broker": "1"}, "1"), ({"broker": "1"}, "2")), ConfigError, "two values for broker 1"),
        ({"status": "success", "data": {"resultType": "matrix", "result": []}}, ConfigError, "returns a matrix"),
        ({"status": "error", "error": "parse error"}, OperationError, "rejected .* parse error"),
        (vector(({"broker": "9" * 5000}, "1")), ConfigError, "does not end in a broker id"),
        (vector(({"broker": "1"}, "abc")), OperationError, f"{URL}: not a number: 'abc'"),
        (vector(({"broker": "1"}, 7)), OperationError, f"not a Prometheus server: {URL}: .*expected text"),
        (vector(({"broker": 1}, "7")), OperationError, f"not a Prometheus server: {URL}: .*expected text"),
        ({"status": "success", "data": {"resultType": "vector", "result": None}}, OperationError, URL),
        ({"status": "success", "data": None}, OperationError, URL),
        ("<html>", OperationError, "not a Prometheus server: .*HTTP 200"),
    ],
)
def test_answers_that_cannot_be_used(body: Any, kind: type[KafkabalError], message: str) -> None:
    """Each invalid response is an error that names the fault, and none is used."""
    content = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(kind, match=message):
        query(lambda request: httpx.Response(200, text=content))()


def test_no_answer() -> None:
    """An unreachable Prometheus is named."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with pytest.raises(UnreachableError, match="no response from Prometheus at http://prometheus/base"):
        query(refuse)()


@pytest.mark.parametrize(
    "url", ["http://p:port", "http://p:99999", "http://a..b", "prometheus:9090", "", f"http://{'a' * 64}"]
)
def test_a_url_that_is_none_is_reported(url: str) -> None:
    """A URL that httpx refuses, or that no host can have, is a configuration error before anything is asked."""
    with pytest.raises(ConfigError, match=f"invalid URL: {url}"):
        PrometheusQuery(url, "x", "broker")


@pytest.mark.parametrize("status", [None, 401])
def test_credentials_of_the_url_are_not_shown(status: int | None) -> None:
    """The password in a URL is sent as it is, and is in no error message."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["authorization"])
        if status is None:
            raise httpx.ConnectError("connection refused")
        return httpx.Response(status, text="Unauthorized")

    asked = PrometheusQuery("http://u:secret@h", "x", "b", transport=httpx.MockTransport(answer))
    with pytest.raises(KafkabalError, match="http://h/api/v1/query") as caught:
        asked()
    assert "secret" not in str(caught.value)
    assert sent == ["Basic dTpzZWNyZXQ="]


def test_unusable_certificates_are_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates or proxies that the environment names wrongly are named in one line, not in a traceback."""
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")

    with pytest.raises(ConfigError, match="HTTP requests are impossible: ") as failed:
        PrometheusQuery("http://p", "x", "broker")
    assert "SSL_CERT_FILE" in str(failed.value.hint)
