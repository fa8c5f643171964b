"""Certificates and keys: PEM in files or in the settings; anything else is reported for what it is."""

from __future__ import annotations

import ssl
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from kafkabal.clusters.kafka.tls import tls_context
from kafkabal.config.connection_settings import TlsSettings
from kafkabal.errors import ConfigError

_CERTIFICATES = Path(__file__).parent / "certificates"
_PEM, _KEY, _LOCKED = (str(_CERTIFICATES / name) for name in ("broker.pem", "broker.key", "encrypted.key"))


@pytest.mark.parametrize(
    "settings",
    [
        TlsSettings(ca_file=_PEM),
        TlsSettings(ca_text=Path(_PEM).read_text()),
    ],
    ids=["file", "text"],
)
def test_only_the_named_certificates_are_trusted(settings: TlsSettings) -> None:
    """A trust store replaces the system's trusted certificates."""
    assert tls_context(settings).cert_store_stats()["x509"] == 1


@pytest.mark.parametrize("is_trusted", [True, False])
def test_certificates_in_a_folder_are_trusted(tmp_path: Path, is_trusted: bool) -> None:
    """librdkafka's ``ssl.ca.location`` may name one, in which OpenSSL finds certificates by their hashes."""
    if is_trusted:
        (tmp_path / "ce275665.0").write_bytes(Path(_PEM).read_bytes())
    ours = tls_context(TlsSettings(ca_file=str(tmp_path), check_hostname=False))
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(_PEM, _KEY)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ours.wrap_bio(to_client, to_server)
    server = theirs.wrap_bio(to_server, to_client, server_side=True)
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    with suppress(ssl.SSLWantReadError):
        server.do_handshake()
    with nullcontext() if is_trusted else pytest.raises(ssl.SSLCertVerificationError):
        client.do_handshake()


@pytest.mark.parametrize(
    "settings",
    [
        TlsSettings(certificate_file=_PEM, key_file=_KEY),
        TlsSettings(certificate_file=str(_CERTIFICATES / "elsewhere.pem")),
        TlsSettings(certificate_text=Path(_PEM).read_text(), key_text=Path(_KEY).read_text()),
        TlsSettings(certificate_file=_PEM, key_file=_LOCKED, key_password="open-sesame"),
    ],
    ids=["files", "one file", "text", "password"],
)
def test_a_client_certificate_is_taken_with_its_key(settings: TlsSettings) -> None:
    """Every way to provide them in Kafka's PEM stores is supported."""
    tls_context(settings)


@pytest.mark.parametrize(
    "settings",
    [
        TlsSettings(certificate_file=_PEM),
        TlsSettings(certificate_file=str(_CERTIFICATES / "elsewhere.pem"), key_file=_KEY),
        TlsSettings(certificate_file=_PEM, key_file=_LOCKED, key_password="wrong"),
        TlsSettings(certificate_file=_PEM, key_file=_LOCKED),
    ],
    ids=["no key", "another's key", "wrong password", "no password"],
)
def test_a_key_that_does_not_fit_is_refused_without_asking(settings: TlsSettings) -> None:
    """Nothing is asked on the terminal, and the message names the file, not the password."""
    with pytest.raises(ConfigError, match=r"\.pem: no certificate with a matching private key"):
        tls_context(settings)


def test_hostnames_are_checked_unless_switched_off() -> None:
    """An empty ssl.endpoint.identification.algorithm turns off the name check, never the certificate check."""
    assert tls_context(TlsSettings()).check_hostname
    lenient = tls_context(TlsSettings(check_hostname=False))
    assert not lenient.check_hostname
    assert lenient.verify_mode.name == "CERT_REQUIRED"


@pytest.mark.parametrize(
    ("content", "what", "tool"),
    [
        (b"\xfe\xed\xfe\xed\x00\x00\x00\x02", r"Java keystores \(JKS\)", "keytool"),
        (b"\x30\x82\x0a\x00", "PKCS12 and DER", "openssl"),
    ],
)
@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_java_stores_are_refused_with_the_command_that_converts_them(
    tmp_path: Path, content: bytes, what: str, tool: str, store: str
) -> None:
    """JKS and PKCS12 are recognised by their first bytes, whatever the file is called."""
    path = tmp_path / "store.pem"
    path.write_bytes(content)
    settings = TlsSettings(ca_file=str(path)) if store == "truststore" else TlsSettings(certificate_file=str(path))
    with pytest.raises(ConfigError, match=f"{store} {path}: .*{what}") as caught:
        tls_context(settings)
    assert tool in str(caught.value.hint)


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A wrong path is a wrong setting."""
    with pytest.raises(ConfigError, match=r"cannot read truststore .*nowhere\.pem: No such file"):
        tls_context(TlsSettings(ca_file=str(tmp_path / "nowhere.pem")))


def test_a_store_without_a_certificate_is_named(tmp_path: Path) -> None:
    """A file with other content is not a trust store."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing to see")
    with pytest.raises(ConfigError, match="no certificate in PEM form found"):
        tls_context(TlsSettings(ca_file=str(path)))
