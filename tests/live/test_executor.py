"""Runs on real brokers, killed and disturbed: nothing is lost, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ConfluentPartition

import kafkabal
from kafkabal.clusters.connect import connect
from kafkabal.clusters.protocol import (
    ConfigChange,
    ConfigResource,
    NewTopic,
    ReplicaOn,
    ResourceKind,
    TopicPartition,
)
from kafkabal.config.connection import ConnectionSettings
from kafkabal.errors import BusyError
from kafkabal.executor.finding import find_run
from kafkabal.executor.journal import read_journal
from kafkabal.executor.options import Limits, Patience, RunOptions, Throttle
from kafkabal.executor.runs import apply, resume, roll_back
from kafkabal.executor.states import Outcome, Phase
from kafkabal.executor.status import run_status
from kafkabal.executor.throttle import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS, LIST_KEYS, RATE_KEYS
from kafkabal.executor.workplace import Workplace
from kafkabal.plan.file import read_plan, write_plan
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.sandbox import Sandbox, SandboxSpec, up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkabal.clusters.protocol import Cluster
    from kafkabal.executor.result import RunResult

MB = 1_000_000
OPTIONS = RunOptions(
    throttle=Throttle(bytes_per_s=6 * MB, log_dir_bytes_per_s=6 * MB),
    limits=Limits(moves_in_per_broker=1, moves_out_per_broker=2, disk_share=1.0),
    patience=Patience(poll_s=0.5, broker_grace_s=10.0, broker_return_s=40.0),
    session_s=6.0,
)
BROKERS = (1, 2, 3, 4)
TOPICS = {"moves": ((1, 2), (1, 2), (2, 1), (1, 2), (2, 1)), "stays": ((1, 2, 3), (2, 3, 1))}
SIZES_MB = {"moves": (8, 6, 4, 4, 3), "stays": (5, 1)}


@dataclass
class Stage:
    """A real cluster with data, throttles of an operator, and a plan that needs every kind of step."""

    sandbox: Sandbox
    cluster: Cluster
    plan: Plan
    folder: Path
    start: dict[TopicPartition, Any]
    configs: dict[Any, Any]

    def placement(self) -> dict[TopicPartition, Any]:
        """Replicas, leader and log dirs of every partition."""
        status = self.cluster.partition_status(TOPICS)
        logs, _ = self.cluster.replica_logs(BROKERS, status.keys())
        return {
            name: (s.replicas, s.leader, {b: logs[ReplicaOn(*name, b)].log_dir for b in s.replicas})
            for name, s in status.items()
        }

    def found_configs(self) -> dict[Any, Any]:
        """Every throttle that is in force, value and source."""
        brokers = {ConfigResource(ResourceKind.BROKER, str(b)) for b in BROKERS}
        topics = {ConfigResource(ResourceKind.TOPIC, t) for t in TOPICS}
        found, faults = self.cluster.configs(brokers, RATE_KEYS)
        listed, more = self.cluster.configs(topics, LIST_KEYS)
        assert not faults
        assert not more
        return {**found, **listed}

    def workplace(self, host: str = "one", cluster: Cluster | None = None) -> Workplace:
        """A place to work on it from."""
        return Workplace(cluster=cluster or self.cluster, state_dir=self.folder / host, host=host)

    def journal(self, host: str = "one") -> Path:
        """The journal of the latest run of a host."""
        return max((self.folder / host).glob("*/*.jsonl"))

    def begin(self, host: str = "one", plan: Plan | None = None) -> subprocess.Popen[bytes]:
        """Let another process carry a plan out."""
        path = self.folder / "plan.json"
        write_plan(plan or self.plan, path)
        command = [sys.executable, __file__, self.sandbox.bootstrap_servers, str(path), str(self.folder / host)]
        package = str(Path(kafkabal.__file__).parents[1])  # the package under test, installed or not
        return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": package})

    def kill_at(self, records: int) -> Phase | None:
        """Carry the plan out and kill the process once its journal has so many records; where it was then."""
        before = set((self.folder / "one").glob("*/*.jsonl"))
        process = self.begin()
        try:
            while process.poll() is None:
                new = set((self.folder / "one").glob("*/*.jsonl")) - before
                if any(path.read_bytes().count(b"\n") >= records for path in new):
                    process.send_signal(signal.SIGKILL)
                time.sleep(0.002)
            assert process.returncode in (0, -signal.SIGKILL)
        finally:
            process.kill()
            process.wait()
        new = set((self.folder / "one").glob("*/*.jsonl")) - before
        return read_journal(new.pop()).state.phase if new else None

    def assert_as_planned(self) -> None:
        """Every partition lies and is led as planned, and every throttle is as it was found."""
        found = self.placement()
        for c in self.plan.partitions:
            replicas, leader, dirs = found[TopicPartition(c.topic, c.partition)]
            assert (replicas, leader) == (c.replicas, c.replicas[0]), c.name
            assert all(dirs[b] == d for b, d in zip(c.replicas, c.log_dirs, strict=True) if d != ANY_DIR), c.name
        self.assert_clean()

    def assert_as_at_start(self) -> None:
        """Every partition lies and is led as at the start, and every throttle is as it was found."""
        assert self.placement() == self.start
        self.assert_clean()

    def assert_clean(self) -> None:
        """Nothing moves, and every throttle is as it was found."""
        assert not self.cluster.reassignments()
        assert self.found_configs() == self.configs


def when_free(action: Callable[[], RunResult | None], *, patience_s: float = 30.0) -> RunResult:
    """Do it once the lock of a process that died has run out."""
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            result = action()
        except BusyError:
            assert time.monotonic() < give_up_at, "the lock did not run out"
            time.sleep(0.5)
        else:
            assert result is not None
            return result


@pytest.fixture(scope="module")
def stage(sandbox_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Four brokers, two of them nearly empty."""
    folder = tmp_path_factory.mktemp("runs")
    with (
        up(SandboxSpec(brokers=4, racks=2), f"executor-{os.getpid()}", home=sandbox_home) as sandbox,
        connect(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))) as cluster,
    ):
        assert not cluster.create_topics([NewTopic(name=t, assignment=a) for t, a in TOPICS.items()])
        _fill(sandbox)
        _set_operator_throttles(cluster)
        made = Stage(sandbox, cluster, Plan(partitions=()), folder, {}, {})
        _lead_stays_by_its_second(cluster)
        made.start, made.configs = made.placement(), made.found_configs()
        made.plan = _plan(made)
        yield made


