"""SASL authentication: the exchange of each mechanism, and the token of OAUTHBEARER."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider

from kafkabal.clusters.clock import Clock
from kafkabal.config import ConnectionSettings, OAuthSettings
from kafkabal.errors import ConfigError, RefusedByClusterError, UnreachableError
from kafkabal.http_client import http_failure, open_http_client, without_credentials

# a program that configures no logging would see the same warning of plain text for every connection of its producer
logging.getLogger("kafka.net.sasl").addHandler(logging.NullHandler())

_TOKEN_LIFETIME_S = 3600
"""Same as Kafka's own unsecured login module."""
_TOKEN_TIMEOUT_S = 10.0
"""A token endpoint responds within a second, and a connection waits for it."""


def sasl_conversation(settings: ConnectionSettings, host: str, clock: Clock) -> Any:
    """Start the exchange of a mechanism: an object with ``auth_bytes``, ``receive`` and ``is_done``.

    Raises
    ------
    ConfigError
        If the settings have no credentials.
    """
    sasl = settings.sasl
    if sasl is None:
        raise ConfigError(
            f"security.protocol={settings.security_protocol} requires sasl.mechanism and credentials",
            hint="set sasl.mechanism and sasl.jaas.config in client.properties",
        )
    return get_sasl_mechanism(str(sasl.mechanism))(
        host=host,
        security_protocol=str(settings.security_protocol),
        sasl_mechanism=str(sasl.mechanism),
        sasl_plain_username=sasl.username,
        sasl_plain_password=sasl.password,
        sasl_oauth_token_provider=_TokenProvider(sasl.oauth, clock) if sasl.oauth else None,
    )


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """Provides one token for one connection."""

    def __init__(self, settings: OAuthSettings, clock: Clock) -> None:
        super().__init__()
        self._settings = settings
        self._clock = clock

    def token(self) -> str:
        """A token that is currently valid."""
        if self._settings.token_endpoint_url is not None:
            return _fetch_token(self._settings.token_endpoint_url, self._settings)
        return unsecured_token(self._settings.unsecured_subject or "", int(self._clock.utc_now().timestamp()))


def unsecured_token(subject: str, issued_at_s: int) -> str:
    """Create an unsigned JSON Web Token (RFC 7515, appendix A.5), as Kafka's unsecured handler accepts it."""
    claims = {"sub": subject, "iat": issued_at_s, "exp": issued_at_s + _TOKEN_LIFETIME_S}
    return f"{_base64url({'alg': 'none'})}.{_base64url(claims)}."


def _base64url(content: dict[str, Any]) -> str:
    packed = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def _fetch_token(url: str, settings: OAuthSettings) -> str:
    """Request a token from the endpoint (RFC 6749, section 4.4: client credentials)."""
    import httpx

    shown = without_credentials(url)
    form = {"grant_type": "client_credentials"} | ({"scope": settings.scope} if settings.scope else {})
    try:
        with open_http_client(_TOKEN_TIMEOUT_S) as client:
            response = client.post(url, data=form, auth=(settings.client_id, settings.client_secret))
    except (httpx.InvalidURL, UnicodeError) as error:  # the latter for a host name that is too long
        raise ConfigError(f"sasl.oauthbearer.token.endpoint.url: invalid URL: {shown}: {error}") from error
    except httpx.HTTPError as error:
        raise UnreachableError(f"cannot reach token endpoint {shown}: {http_failure(error)}") from error
    try:
        token = response.json()["access_token"]
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedByClusterError(
            f"no token from token endpoint {shown}: HTTP status {response.status_code}",
            hint="check clientId, clientSecret and scope in sasl.jaas.config",
        ) from error
    return str(token)
