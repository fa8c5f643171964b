"""A Java client.properties defines how to connect."""

from pathlib import Path
from typing import Any

import pytest

from kafkabal.config.client_properties import read_connection
from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    SnapshotAddress,
    TlsSettings,
    ZookeeperAddress,
)
from kafkabal.config.java_properties import read_properties
from kafkabal.config.settings import Settings
from kafkabal.config.settings_to_address import cluster_address
from kafkabal.errors import ConfigError, InputFileError, UsageError

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="s;\\"e=c";'
_OAUTH = ("security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER")
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a client.properties and return its path."""

    def write(*lines: str) -> Path:
        path = tmp_path / "client.properties"
        path.write_text("\n".join(lines), encoding="latin-1")
        return path

    return write


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a = b ", "a", "b "),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("  a\t=\tb=c", "a", "b=c"),
        ("a", "a", ""),
        ("a=", "a", ""),
        (r"a\=b=c", "a=b", "c"),
        (r"a\ b=c", "a b", "c"),
        (r"a=\u00e9\t\\ \x", "a", "\u00e9\t\\ x"),
        (r"a=\ud83d\ude00", "a", "\U0001f600"),
        ("a=b\\\n   c", "a", "bc"),
        ("a=b\\\\\nx=y", "a", "b\\"),
        ("a=b\\", "a", "b"),
        ("a=# b", "a", "# b"),
        ("# c=d\n! e=f\n\na=b", "a", "b"),
        ("a=1\na=2", "a", "2"),
        ("a=caf\xe9", "a", "caf\xe9"),
        ("a=1\r\nb=2", "a", "1"),
        ("b\\\n# no comment=1\na=2", "a", "2"),
    ],
)
def test_properties_are_read_as_java_reads_them(write: Any, line: str, key: str, value: str) -> None:
    """Separators, escapes, comments, continuation lines, Latin-1, and the last of equal keys."""
    assert read_properties(write(line))[key].content == value


def test_a_malformed_escape_is_named_by_the_line_it_begins_on(write: Any) -> None:
    """An incomplete ``\\u``, which Java refuses too, is reported with the number of its line."""
    with pytest.raises(InputFileError, match=r"client.properties, line 2: a \\u is followed"):
        read_properties(write("a=b", "c=\\", "\\u12"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file is an input error with its name and the system's reason."""
    with pytest.raises(InputFileError, match="none: cannot read: No such file"):
        read_properties(tmp_path / "none")


def test_without_a_file_the_connection_is_plain() -> None:
    """No encryption, no credentials, and the defaults for the rest."""
    assert read_connection(None, bootstrap_servers=("a:9092",)) == ConnectionSettings(bootstrap_servers=("a:9092",))


def test_a_tls_connection_is_read(write: Any) -> None:
    """PEM stores as files, key password, and no host name check if the algorithm is empty."""
    path = write(
        "bootstrap.servers=a:9093, [::1]:9094",
        "bootstrap.controllers=c:9095",
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        "ssl.truststore.location=/ca.pem",
        "ssl.keystore.type=PEM",
        "ssl.keystore.location=/me.pem",
        "ssl.key.password=secret",
        "ssl.endpoint.identification.algorithm=",
        "client.id=me",
        "request.timeout.ms=5000",
        "socket.connection.setup.timeout.ms=1500",
        "acks=all",
        "ssl.protocol=TLSv1.3",
    )
    assert read_connection(path) == ConnectionSettings(
        bootstrap_servers=("a:9093", "[::1]:9094"),
        bootstrap_controllers=("c:9095",),
        security_protocol=SecurityProtocol.SSL,
        tls=TlsSettings(ca_file="/ca.pem", certificate_file="/me.pem", key_password="secret", check_hostname=False),
        client_id="me",
        request_timeout_s=5.0,
        connect_timeout_s=1.5,
    )


def test_certificates_may_be_inline(write: Any) -> None:
    """As PEM text over several lines."""
    path = write(
        "security.protocol=SSL",
        "ssl.truststore.certificates=-----BEGIN CERTIFICATE-----\\n\\",
        "    MIIB\\n-----END CERTIFICATE-----",
        "ssl.keystore.certificate.chain=chain",
        "ssl.keystore.key=key",
    )
    tls = read_connection(path).tls
    assert tls.ca_text == "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
    assert (tls.certificate_text, tls.key_text, tls.check_hostname) == ("chain", "key", True)


