"""Addresses of brokers."""

from __future__ import annotations

import pytest

from kafkabal.clusters.kafka.broker_address import Address, parse_address
from kafkabal.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("broker1:9092", Address("broker1", 9092)),
        (" 10.0.0.1:65535 ", Address("10.0.0.1", 65535)),
        ("[::1]:9092", Address("::1", 9092)),
    ],
)
def test_addresses_are_read_and_written_alike(text: str, address: Address) -> None:
    """Names, IPv4 and IPv6 addresses are parsed, and formatted as they were."""
    assert parse_address(text) == address
    assert str(address) == text.strip()


@pytest.mark.parametrize(
    "text", ["", "broker1", "broker1:", ":9092", "broker1:port", "broker1:0", "b:65536", "::1:9092"]
)
def test_invalid_addresses_are_refused(text: str) -> None:
    """A missing host or port, or an IPv6 address without brackets, is named."""
    with pytest.raises(ConfigError, match="invalid broker address"):
        parse_address(text)
