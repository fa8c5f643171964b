"""Encryption of connections, with the certificates that the settings name."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkabal.config import TlsSettings
from kafkabal.errors import ConfigError
from kafkabal.wording import system_fault

_JAVA_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_DER_START = b"\x30"
_TO_PKCS12 = "keytool -importkeystore -srckeystore {0} -destkeystore {0}.p12 -deststoretype PKCS12"
_TO_PEM = "openssl pkcs12 -in {0} -out {0}.pem -nodes"


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Create the TLS context that all connections of a client share.

    Raises
    ------
    ConfigError
        If a certificate or key cannot be read, or is not PEM; the message names the file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.check_hostname
    _trust(context, settings)
    _identify(context, settings)
    return context


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.ca_file is None and settings.ca_text is None:
        context.load_default_certs()
        return
    if settings.ca_file is not None and Path(settings.ca_file).is_dir():
        # certificates under the hashes of their subjects, as librdkafka, too, takes them
        context.load_verify_locations(capath=settings.ca_file, cadata=settings.ca_text)
        return
    if settings.ca_file is not None:
        _check_pem(settings.ca_file, "truststore")
    try:
        context.load_verify_locations(cafile=settings.ca_file, cadata=settings.ca_text)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"truststore {settings.ca_file or '(inline)'}: no certificate in PEM form found") from error


def _identify(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.certificate_file is None and settings.certificate_text is None:
        return
    for path in (settings.certificate_file, settings.key_file):
        if path is not None:
            _check_pem(path, "keystore")
    with (
        _as_file(settings.certificate_file, settings.certificate_text) as certificate,
        _as_file(settings.key_file, settings.key_text) as key,
    ):
        try:
            # without a password from us OpenSSL would prompt on the terminal
            context.load_cert_chain(certificate or "", key, password=lambda: settings.key_password or "")
        except (ssl.SSLError, ValueError) as error:
            name = settings.certificate_file or "(inline)"
            raise ConfigError(
                f"keystore {name}: no certificate with a matching private key found (or wrong password)"
            ) from error


def _check_pem(path: str, what: str) -> None:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ConfigError(f"cannot read {what} {path}: {system_fault(error)}") from error
    if start in _JAVA_MAGIC:
        hint = f"convert it: {_TO_PKCS12.format(path)} && {_TO_PEM.format(path + '.p12')}"
        raise ConfigError(f"{what} {path}: Java keystores (JKS) are not supported, only PEM", hint=hint)
    if start.startswith(_DER_START):
        raise ConfigError(
            f"{what} {path}: PKCS12 and DER are not supported, only PEM", hint=f"convert it: {_TO_PEM.format(path)}"
        )


@contextmanager
def _as_file(path: str | None, text: str | None) -> Iterator[str | None]:
    # OpenSSL reads client certificates only from files: write inline text to a temporary one that only its owner can
    # read
    if path is not None or text is None:
        yield path
        return
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)