@pytest.mark.parametrize(
    ("mechanism", "jaas", "sasl"),
    [
        (
            "scram-sha-256",
            SCRAM.replace("\\", "\\\\"),
            SaslSettings(mechanism=SaslMechanism.SCRAM_SHA_256, username="alice", password='s;"e=c'),
        ),
        (
            "PLAIN",
            "x.PlainLoginModule required \\\n  username=bob \\\n  password=b0b ;",
            SaslSettings(mechanism=SaslMechanism.PLAIN, username="bob", password="b0b"),
        ),
        (
            "OAUTHBEARER",
            'x.OAuthBearerLoginModule required clientId="i" clientSecret="s" scope="a b";',
            SaslSettings(
                mechanism=SaslMechanism.OAUTHBEARER,
                oauth=OAuthSettings(token_endpoint_url="http://t", client_id="i", client_secret="s", scope="a b"),
            ),
        ),
        (
            "OAUTHBEARER",
            'x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="u";',
            SaslSettings(
                mechanism=SaslMechanism.OAUTHBEARER,
                oauth=OAuthSettings(token_endpoint_url="http://t", unsecured_subject="u"),
            ),
        ),
    ],
)
def test_credentials_are_read(write: Any, mechanism: str, jaas: str, sasl: SaslSettings) -> None:
    """Quoted and bare values of the login module, over any lines."""
    path = write(
        "security.protocol=sasl_ssl",
        f"sasl.mechanism={mechanism}",
        f"sasl.jaas.config={jaas}",
        "sasl.oauthbearer.token.endpoint.url=http://t",
    )
    assert read_connection(path).sasl == sasl


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["bootstrap.servers=a:1,b"], 1, "bootstrap.servers: invalid address: 'b'"),
        (["security.protocol=TLS"], 1, "security.protocol: unknown value: 'TLS'"),
        (["", "security.protocl=SSL"], 2, "unknown key: 'security.protocl'"),
        (["Security.Protocol=SSL"], 1, "unknown key: 'Security.Protocol'"),
        (["security_protocol=SSL"], 1, "unknown key: 'security_protocol'"),
        (["client.id=me", "garbage"], 2, "not a setting: 'garbage'"),
        (['{"bootstrap.servers": "a:1"}'], 1, "not a setting: '{\"bootstrap.servers\"'"),
        (["\0\1\xff"], 1, "not a setting: "),
        (["sasl.mechanisms=PLAIN"], 1, "unknown key: 'sasl.mechanisms'"),
        (
            ["security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI", "sasl.jaas.config=x"],
            2,
            "sasl.mechanism=GSSAPI: Kerberos is not supported",
        ),
        (
            ["security.protocol=SASL_SSL", "sasl.mechanism=aws_msk_iam", "sasl.jaas.config=x"],
            2,
            "sasl.mechanism=AWS_MSK_IAM: authentication by AWS IAM is not supported",
        ),
        (
            ["security.protocol=SASL_SSL", "sasl.mechanism=MD5", "sasl.jaas.config=x"],
            2,
            "sasl.mechanism: unknown value: 'MD5'",
        ),
        (["security.protocol=SASL_SSL", "sasl.jaas.config=x"], None, "requires SASL: missing sasl.mechanism"),
        (
            ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"],
            None,
            "requires SASL: missing sasl.jaas.config",
        ),
        (
            ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", 'sasl.jaas.config=x required username="u";'],
            3,
            "sasl.jaas.config: missing password",
        ),
        (["security.protocol=SSL", "ssl.truststore.location=/t.jks"], 2, "Java key stores are not supported, only PEM"),
        (
            ["security.protocol=SSL", "ssl.keystore.location=/k", "ssl.keystore.type=PKCS12"],
            3,
            "Java key stores are not supported, only PEM",
        ),
        (["request.timeout.ms=5s"], 1, "request.timeout.ms: not a whole number: '5s'"),
        (["request.timeout.ms="], 1, "request.timeout.ms: not a whole number: ''"),
        (["request.timeout.ms=0"], 1, "request.timeout.ms: must be between 1 and 2,147,483,647: '0'"),
        (["socket.connection.setup.timeout.ms=9223372036854775807"], 1, "socket.connection.setup.timeout.ms: must be "),
        ([*_OAUTH, 'sasl.jaas.config=m required clientId="i" clientSecret="s";'], None, f"missing {_ENDPOINT}"),
        ([*_OAUTH, f"{_ENDPOINT}=https://t", "sasl.jaas.config=m required;"], 4, "sasl.jaas.config: missing clientId"),
        (
            [*_OAUTH, f"{_ENDPOINT}=t.example/token", 'sasl.jaas.config=m required clientId="i" clientSecret="s";'],
            3,
            f"{_ENDPOINT}: invalid URL: 't.example/token'",
        ),
    ],
)
def test_errors_name_their_line(write: Any, lines: list[str], line: int | None, message: str) -> None:
    """Unknown values, misspelt security keys, and missing settings."""
    with pytest.raises(UsageError) as error:
        read_connection(write(*lines))
    assert message in error.value.message
    assert line is None or f"client.properties, line {line}: " in error.value.message