def _fill(sandbox: Sandbox) -> None:
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "linger.ms": 20})
    value = os.urandom(100_000)
    for topic, sizes in SIZES_MB.items():
        for number, size in enumerate(sizes):
            for _ in range(size * MB // len(value)):
                producer.produce(topic, value, partition=number)
                producer.poll(0)
    assert producer.flush(60) == 0


def _set_operator_throttles(cluster: Cluster) -> None:
    """A rate of a broker's own, a cluster-wide default, and a list of throttled replicas."""
    changes = [
        ConfigChange(ConfigResource(ResourceKind.BROKER_DEFAULT, ""), LEADER_RATE, str(900 * MB)),
        ConfigChange(ConfigResource(ResourceKind.BROKER, "1"), LEADER_RATE, str(800 * MB)),
        ConfigChange(ConfigResource(ResourceKind.BROKER, "4"), FOLLOWER_RATE, str(700 * MB)),
        ConfigChange(ConfigResource(ResourceKind.TOPIC, "moves"), LEADER_REPLICAS, "3:1,77:7"),
    ]
    assert not cluster.alter_configs(changes)


def _lead_stays_by_its_second(cluster: Cluster) -> None:
    """Have stays-1 led by a replica that is not its first."""
    name = TopicPartition("stays", 1)
    for replicas in ((3, 2, 1), (2, 3, 1)):
        assert not cluster.alter_reassignments({name: replicas})
        if replicas[0] == 3:
            _until(lambda: cluster.partition_status(["stays"])[name].replicas == (3, 2, 1))
            assert not cluster.elect_preferred_leaders([name])
    _until(lambda: cluster.partition_status(["stays"])[name].replicas == (2, 3, 1))
    _until(lambda: cluster.partition_status(["stays"])[name].leader == 3)


def _until(holds: Callable[[], bool], patience_s: float = 20.0) -> None:
    give_up_at = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)


