"""The partitioner for Java clients: the same picks as in Python, also in Kafka's own performance tool."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafkabal.clusters import NewTopic
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.routing import WeightRecord
from kafkabal.sandbox import (
    Sandbox,
    SandboxSpec,
    WaitLimit,
    default_cache,
    ensure_client_jars,
    ensure_jars,
    ensure_java_compiler,
    java_binary,
)
from tests.live.conftest import MakeSandbox
from tests.live.connect_worker import connect_worker
from tools.java_producer_perf import (
    BY_WEIGHTS,
    Load,
    build_jar,
    bytes_of_brokers,
    kafkabal_command,
    max_over_mean,
    published,
    write,
)

HERE = Path(__file__).parent
VECTORS = HERE.parent / "unit" / "routing" / "stride_vectors.json"
LOAD = Load(records=120_000, record_bytes=1000)
# with as many batches at random, the fullest broker got 1.17 to 1.29 times the mean in 2,000 draws
HALF_LOAD = Load(records=60_000, record_bytes=1000)
# on a busy machine weights may not be read within the second that a client waits, which then starts without
PATIENT = "kafkabal.routing.first.weights.ms=30000"
# log dirs do not show what a client has not sent yet: on a busy machine weights then compensated for up to 0.9 MB
# of it, 1.022 of the mean after 120 MB
SMALL_BUFFER = "buffer.memory=2097152"
# bytes that brokers already hold would be compensated for
EMPTY = SandboxSpec(brokers=3, racks=0)


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The partitioner."""
    path = tmp_path_factory.mktemp("jar") / "kafkabal-routing.jar"
    build_jar(path)
    return path


