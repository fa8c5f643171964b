"""Converts connection settings to librdkafka's configuration, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kafkabal.config.connection_settings import (
    DEFAULT_CLIENT_ID,
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
)
from kafkabal.errors import ConfigError

ClientSetting: TypeAlias = "str | int | float | bool"


def librdkafka_settings(connection: ConnectionSettings) -> dict[str, ClientSetting]:
    """Configuration of a librdkafka client that reaches the same cluster with the same credentials.

    The result holds secrets. Timeouts of Java clients beyond librdkafka's range, from 1 s, are moved into it.
    """
    settings: dict[str, ClientSetting] = {
        "bootstrap.servers": ",".join(connection.bootstrap_servers),
        "client.id": connection.client_id,
        "security.protocol": connection.security_protocol.lower(),
        "socket.connection.setup.timeout.ms": min(max(round(connection.connect_timeout_s * 1000), 1000), 2**31 - 1),
    }
    if connection.security_protocol.has_tls:
        settings |= _tls(connection.tls)
    if connection.sasl is not None:
        settings |= _sasl(connection.sasl)
    return settings


_TLS_FIELDS = {
    "ssl.ca.location": "ca_file",
    "ssl.ca.pem": "ca_text",
    "ssl.certificate.location": "certificate_file",
    "ssl.certificate.pem": "certificate_text",
    "ssl.key.location": "key_file",
    "ssl.key.pem": "key_text",
    "ssl.key.password": "key_password",
}
_SYSTEM_CERTIFICATES = "probe"
"""In place of a file: those of the system, which are ours by default."""
_DEFAULT_PORT = 9092
_UNTRANSLATED = ("ssl.keystore.location", "ssl_ca", "ssl_certificate", "ssl_key", "ssl.engine.location", "oauth_cb")


def connection_of(client: Mapping[str, Any]) -> ConnectionSettings:
    """The connection settings of a librdkafka client with this configuration.

    Raises
    ------
    ConfigError
        If it names no bootstrap servers, or uses a setting that only librdkafka supports.
    """
    servers = client.get("bootstrap.servers") or client.get("metadata.broker.list")
    if not isinstance(servers, str) or not servers.strip():
        raise ConfigError("the client's configuration lacks bootstrap.servers")
    hidden = [name for name in _UNTRANSLATED if client.get(name)]
    if str(client.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        hidden.append("enable.ssl.certificate.verification")
    if hidden:
        raise ConfigError(
            f"{hidden[0]}: only librdkafka can connect in this way",
            hint="set kafkabal.profile to a profile for the same cluster",
        )
    protocol = _member(SecurityProtocol, "security.protocol", client.get("security.protocol", "PLAINTEXT"))
    return ConnectionSettings(
        bootstrap_servers=tuple(_with_port(server.strip()) for server in servers.split(",") if server.strip()),
        security_protocol=protocol,
        tls=_tls_of(client),
        sasl=_sasl_of(client) if protocol.has_sasl else None,
        client_id=str(client.get("client.id", DEFAULT_CLIENT_ID)),
    )


def _with_port(server: str) -> str:
    """An address without the protocol that librdkafka allows before it, and with its default port."""
    address = server.rpartition("://")[2]
    return address if address.rpartition("]")[2].count(":") == 1 else f"{address}:{_DEFAULT_PORT}"


def _tls_of(client: Mapping[str, Any]) -> TlsSettings:
    given = {field: str(client[name]) for name, field in _TLS_FIELDS.items() if client.get(name)}
    if given.get("ca_file") == _SYSTEM_CERTIFICATES:
        del given["ca_file"]
    is_host_verified = str(client.get("ssl.endpoint.identification.algorithm", "https")).lower() != "none"
    return TlsSettings(**given, check_hostname=is_host_verified)


def _sasl_of(client: Mapping[str, Any]) -> SaslSettings:
    name = client.get("sasl.mechanism") or client.get("sasl.mechanisms") or "GSSAPI"
    mechanism = _member(SaslMechanism, "sasl.mechanism", name)
    if mechanism is not SaslMechanism.OAUTHBEARER:
        return SaslSettings(
            mechanism=mechanism,
            username=str(client.get("sasl.username", "")),
            password=str(client.get("sasl.password", "")),
        )
    url = client.get("sasl.oauthbearer.token.endpoint.url")
    if not url:
        raise ConfigError(
            "sasl.oauthbearer.token.endpoint.url is missing: only librdkafka can connect in this way",
            hint="set kafkabal.profile to a profile for the same cluster",
        )
    oauth = OAuthSettings(
        token_endpoint_url=str(url),
        client_id=str(client.get("sasl.oauthbearer.client.id", "")),
        client_secret=str(client.get("sasl.oauthbearer.client.secret", "")),
        scope=str(client.get("sasl.oauthbearer.scope", "")),
    )
    return SaslSettings(mechanism=mechanism, oauth=oauth)


def _member(kind: Any, name: str, value: Any) -> Any:
    """The enum member that a setting names.

    Raises
    ------
    ConfigError
        If there is none.
    """
    try:
        return kind(str(value).upper())
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise ConfigError(f"{name}: not supported: {value}", hint=f"choose from: {known}") from None


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