def _plan(made: Stage) -> Plan:
    def other_dir(broker: int, name: TopicPartition) -> str:
        now = made.start[name][2].get(broker)
        return next(str(path) for path in made.sandbox.log_dirs(broker) if str(path) != now)

    def change(topic: str, number: int, replicas: tuple[int, ...], dir_on: int | None = None) -> PartitionChange:
        name = TopicPartition(topic, number)
        before, leader, dirs = made.start[name]
        return PartitionChange(
            topic=topic,
            partition=number,
            replicas=replicas,
            log_dirs=tuple(other_dir(b, name) if b == dir_on else ANY_DIR for b in replicas),
            previous=Placement(replicas=before, leader=leader, log_dirs=tuple(dirs[b] for b in before)),
            bytes=SIZES_MB[topic][number] * MB,
        )

    changes = (
        change("moves", 0, (3, 4), dir_on=4),
        change("moves", 1, (3, 2)),
        change("moves", 2, (4, 1)),
        change("moves", 3, (4, 2)),
        change("moves", 4, (1, 2)),
        change("stays", 0, (1, 2, 3), dir_on=2),
        change("stays", 1, (2, 3, 4)),
    )
    return Plan(partitions=changes, cluster_id=made.cluster.cluster_id(), taken_at=None)


def _records_of_a_run(stage: Stage) -> tuple[int, int]:
    """Records in the journal before anything happens, and in the journal of a whole run."""
    result = when_free(lambda: apply(stage.workplace(), stage.plan, OPTIONS))
    assert result.outcome is Outcome.COMPLETE
    stage.assert_as_planned()
    lines = result.journal.read_bytes().splitlines()
    first = next(i for i, line in enumerate(lines) if b'"entered"' in line)
    roll_back(stage.workplace())
    stage.assert_as_at_start()
    return first, len(lines)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moments", [4, pytest.param(50, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("then", ["resume", "roll back", "resume from the topic"])
def test_killed_run(stage: Stage, then: str, moments: int, record_property: Callable[[str, object], None]) -> None:
    """A run killed at any record of its journal is resumed to the plan, or rolled back to the start, bit for bit."""
    first, last = _records_of_a_run(stage)
    earlier = find_run(stage.workplace())
    phases: Counter[str] = Counter()
    for n in range(moments):
        phase = stage.kill_at(first + round((last - first) * n / (moments - 1)))
        phases[phase.value if phase else "not begun"] += 1
        host = "one"
        if then == "resume from the topic":
            host = f"other-{n}"
            for path in (stage.folder / "one").glob("*/*.jsonl"):
                path.unlink()
        found = find_run(stage.workplace(host))
        if found is None or (earlier and found.record.run_id == earlier.record.run_id):
            stage.assert_as_at_start()
            continue
        earlier = found
        if then == "roll back":
            when_free(lambda host=host: roll_back(stage.workplace(host)))  # type: ignore[misc]
            stage.assert_as_at_start()
            continue
        result = when_free(lambda host=host: resume(stage.workplace(host)))  # type: ignore[misc]
        assert result.outcome is Outcome.COMPLETE
        stage.assert_as_planned()
        done = find_run(stage.workplace(host))
        assert done is not None
        assert run_status(stage.cluster, done).is_settled
        when_free(lambda host=host: roll_back(stage.workplace(host)))  # type: ignore[misc]
        stage.assert_as_at_start()
    assert phases["moving"]
    record_property("phases", dict(phases))


def test_two_hosts_at_once(stage: Stage) -> None:
    """While one host works the other is told who does; once the first is killed, the other goes on."""
    process = stage.begin("one")
    try:
        _until(lambda: bool(stage.cluster.reassignments()))
        with (
            connect(ConnectionSettings(bootstrap_servers=(stage.sandbox.bootstrap_servers.split(",")[0],))) as second,
            pytest.raises(BusyError, match="kafkabal on"),
        ):
            apply(stage.workplace("two", second), stage.plan, OPTIONS)
    finally:
        process.kill()
        process.wait()
    killed_s = time.monotonic()
    assert when_free(lambda: resume(stage.workplace("two"))).outcome is Outcome.COMPLETE
    assert time.monotonic() - killed_s < 60.0
    stage.assert_as_planned()
    roll_back(stage.workplace("two"))
    stage.assert_as_at_start()