def run_check(jar: Path, scratch: Path, check: str, *files: Path) -> list[str]:
    """The words that a Java program of this folder prints about some files."""
    class_path = compile_checks(jar, scratch)
    run = [str(java_binary()), "-Xmx256m", "-cp", f"{class_path}:{scratch}", f"kafkabal.routing.{check}"]
    done = subprocess.run([*run, *map(str, files)], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def compile_checks(jar: Path, scratch: Path) -> str:
    """Compile the Java programs of this folder; returns the class path that they need."""
    class_path = ":".join(map(str, (jar, *ensure_client_jars(default_cache()))))
    java, source = str(java_binary()), str(HERE / "java" / "kafkabal" / "routing")
    compiler = str(ensure_java_compiler(default_cache()))
    subprocess.run(
        [java, "-jar", compiler, "-17", "-nowarn", "-cp", class_path, "-d", str(scratch), source],
        check=True,
        timeout=60,
    )
    return class_path


def record_of(leader: int) -> WeightRecord:
    """A record of one partition and one broker."""
    return WeightRecord(
        topic="t",
        published_at="",
        publisher="",
        scores={},
        valid_ms=30 * 86_400_000,
        slot_bytes=1,
        slot_part=None,
        brokers=[1],
        leaders=[leader],
        weights=[1.0],
    )


def test_java_picks_what_python_picks(jar: Path, tmp_path: Path) -> None:
    """For the strides and keys in the file of test vectors, every result is the known one; weights may be valid for
    longer than an int has milliseconds."""
    file = tmp_path / "record.json"
    file.write_bytes(record_of(0).to_json())
    (line,) = run_check(jar, tmp_path, "StrideCheck", VECTORS, file)
    answers, known, valid_ms = map(int, line.split())
    assert answers == known > 5000
    assert valid_ms == record_of(0).valid_ms


def test_a_corrupt_record_breaks_no_producer(jar: Path, tmp_path: Path) -> None:
    """Leaders that are not in the list of brokers and a record of any size are refused; without a broker that responds
    only the first topic's first record waits."""
    values = [
        record_of(0).to_json(),
        record_of(2_000_000_000).to_json(),
        record_of(10**18).to_json(),
        record_of(0).to_json().replace(b'"leaders":[0]', b'"leaders":[0.5]'),
        b'{"weights":[0' + 20_000_000 * b",0" + b"]}",
    ]
    files = [tmp_path / f"{i}.json" for i in range(len(values))]
    for file, value in zip(files, values, strict=True):
        file.write_bytes(value)
    assert run_check(jar, tmp_path, "RecordCheck", *files) == ["used", *4 * ["refused"], "1"]


def test_the_reader_survives_missing_topics_permissions_connections_and_damage(jar: Path, tmp_path: Path) -> None:
    """Weights that waited in the brokers while a client was cut off are aged from their publication; one consumer
    lasts for all attempts, since each new one logs all its settings. Weights of other topics are not parsed."""
    assert run_check(jar, tmp_path, "ReaderCheck") == [
        "parsed for no producer: false",
        "topic appears: true",
        "old record after silence: false",
        "next record: true",
        "permission returns: true",
        "topic returns: true",
        "damaged batch is left behind: true",
        "consumers: 1",
        "ended: true",
    ]


def test_the_reader_connects_as_the_producer_does(jar: Path, tmp_path: Path) -> None:
    """Every setting that decides how a client connects is shared, and those that only a plug-in of it knows."""
    assert run_check(jar, tmp_path, "SettingsCheck") == [
        "connecting, not passed: [metadata.max.idle.ms]",
        "others that are not known, passed: true",
        "unknown to consumers: [my.vault.token]",
        "not of clients, not passed: [config.providers, config.providers.file.class, kafkabal.routing.topic]",
    ]


def test_a_refused_record_does_not_count_as_sent(jar: Path, tmp_path: Path) -> None:
    """A record above ``max.request.size``, which the client refuses after it was routed, keeps no others from its
    broker."""
    (line,) = run_check(jar, tmp_path, "RefusedRecordCheck")
    # a slot has three of them
    assert [int(word) for word in line.split()] == pytest.approx([50, 50], abs=3)


def test_a_closed_producer_keeps_no_classes(jar: Path, tmp_path: Path) -> None:
    """The classes of the jar are unloaded though a thread that sent records goes on, with a client that asks twice."""
    compile_checks(jar, tmp_path)
    clients = [
        path for path in ensure_jars("3.9.2", default_cache()) if path.name.startswith(("kafka-clients", "slf4j"))
    ]
    run = [
        str(java_binary()),
        "-cp",
        ":".join(map(str, (*clients, tmp_path))),
        "kafkabal.routing.LoaderCheck",
        str(jar),
    ]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["unloaded"]


def test_one_jar_for_all_clients(jar: Path, tmp_path: Path) -> None:
    """Jars compiled against different versions are equal byte for byte."""
    again = tmp_path / "again.jar"
    jars = [path for path in ensure_jars("3.9.2", default_cache()) if path.name.startswith(("kafka-clients", "slf4j"))]
    build_jar(again, jars)
    assert again.read_bytes() == jar.read_bytes()


def test_the_performance_tool_fills_brokers_evenly(make_sandbox: MakeSandbox, jar: Path, tmp_path: Path) -> None:
    """Weights keep brokers within 1.02 of the mean with two extra partitions; expired weights do not apply."""
    fill(make_sandbox(EMPTY, "java"), jar, tmp_path, "4.1.2", SMALL_BUFFER)


@pytest.mark.sweep
def test_a_client_with_a_large_buffer_does_too(make_sandbox: MakeSandbox, jar: Path, tmp_path: Path) -> None:
    """The same with the 32 MiB that a client may keep unsent by default."""
    fill(make_sandbox(EMPTY, "java"), jar, tmp_path, "4.1.2")


@pytest.mark.sweep
@pytest.mark.parametrize("version", ["3.9.2", "4.4.0"])
def test_other_clients_do_too(make_sandbox: MakeSandbox, jar: Path, tmp_path: Path, version: str) -> None:
    """Clients before Kafka 4.0 ask twice for a record that opens a batch; it counts once."""
    fill(make_sandbox(EMPTY, "java"), jar, tmp_path, version)


def fill(sandbox: Sandbox, jar: Path, scratch: Path, version: str, *settings: str) -> None:
    """Write with published weights, and with expired ones; ``settings`` are those of the client."""
    cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(","))))
    with cluster:
        by_weights, by_batches = (f"java-{version}-{name}".replace(".", "-") for name in ("weights", "batches"))
        leaders = ((1,), (2,), (3,), (1,), (2,))
        cluster.create_topics([NewTopic(name=topic, assignment=leaders) for topic in (by_weights, by_batches)])
        with published(sandbox, by_weights):
            said = logged(sandbox, jar, scratch, version, by_weights, LOAD, *settings)
        assert f"Topic {by_weights}: records without keys follow published weights" in said
        assert "weights are missing" not in said
        assert "Exception" not in said
        assert max_over_mean(cluster, by_weights) <= 1.02

        once = kafkabal_command(sandbox, "route", by_batches, "--publish", "--once", "--valid-for", "1ms")
        subprocess.run(once, capture_output=True, timeout=60, check=True)
        said = logged(sandbox, jar, scratch, version, by_batches, HALF_LOAD, *settings)
        assert "follow published weights" not in said
        # two brokers of three lead two partitions of five
        assert max_over_mean(cluster, by_batches) == pytest.approx(1.2, abs=0.1)


