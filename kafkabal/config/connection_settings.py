"""How to reach a cluster: addresses, encryption and credentials, from whatever source.

The names in the docstrings are those of a Java ``client.properties``. Secrets never appear in a ``repr``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

DEFAULT_CLIENT_ID = "kafkabal"
DEFAULT_REQUEST_TIMEOUT_S = 30.0
"""request.timeout.ms of Kafka's own clients."""
DEFAULT_CONNECT_TIMEOUT_S = 10.0
"""socket.connection.setup.timeout.ms of Kafka's own clients."""


class SecurityProtocol(StrEnum):
    """``security.protocol``."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        """Whether the client authenticates with SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class SaslMechanism(StrEnum):
    """The supported values of ``sasl.mechanism``."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Encryption; every certificate and key is PEM, as a file or as text."""

    ca_file: str | None = None
    """``ssl.truststore.location``; None without a text either: the system's trusted certificates."""
    ca_text: str | None = None
    """``ssl.truststore.certificates``."""
    certificate_file: str | None = None
    """``ssl.keystore.location``: the client's certificate chain, and its key if ``key_file`` is None."""
    certificate_text: str | None = None
    """``ssl.keystore.certificate.chain``."""
    key_file: str | None = None
    key_text: str | None = field(default=None, repr=False)
    """``ssl.keystore.key``."""
    key_password: str | None = field(default=None, repr=False)
    """``ssl.key.password``."""
    check_hostname: bool = True
    """False if ``ssl.endpoint.identification.algorithm`` is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """Source of the OAUTHBEARER token: an endpoint (RFC 6749, client credentials), or this client itself."""

    token_endpoint_url: str | None = None
    """``sasl.oauthbearer.token.endpoint.url``."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    unsecured_subject: str | None = None
    """``unsecuredLoginStringClaim_sub``: subject of an unsigned token, for test brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """Credentials."""

    mechanism: SaslMechanism
    username: str = ""
    """For PLAIN and SCRAM."""
    password: str = field(default="", repr=False)
    oauth: OAuthSettings | None = None
    """For OAUTHBEARER."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """All settings needed to connect to the brokers of a cluster."""

    bootstrap_servers: tuple[str, ...]
    """``host:port``, at least one; IPv6 addresses in brackets."""
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsSettings = field(default_factory=TlsSettings)
    sasl: SaslSettings | None = None
    """Required if :attr:`security_protocol` uses SASL."""
    client_id: str = DEFAULT_CLIENT_ID
    """``client.id``: the name of this client in brokers' logs and quotas."""
    request_timeout_s: float = DEFAULT_REQUEST_TIMEOUT_S
    """``request.timeout.ms``: how long one request may take."""
    connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S
    """``socket.connection.setup.timeout.ms``: how long it may take to set up a connection, authentication included."""
    broker_timeout_s: float | None = None
    """``--broker-timeout``: how long a broker may take to respond. None: as long as the request may take, or a third of
    it if other brokers can be asked instead."""
    bootstrap_controllers: tuple[str, ...] = ()
    """``host:port`` of KRaft controllers, through which the configs of a dead broker can still be changed."""


@dataclass(frozen=True, slots=True)
class SnapshotAddress:
    """A cluster in a snapshot file."""

    path: str
    save_to: str | None = None
    """File to write the changed cluster to; None: read-only. The snapshot that was read is never written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperAddress:
    """A cluster of Kafka <= 3.9 that is located through its ZooKeeper."""

    servers: str
    """``host:port`` of one or more servers, separated by commas, then a chroot such as ``/kafka`` if needed."""
    connection: ConnectionSettings | None = None
    """How to connect to the brokers; its bootstrap servers are not used. None: in plain text."""


ClusterAddress: TypeAlias = ConnectionSettings | SnapshotAddress | ZookeeperAddress
"""The result of a command's options and profile: which cluster, and how to reach it."""
