"""The settings of a connection in the words of librdkafka."""

from __future__ import annotations

from typing import TypeAlias

from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    TlsSettings,
)

ClientSetting: TypeAlias = "str | int | float | bool"


def librdkafka_settings(connection: ConnectionSettings) -> dict[str, ClientSetting]:
    """Configuration of a librdkafka client that reaches the same cluster with the same credentials.

    The result holds secrets.
    """
    settings: dict[str, ClientSetting] = {
        "bootstrap.servers": ",".join(connection.bootstrap_servers),
        "client.id": connection.client_id,
        "security.protocol": connection.security_protocol.lower(),
        "socket.connection.setup.timeout.ms": round(connection.connect_timeout_s * 1000),
    }
    if connection.security_protocol.has_tls:
        settings |= _tls(connection.tls)
    if connection.sasl is not None:
        settings |= _sasl(connection.sasl)
    return settings


def _tls(tls: TlsSettings) -> dict[str, ClientSetting]:
    key_file = tls.key_file or (tls.certificate_file if tls.key_text is None else None)
    given = {
        "ssl.ca.location": tls.ca_file,
        "ssl.ca.pem": tls.ca_text,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.certificate.pem": tls.certificate_text,
        "ssl.key.location": key_file,
        "ssl.key.pem": tls.key_text,
        "ssl.key.password": tls.key_password,
        "ssl.endpoint.identification.algorithm": "https" if tls.check_hostname else "none",
    }
    return {name: value for name, value in given.items() if value is not None}


def _sasl(sasl: SaslSettings) -> dict[str, ClientSetting]:
    settings: dict[str, ClientSetting] = {"sasl.mechanism": sasl.mechanism.value}
    if sasl.mechanism is not SaslMechanism.OAUTHBEARER:
        return settings | {"sasl.username": sasl.username, "sasl.password": sasl.password}
    return settings | (_oauth(sasl.oauth) if sasl.oauth is not None else {})


def _oauth(oauth: OAuthSettings) -> dict[str, ClientSetting]:
    if oauth.token_endpoint_url is None:
        return {
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={oauth.unsecured_subject or ''}",
        }
    settings: dict[str, ClientSetting] = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": oauth.token_endpoint_url,
        "sasl.oauthbearer.client.id": oauth.client_id,
        "sasl.oauthbearer.client.secret": oauth.client_secret,
    }
    return settings | ({"sasl.oauthbearer.scope": oauth.scope} if oauth.scope else {})