@pytest.mark.parametrize(
    "is_of_connector",
    [pytest.param(False, id="all-connectors"), pytest.param(True, id="one-connector", marks=pytest.mark.sweep)],
)
def test_kafka_connect_fills_brokers_evenly(
    make_sandbox: MakeSandbox, jar: Path, tmp_path: Path, is_of_connector: bool
) -> None:
    """The tasks of a worker that loads its connectors apart from the jar follow weights, whether the worker names the
    partitioner or a connector does; their producers neither delay nor disturb its shutdown."""
    sandbox = make_sandbox(EMPTY, "connect")
    topic, records = "connect", 30_000
    producer = dict(setting.split("=") for setting in (BY_WEIGHTS, PATIENT, SMALL_BUFFER))
    prefix = "producer.override." if is_of_connector else "producer."
    given = {prefix + name: value for name, value in producer.items()}
    files = [tmp_path / f"{name}.txt" for name in ("first", "second")]
    for file in files:
        file.write_bytes(records * (999 * b"x" + b"\n"))
    sources = {file.stem: {"file": str(file), "topic": topic, "batch.size": "500"} for file in files}
    cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(","))))
    with cluster:
        cluster.create_topics([NewTopic(name=topic, assignment=((1,), (2,), (3,), (1,), (2,)))])
        with (
            published(sandbox, topic),
            connect_worker(
                sandbox,
                jar,
                tmp_path,
                settings={} if is_of_connector else given,
                connectors={name: {**source, **(given if is_of_connector else {})} for name, source in sources.items()},
                options=(log_to_console(tmp_path),),
            ) as log,
        ):
            written = sum(file.stat().st_size for file in files)
            assert WaitLimit(300).until(lambda: bytes_of_brokers(cluster, topic).sum() >= written), log.read_text()
        said = log.read_text()
        assert said.count(f"Topic {topic}: records without keys follow published weights") == len(files)
        assert "Kafka Connect stopped" in said
        assert "Exception" not in said
        # two brokers of three lead two partitions of five: 1.2 without weights
        assert max_over_mean(cluster, topic) <= 1.05


def logged(sandbox: Sandbox, jar: Path, scratch: Path, version: str, topic: str, load: Load, *settings: str) -> str:
    """Write records of a kilobyte with the partitioner; returns the client's log."""
    settings = (BY_WEIGHTS, PATIENT, *settings)
    options = (log_to_console(scratch),)
    done = write(sandbox, topic, version, load, jar, scratch, settings=settings, options=options)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert f"{load.records} records sent" in done.stdout, done.stdout
    return done.stdout + done.stderr


def log_to_console(scratch: Path) -> str:
    """The JVM option for a log on the console; ``scratch`` holds its settings."""
    settings = scratch / "log4j2.properties"
    settings.write_text(
        "rootLogger.level=INFO\nrootLogger.appenderRef.out.ref=OUT\n"
        "appender.out.type=Console\nappender.out.name=OUT\nappender.out.layout.type=PatternLayout\n"
        "appender.out.layout.pattern=%m%n\n"
    )
    return f"-Dlog4j2.configurationFile={settings}"