@pytest.mark.parametrize(
    "jaas",
    [
        "",
        "module required",
        "module required username=u password=p",
        'module required username="u password=secret;',
        "module username=u password=secret;",
        "module required more username=u password=secret;",
        "module required username=;",
    ],
)
def test_malformed_credentials_are_refused_without_being_shown(write: Any, jaas: str) -> None:
    """The line is named and an example given, but the secret is not shown."""
    path = write("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", f"sasl.jaas.config={jaas}")
    with pytest.raises(UsageError, match=r"line 3: sasl\.jaas\.config") as error:
        read_connection(path)
    assert "secret" not in error.value.message + (error.value.hint or "")


def test_secrets_do_not_show(write: Any) -> None:
    """Neither password nor key appears when the settings are printed."""
    path = write(
        "security.protocol=SASL_SSL",
        "sasl.mechanism=SCRAM-SHA-512",
        'sasl.jaas.config=m required username="alice" password="hidden1";',
        "ssl.keystore.key=hidden2",
        "ssl.key.password=hidden3",
    )
    assert "hidden" not in repr(read_connection(path))


@pytest.mark.parametrize("address", ["localhost", ":9092", "a:", "a:b", "a:0", "a:70000", "::1:9092", "a:9092/x"])
def test_a_malformed_address_is_refused(address: str) -> None:
    """With an example of a valid one."""
    with pytest.raises(ConfigError, match=r"invalid address: ") as error:
        read_connection(None, bootstrap_servers=(address,))
    assert error.value.hint


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        (Settings(snapshot=Path("s.jsonl")), SnapshotAddress("s.jsonl")),
        (Settings(bootstrap_servers=("a:1",)), ConnectionSettings(bootstrap_servers=("a:1",))),
        (
            Settings(zookeeper="z:2181/kafka"),
            ZookeeperAddress(servers="z:2181/kafka", connection=ConnectionSettings(bootstrap_servers=())),
        ),
    ],
)
def test_settings_name_one_cluster(settings: Settings, address: object) -> None:
    """A snapshot, brokers, or brokers behind a ZooKeeper."""
    assert cluster_address(settings) == address


@pytest.mark.parametrize(("broker_timeout_s", "connect_s"), [(3.0, 3.0), (None, 7.0), (60.0, 7.0)])
def test_the_timeout_of_requests_limits_connecting_too(
    write: Any, broker_timeout_s: float | None, connect_s: float
) -> None:
    """A server that accepts a connection and never responds delays a command no longer than any other broker."""
    path = write("socket.connection.setup.timeout.ms=7000")
    found = cluster_address(
        Settings(bootstrap_servers=("a:1",), command_config=path, broker_timeout_s=broker_timeout_s)
    )
    assert isinstance(found, ConnectionSettings)
    assert (found.connect_timeout_s, found.broker_timeout_s) == (connect_s, broker_timeout_s)


def test_addresses_on_the_command_line_come_before_those_of_the_file(write: Any) -> None:
    """The file may serve several clusters; without any address no cluster is given."""
    path = write("bootstrap.servers=file:1")
    given = cluster_address(Settings(command_config=path, bootstrap_servers=("flag:1",)))
    found = cluster_address(Settings(command_config=path))
    assert isinstance(given, ConnectionSettings)
    assert isinstance(found, ConnectionSettings)
    assert (given.bootstrap_servers, found.bootstrap_servers) == (("flag:1",), ("file:1",))
    with pytest.raises(ConfigError, match="no cluster given") as error:
        cluster_address(Settings())
    assert "--bootstrap-server" in (error.value.hint or "")