def test_broker_killed_on_the_way(stage: Stage) -> None:
    """A broker that dies under a run and comes back costs nothing but time."""
    process = stage.begin()
    try:
        _until(lambda: bool(stage.cluster.reassignments()))
        stage.sandbox.kill(4)
        time.sleep(3.0)
        stage.sandbox.start(4)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()
    stage.assert_as_planned()
    when_free(lambda: roll_back(stage.workplace()))
    stage.assert_clean()


def test_no_record_is_lost(stage: Stage) -> None:
    """What was acknowledged while a run moved its topic, died and was resumed is read exactly where it should be."""
    topic, servers = "written", stage.sandbox.bootstrap_servers
    configs = {"min.insync.replicas": "2"}
    assert not stage.cluster.create_topics([NewTopic(name=topic, assignment=((1, 2, 3), (2, 3, 1)), configs=configs)])
    acknowledged: dict[tuple[int, int], bytes] = {}
    is_over = threading.Event()
    writer = threading.Thread(target=_write, args=(servers, topic, acknowledged, is_over))
    writer.start()
    try:
        _until(lambda: len(acknowledged) > 300)
        process = stage.begin(plan=_plan_of_written(stage, topic))
        _until(lambda: TopicPartition(topic, 0) in stage.cluster.reassignments())
        process.kill()
        process.wait()
        assert when_free(lambda: resume(stage.workplace())).outcome is Outcome.COMPLETE
    finally:
        is_over.set()
        writer.join()
    status = stage.cluster.partition_status([topic])
    assert [status[TopicPartition(topic, n)].replicas for n in (0, 1)] == [(4, 2, 3), (4, 3, 1)]
    assert acknowledged
    assert _read(servers, topic).items() >= acknowledged.items()


def _write(servers: str, topic: str, acknowledged: dict[tuple[int, int], bytes], is_over: threading.Event) -> None:
    """Write numbered records until told to stop, and note where each that was acknowledged went."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "linger.ms": 5})

    def note(error: object, message: Any) -> None:
        if error is None:
            acknowledged[message.partition(), message.offset()] = message.key()

    number = 0
    while not is_over.is_set():
        producer.produce(topic, bytes(1_000), key=str(number).encode(), partition=number % 2, on_delivery=note)
        number += 1
        producer.poll(0.005)
    assert producer.flush(60) == 0


def _read(servers: str, topic: str) -> dict[tuple[int, int], bytes]:
    """Everything in the topic: key by partition and offset."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([ConfluentPartition(topic, n, 0) for n in (0, 1)])
    found: dict[tuple[int, int], bytes] = {}
    ended: set[int] = set()
    while len(ended) < 2:
        message = consumer.poll(20.0)
        assert message is not None
        if message.error():
            ended.add(message.partition())
        else:
            found[message.partition(), message.offset()] = message.key()
    consumer.close()
    return found


def _plan_of_written(stage: Stage, topic: str) -> Plan:
    targets = {(1, 2, 3): (4, 2, 3), (2, 3, 1): (4, 3, 1)}
    changes = tuple(
        PartitionChange(
            topic=topic,
            partition=number,
            replicas=target,
            log_dirs=(ANY_DIR,) * 3,
            previous=Placement(replicas=before, leader=before[0], log_dirs=(ANY_DIR,) * 3),
        )
        for number, (before, target) in enumerate(targets.items())
    )
    return Plan(partitions=changes, cluster_id=stage.cluster.cluster_id())


def _carry_out(bootstrap_servers: str, plan: str, folder: str) -> None:
    """What the process that is killed does."""
    with connect(ConnectionSettings(bootstrap_servers=tuple(bootstrap_servers.split(",")))) as cluster:
        workplace = Workplace(cluster=cluster, state_dir=Path(folder))
        when_free(lambda: apply(workplace, read_plan(plan), OPTIONS))


if __name__ == "__main__":
    _carry_out(*sys.argv[1:])
