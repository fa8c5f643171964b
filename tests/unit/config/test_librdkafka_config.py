"""Connection settings as librdkafka's; librdkafka itself says whether it accepts them."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
)
from kafkabal.config.librdkafka_config import connection_of, librdkafka_settings
from kafkabal.errors import ConfigError

SERVERS = ("127.0.0.1:1", "127.0.0.1:2")


def test_plaintext() -> None:
    """An unencrypted connection needs the addresses and little else."""
    assert librdkafka_settings(ConnectionSettings(bootstrap_servers=SERVERS)) == {
        "bootstrap.servers": "127.0.0.1:1,127.0.0.1:2",
        "client.id": "kafkabal",
        "security.protocol": "plaintext",
        "socket.connection.setup.timeout.ms": 10_000,
    }


def test_tls_files() -> None:
    """A certificate file without a key file holds the key too; the host name is checked by default."""
    tls = TlsSettings(ca_file="ca.pem", certificate_file="me.pem", key_password="secret", check_hostname=False)
    settings = librdkafka_settings(
        ConnectionSettings(bootstrap_servers=SERVERS, security_protocol=SecurityProtocol.SSL, tls=tls)
    )
    assert {name: value for name, value in settings.items() if name.startswith("ssl.")} == {
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "me.pem",
        "ssl.key.location": "me.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "none",
    }


SASL = {
    "plain": (
        SaslSettings(mechanism=SaslMechanism.PLAIN, username="u", password="p"),
        {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
    ),
    "scram": (
        SaslSettings(mechanism=SaslMechanism.SCRAM_SHA_512, username="u", password="p"),
        {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"},
    ),
    "oauth endpoint": (
        SaslSettings(
            mechanism=SaslMechanism.OAUTHBEARER,
            oauth=OAuthSettings(
                token_endpoint_url="http://127.0.0.1:1/token", client_id="me", client_secret="s", scope="kafka"
            ),
        ),
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "s",
            "sasl.oauthbearer.scope": "kafka",
        },
    ),
    "oauth without signature": (
        SaslSettings(mechanism=SaslMechanism.OAUTHBEARER, oauth=OAuthSettings(unsecured_subject="me")),
        {
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": "principal=me",
        },
    ),
}


@pytest.mark.parametrize(("sasl", "expected"), SASL.values(), ids=SASL)
def test_sasl(sasl: SaslSettings, expected: dict[str, object]) -> None:
    """Each mechanism gets its own properties, and librdkafka accepts all of them."""
    settings = librdkafka_settings(
        ConnectionSettings(bootstrap_servers=SERVERS, security_protocol=SecurityProtocol.SASL_PLAINTEXT, sasl=sasl)
    )
    assert {name: value for name, value in settings.items() if "sasl" in name} == {
        **expected,
    }
    Producer({**settings, "log_level": 0})


@pytest.mark.parametrize("connect_timeout_s", [0.0, 0.5, 1e9])
def test_timeouts_beyond_its_range(connect_timeout_s: float) -> None:
    """A timeout that Java clients accept does not keep a producer from starting."""
    settings = librdkafka_settings(ConnectionSettings(bootstrap_servers=SERVERS, connect_timeout_s=connect_timeout_s))
    Producer({**settings, "log_level": 0})


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("a:1, b:2,", ("a:1", "b:2")),
        ("a", ("a:9092",)),
        ("PLAINTEXT://a:1,SSL://b", ("a:1", "b:9092")),
        ("[::1]:5,[::1]", ("[::1]:5", "[::1]:9092")),
    ],
)
def test_addresses_that_only_librdkafka_accepts(servers: str, expected: tuple[str, ...]) -> None:
    """Records of a drop-in producer are routed however its brokers are written."""
    assert connection_of({"bootstrap.servers": servers}).bootstrap_servers == expected


def test_certificates_of_the_system_are_found_by_both() -> None:
    """librdkafka's word for them is not taken for the name of a file."""
    client = {"bootstrap.servers": "a", "security.protocol": "SSL", "ssl.ca.location": "probe"}
    assert connection_of(client).tls == TlsSettings()


@pytest.mark.parametrize("name", ["plain", "scram", "oauth endpoint"])
def test_a_drop_in_producer_reads_the_cluster_as_its_client_does(name: str) -> None:
    """Credentials given to librdkafka are those of the connection that routing reads the cluster by."""
    sasl, _ = SASL[name]
    settings = ConnectionSettings(
        bootstrap_servers=SERVERS, security_protocol=SecurityProtocol.SASL_PLAINTEXT, sasl=sasl
    )
    connection = connection_of(librdkafka_settings(settings))
    assert (connection.security_protocol, connection.sasl) == (SecurityProtocol.SASL_PLAINTEXT, sasl)


def test_a_token_that_only_librdkafka_can_get_is_refused() -> None:
    """Its callback cannot be called for another client: the error says to name a profile."""
    client = {"bootstrap.servers": "a", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    with pytest.raises(ConfigError, match="only librdkafka can connect in this way") as refused:
        connection_of(client)
    assert "kafkabal.profile" in (refused.value.hint or "")
