"""Tokens for OAUTHBEARER."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import httpx
import pytest

from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.kafka.sasl import sasl_conversation, unsecured_token
from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
)
from kafkabal.errors import ConfigError, RefusedByClusterError, UnreachableError

_OAUTH = OAuthSettings(
    token_endpoint_url="http://id.invalid/token", client_id="me", client_secret="hush", scope="kafka"
)


def _first_message(oauth: OAuthSettings) -> bytes:
    settings = ConnectionSettings(
        bootstrap_servers=(),
        security_protocol=SecurityProtocol.SASL_PLAINTEXT,
        sasl=SaslSettings(mechanism=SaslMechanism.OAUTHBEARER, oauth=oauth),
    )
    return bytes(sasl_conversation(settings, "h", SystemClock()).auth_bytes())


def test_an_unsecured_token_claims_its_subject() -> None:
    """The claims are the subject, now, and an hour from now; the signature is empty."""
    head, claims, signature = unsecured_token("bob", 1_000_000).split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + "==")) == {"sub": "bob", "iat": 1_000_000, "exp": 1_003_600}
    assert signature == ""


def test_a_token_is_fetched_with_client_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint is asked as in RFC 6749, and its token is sent."""
    asked: dict[str, Any] = {}

    def post(_: httpx.Client, url: str, **options: Any) -> httpx.Response:
        asked.update(options, url=url)
        return httpx.Response(200, json={"access_token": "tok", "expires_in": 60})

    monkeypatch.setattr(httpx.Client, "post", post)
    assert _first_message(_OAUTH) == b"n,,\x01auth=Bearer tok\x01\x01"
    assert asked["url"] == "http://id.invalid/token"
    assert asked["data"] == {"grant_type": "client_credentials", "scope": "kafka"}
    assert asked["auth"] == ("me", "hush")


def test_an_endpoint_without_a_token_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal reports the status, never the secret."""
    refusal = httpx.Response(401, json={"error": "invalid_client"})
    monkeypatch.setattr(httpx.Client, "post", lambda *_, **options: refusal)
    with pytest.raises(
        RefusedByClusterError, match=r"no token from token endpoint http://id\.invalid/token: HTTP status 401"
    ) as caught:
        _first_message(_OAUTH)
    assert "hush" not in caught.value.message


def test_an_endpoint_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that does not respond is reported as unreachable."""

    def post(_: httpx.Client, url: str, **options: Any) -> httpx.Response:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(httpx.Client, "post", post)
    with pytest.raises(UnreachableError, match=r"cannot reach token endpoint http://id\.invalid/token: refused"):
        _first_message(_OAUTH)


def test_the_password_of_an_endpoint_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be part of the URL, which every error names."""

    def post(_: httpx.Client, url: str, **options: Any) -> httpx.Response:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(httpx.Client, "post", post)
    with pytest.raises(UnreachableError, match=r"cannot reach token endpoint http://id/token: refused"):
        _first_message(OAuthSettings(token_endpoint_url="http://me:hush@id/token"))


@pytest.mark.parametrize("url", ["http://id:port", "http://a..b", f"http://{'a' * 64}"])
def test_an_endpoint_that_no_host_can_have_is_a_fault_of_the_settings(url: str) -> None:
    """It is named with the setting."""
    with pytest.raises(ConfigError, match=f"sasl.oauthbearer.token.endpoint.url: invalid URL: {url}"):
        _first_message(OAuthSettings(token_endpoint_url=url))


def test_missing_credentials_are_a_fault_of_the_settings() -> None:
    """A protocol with SASL but no credentials says what is missing."""
    settings = ConnectionSettings(bootstrap_servers=(), security_protocol=SecurityProtocol.SASL_SSL)
    with pytest.raises(ConfigError, match=r"security\.protocol=SASL_SSL requires sasl\.mechanism"):
        sasl_conversation(settings, "h", SystemClock())


def test_a_program_without_logging_sees_no_warning_of_plain_text() -> None:
    """A producer connects again and again; its program chose the protocol, and librdkafka does not warn either."""
    code = """
from kafkabal.clusters import SystemClock
from kafkabal.clusters.kafka.sasl import sasl_conversation
from kafkabal.config.connection_settings import ConnectionSettings, SaslMechanism, SaslSettings, SecurityProtocol

sasl = SaslSettings(mechanism=SaslMechanism.PLAIN, username="alice", password="secret")
settings = ConnectionSettings(bootstrap_servers=(), security_protocol=SecurityProtocol.SASL_PLAINTEXT, sasl=sasl)
sasl_conversation(settings, "b", SystemClock()).auth_bytes()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
