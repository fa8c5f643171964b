"""Reads a Java ``client.properties`` into :class:`~kafkabal.config.connection_settings.ConnectionSettings`.

Keys unrelated to the connection are ignored, since other tools may use the file too. An unknown key that looks like a
security setting is refused: a misspelt one would silently weaken the connection. A file of another kind is refused too:
Java would find keys in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from kafkabal.config import value_parsers
from kafkabal.config.allowed_range import PORTS
from kafkabal.config.connection_settings import (
    DEFAULT_CLIENT_ID,
    DEFAULT_CONNECT_TIMEOUT_S,
    DEFAULT_REQUEST_TIMEOUT_S,
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
)
from kafkabal.config.jaas_config import parse_jaas
from kafkabal.config.java_properties import read_properties
from kafkabal.config.yaml_document import Place, YamlNode
from kafkabal.errors import ConfigError, UsageError
from kafkabal.units import parse_whole_number
from kafkabal.wording import suggestion

_E = TypeVar("_E", bound="StrEnum")

_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_UNSECURED = "unsecuredLoginStringClaim_sub"
_URL = re.compile(r"https?://[^/?#]", re.IGNORECASE)
_READ = frozenset(
    {
        "bootstrap.servers",
        "bootstrap.controllers",
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        _ENDPOINT,
        "ssl.truststore.location",
        "ssl.truststore.certificates",
        "ssl.truststore.type",
        "ssl.keystore.location",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
    }
)
# known to the Java client and irrelevant here: login refreshes, JVM security providers
_IGNORED = re.compile(
    r"sasl\.(client\.callback|kerberos|login|oauthbearer)\..*"
    r"|ssl\.(protocol|enabled\.protocols|cipher\.suites|provider|(keystore|truststore)\.password)"
    r"|ssl\.(secure\.random\.implementation|(key|trust)manager\.algorithm|engine\.factory\.class)"
    r"|security\.providers"
)
_PORT_DIGITS = 5
"""Digits of 65535; a longer number is refused without converting it."""
_SECURITY = re.compile(r"(security|sasl|ssl|bootstrap)[._-]", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]+", re.ASCII)
"""All names of Kafka's own settings, and of those of other tools."""
_MOST_MS = 2**31 - 1
"""Kafka's own limit of these settings."""
_SHOWN = 40
"""Characters of an invalid address that an error shows: most host names in full, and the message stays one line."""


def read_connection(
    path: Path | None,
    *,
    bootstrap_servers: tuple[str, ...] = (),
    bootstrap_controllers: tuple[str, ...] = (),
) -> ConnectionSettings:
    """Read a client.properties; addresses given here take precedence over those in the file.

    Parameters
    ----------
    path
        None: connect in plain text, without credentials.

    Raises
    ------
    ConfigError
        If an address is malformed.
    InputFileError
        If the file cannot be read, or a value or a combination of values is wrong; the message names the line if known.
    """
    check_addresses((*bootstrap_servers, *bootstrap_controllers))
    return _Properties(path).connection(bootstrap_servers, bootstrap_controllers)


def check_addresses(addresses: tuple[str, ...]) -> None:
    """Check that each address is ``host:port``.

    Raises
    ------
    ConfigError
        If one is not.
    """
    for address in addresses:
        host, _, port = address.rpartition(":")
        bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
        is_port = port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS and int(port) in PORTS
        if not host or bare_ipv6 or not is_host_name(host) or not is_port:
            raise ConfigError(f"invalid address: {address[:_SHOWN]!r}", hint="write it like broker1.example:9092")


