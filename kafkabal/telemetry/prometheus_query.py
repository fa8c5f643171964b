"""Any figure about brokers that Prometheus stores, by a query whose result has a label for the broker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from kafkabal.decoding_faults import decoding_fault
from kafkabal.errors import ConfigError, OperationError, UnreachableError
from kafkabal.http_client import http_failure, open_http_client, parsed_url, without_credentials
from kafkabal.json_decoders import converted, json_decoder

_TIMEOUT_S = 10.0
"""Prometheus gives up a query after two minutes; a command that waits for a table should do so much sooner."""
_ID_DIGITS = 10
"""Digits of the largest 32-bit number: a longer label is not a broker id."""
_PATH = "/api/v1/query"


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Result(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType", default="")
    result: Any = None


class _Response(msgspec.Struct):
    status: str
    data: _Result = msgspec.field(default_factory=_Result)
    error: str = ""


class PrometheusQuery:
    """Asks Prometheus, or a server with the same API, for the current value of a query.

    Parameters
    ----------
    url
        Such as ``http://prometheus:9090``; may have a path prefix, and credentials, which no message shows.
    query
        PromQL that returns an instant vector with one series per broker.
    broker_label
        Label whose value is the broker's id, alone or as the last number in it (``kafka-3``, ``broker_3``).
    transport
        None opens connections.

    Raises
    ------
    ConfigError
        If the URL is invalid, or proxies or certificates that the environment names cannot be used.
    """

    def __init__(self, url: str, query: str, broker_label: str, *, transport: Any = None) -> None:
        parsed_url(url)
        self._url = url.rstrip("/") + _PATH
        self._shown_url = without_credentials(self._url)
        self._query = query
        self._label = broker_label
        self._client = open_http_client(_TIMEOUT_S, transport)

    def __call__(self) -> Mapping[int, float]:
        """Value by broker id; a broker without a series, or with NaN, is missing: unknown, not idle.

        Raises
        ------
        UnreachableError
            If Prometheus does not respond.
        OperationError
            If it refuses the query, or the server is not Prometheus.
        ConfigError
            If the result is not an instant vector, lacks the label, or has two series for a
            broker.
        """
        answer = self._ask()
        if answer.status != "success":
            raise OperationError(f"Prometheus rejected the query {self._query!r}: {answer.error or answer.status}")
        if answer.data.result_type != "vector":
            raise ConfigError(f"query {self._query!r} returns a {answer.data.result_type}, not an instant vector")
        figures: dict[int, float] = {}
        for series in self._series(answer):
            broker, value = self._broker(series), self._value(series)
            if broker in figures:
                raise ConfigError(
                    f"query {self._query!r} returns two values for broker {broker}",
                    hint="aggregate by the broker label",
                )
            figures[broker] = value
        return {broker: value for broker, value in figures.items() if math.isfinite(value)}

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _ask(self) -> _Response:
        import httpx

        try:
            response = self._client.get(self._url, params={"query": self._query})
            return json_decoder(_Response).decode(response.content)
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"no response from Prometheus at {self._shown_url}: {http_failure(error)}"
            ) from error
        except msgspec.DecodeError as error:
            raise self._not_prometheus(f"HTTP {response.status_code}") from error

    def _series(self, answer: _Response) -> list[_Series]:
        try:
            return converted(answer.data.result, list[_Series])
        except msgspec.ValidationError as error:
            raise self._not_prometheus(decoding_fault(error)) from error

    def _value(self, series: _Series) -> float:
        text = series.value[1]
        try:
            return float(text)
        except ValueError as error:
            raise self._not_prometheus(f"not a number: {text!r}") from error

    def _not_prometheus(self, why: str) -> OperationError:
        return OperationError(f"not a Prometheus server: {self._shown_url}: {why}", hint="check the URL")

    def _broker(self, series: _Series) -> int:
        value = series.metric.get(self._label)
        if value is None:
            there = ", ".join(sorted(series.metric)) or "none"
            raise ConfigError(
                f"query {self._query!r} returns no label {self._label!r}", hint=f"labels of the result: {there}"
            )
        digits = value[len(value.rstrip("0123456789")) :]
        if not 0 < len(digits) <= _ID_DIGITS:
            raise ConfigError(f"label {self._label} = {value!r} does not end in a broker id")
        return int(digits)