def is_host_name(host: str) -> bool:
    """Whether a name is a valid host name: its labels have 1 to 63 characters."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return "\0" not in host


class _Properties:
    """The keys of one file, converted by meaning."""

    def __init__(self, path: Path | None) -> None:
        self._file = Place(str(path))
        self._nodes: Mapping[str, YamlNode] = read_properties(path) if path else {}
        for key, node in self._nodes.items():
            _check_known(key, node)

    def connection(self, servers: tuple[str, ...], controllers: tuple[str, ...]) -> ConnectionSettings:
        protocol = self._choice("security.protocol", SecurityProtocol, SecurityProtocol.PLAINTEXT)
        return ConnectionSettings(
            bootstrap_servers=servers or self._addresses("bootstrap.servers"),
            bootstrap_controllers=controllers or self._addresses("bootstrap.controllers"),
            security_protocol=protocol,
            tls=self._tls() if protocol.has_tls else TlsSettings(),
            sasl=self._sasl() if protocol.has_sasl else None,
            client_id=self._text("client.id") or DEFAULT_CLIENT_ID,
            request_timeout_s=self._seconds("request.timeout.ms", DEFAULT_REQUEST_TIMEOUT_S),
            connect_timeout_s=self._seconds("socket.connection.setup.timeout.ms", DEFAULT_CONNECT_TIMEOUT_S),
        )

    def _tls(self) -> TlsSettings:
        self._check_pem("truststore")
        self._check_pem("keystore")
        check = self._nodes.get("ssl.endpoint.identification.algorithm")
        return TlsSettings(
            ca_file=self._text("ssl.truststore.location"),
            ca_text=self._text("ssl.truststore.certificates"),
            certificate_file=self._text("ssl.keystore.location"),
            certificate_text=self._text("ssl.keystore.certificate.chain"),
            key_text=self._text("ssl.keystore.key"),
            key_password=self._text("ssl.key.password"),
            check_hostname=check is None or value_parsers.text(check) != "",
        )

    def _check_pem(self, store: str) -> None:
        """Refuse a Java key store: a store must be marked as PEM, or at least named like a PEM file."""
        location, kind = self._nodes.get(f"ssl.{store}.location"), self._nodes.get(f"ssl.{store}.type")
        if location is None or (kind is not None and value_parsers.text(kind).upper() == "PEM"):
            return
        if kind is not None or value_parsers.text(location).lower().endswith(
            (".jks", ".p12", ".pfx", ".keystore", ".truststore")
        ):
            raise (kind or location).error(
                f"ssl.{store}.location: Java key stores are not supported, only PEM",
                hint="convert it with 'keytool -importkeystore -deststoretype PKCS12' and 'openssl pkcs12'",
            )

    def _refuse_other_mechanisms(self) -> None:
        node = self._nodes.get("sasl.mechanism")
        name = "" if node is None else value_parsers.text(node).upper()
        if node is not None and name in _UNSUPPORTED_MECHANISMS:
            called, hint = _UNSUPPORTED_MECHANISMS[name]
            raise node.error(f"sasl.mechanism={name}: {called} is not supported", hint=hint)

    def _sasl(self) -> SaslSettings:
        self._refuse_other_mechanisms()
        mechanism = self._choice("sasl.mechanism", SaslMechanism, None)
        jaas = self._jaas_options()
        if mechanism is SaslMechanism.OAUTHBEARER:
            return SaslSettings(mechanism=mechanism, oauth=self._oauth(jaas))
        self._expect_options(jaas, "username", "password")
        return SaslSettings(mechanism=mechanism, username=jaas["username"], password=jaas["password"])

    def _oauth(self, jaas: Mapping[str, str]) -> OAuthSettings:
        unsecured = jaas.get(_UNSECURED)
        if unsecured is None:
            self._expect_options(jaas, "clientId", "clientSecret")
        endpoint = self._endpoint()
        if endpoint is None and unsecured is None:
            raise self._file.error(f"sasl.mechanism={SaslMechanism.OAUTHBEARER}: missing {_ENDPOINT}")
        return OAuthSettings(
            token_endpoint_url=endpoint,
            client_id=jaas.get("clientId", ""),
            client_secret=jaas.get("clientSecret", ""),
            scope=jaas.get("scope", ""),
            unsecured_subject=unsecured,
        )

    def _endpoint(self) -> str | None:
        url = self._text(_ENDPOINT)
        if url is not None and not _URL.match(url):
            raise self._nodes[_ENDPOINT].error(
                f"{_ENDPOINT}: invalid URL: {url[:_SHOWN]!r}", hint="begin it with https://"
            )
        return url

    def _expect_options(self, jaas: Mapping[str, str], *options: str) -> None:
        for option in options:
            if option not in jaas:
                raise self._nodes["sasl.jaas.config"].error(f"sasl.jaas.config: missing {option}")

    def _jaas_options(self) -> Mapping[str, str]:
        node = self._nodes.get("sasl.jaas.config")
        if node is None:
            raise self._file.error("security.protocol requires SASL: missing sasl.jaas.config")
        return parse_jaas(node)

    def _text(self, key: str) -> str | None:
        node = self._nodes.get(key)
        return value_parsers.text(node) or None if node is not None else None

    def _texts(self, key: str) -> tuple[str, ...]:
        """A list; empty entries are ignored, as in Kafka's own clients."""
        node = self._nodes.get(key)
        parts = value_parsers.text(node).split(",") if node is not None else ()
        return tuple(part.strip() for part in parts if part.strip())

    def _addresses(self, key: str) -> tuple[str, ...]:
        addresses = self._texts(key)
        try:
            check_addresses(addresses)
        except ConfigError as error:
            raise self._nodes[key].error(f"{key}: {error.message}", hint=error.hint) from error
        return addresses

    def _seconds(self, key: str, default: float) -> float:
        node = self._nodes.get(key)
        if node is None:
            return default
        try:
            return parse_whole_number(value_parsers.text(node), 1, _MOST_MS) / 1000
        except UsageError as error:
            raise node.error(f"{key}: {error.message}", hint="write it in milliseconds, like 30000") from error

    def _choice(self, key: str, kind: type[_E], default: _E | None) -> _E:
        node = self._nodes.get(key)
        if node is not None:
            given = value_parsers.text(node).upper()
            if given not in [*kind]:
                raise node.error(f"{key}: unknown value: {given!r}", hint=f"choose from: {', '.join(kind)}")
            return kind(given)
        if default is None:
            raise self._file.error(f"security.protocol requires SASL: missing {key}")
        return default


_OTHER_LISTENER = "use a listener with SCRAM-SHA-512, OAUTHBEARER, PLAIN or client certificates (security.protocol=SSL)"
_UNSUPPORTED_MECHANISMS: Mapping[str, tuple[str, str]] = {
    "GSSAPI": ("Kerberos", _OTHER_LISTENER),
    "AWS_MSK_IAM": ("authentication by AWS IAM", f"{_OTHER_LISTENER}; Amazon MSK offers SCRAM-SHA-512 on port 9096"),
}
"""Common mechanisms that are not supported, by their Kafka name."""


def _check_known(key: str, node: YamlNode) -> None:
    if not _NAME.fullmatch(key) or ("." not in key and not node.content):
        raise node.error(f"not a setting: {key[:_SHOWN]!r}", hint="write one a line, like  security.protocol=SSL")
    if key in _READ or not _SECURITY.match(key) or _IGNORED.fullmatch(key):
        return
    raise node.error(f"unknown key: {key!r}", hint=suggestion(key, _READ))
