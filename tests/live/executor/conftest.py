"""Four brokers and three controllers, a plan that needs every kind of step, and processes that carry it out.

Every test gets topics of its own and ends its run; what it kills, pauses or throttles is as before when it is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

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
from kafkabal.config.connection import ConnectionSettings, ZookeeperAddress
from kafkabal.errors import BusyError
from kafkabal.executor.finding import find_run
from kafkabal.executor.journal import Record, read_journal
from kafkabal.executor.options import Limits, Patience, RunOptions, Throttle
from kafkabal.executor.runs import cancel
from kafkabal.executor.throttle import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS, LIST_KEYS, RATE_KEYS
from kafkabal.executor.workplace import Workplace
from kafkabal.plan.file import write_plan
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.sandbox import Listener, Sandbox, SandboxSpec, up
from kafkabal.sandbox.spec import CONTROLLER_LISTENER

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Collection, Iterator

    from kafkabal.clusters.protocol import Cluster
    from kafkabal.executor.journal import JournalContent

_T = TypeVar("_T")
KB, MB = 1_000, 1_000_000
SESSION_S = 3.0
_RECORD_BYTES = 100_000
_BROKERS = (1, 2, 3, 4)
_MOVES = ((1, 2), (1, 2), (2, 1), (1, 2), (2, 1))
_STAYS = ((1, 2, 3), (2, 3, 1))
_SIZES = {"moves": (6 * MB, 3 * MB, 3 * MB, 2 * MB, 2 * MB), "stays": (4 * MB, MB)}
_DRIVER = Path(__file__).with_name("carry_out.py")
_numbers = count(1)


def options(bytes_per_s: int, **patience: float) -> RunOptions:
    """Options under which a run has several batches; brokers let about ten seconds' worth of a rate pass at once."""
    return RunOptions(
        throttle=Throttle(bytes_per_s=bytes_per_s, log_dir_bytes_per_s=50 * MB),
        limits=Limits(moves_in_per_broker=1, moves_out_per_broker=2, disk_share=1.0),
        patience=Patience(poll_s=0.25, **patience),
        session_s=SESSION_S,
    )


@dataclass
class Process:
    """Another process that works on a run, as another host would."""

    popen: subprocess.Popen[bytes]
    said: Path

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        self.popen.send_signal(which)

    def end(self, timeout_s: float = 90.0) -> tuple[int, str]:
        """Wait for its end; its exit code and what it said."""
        return self.popen.wait(timeout_s), self.said.read_text()

    def kill(self) -> None:
        """Kill it (SIGKILL), unless it has ended."""
        self.popen.kill()
        self.popen.wait()


@dataclass
class Stage:
    """Topics with data on a real cluster, throttles of an operator, and a plan that needs every kind of step."""

    sandbox: Sandbox
    cluster: Cluster
    folder: Path
    sizes: dict[str, tuple[int, ...]]
    moves: str
    stays: str
    plan: Plan = field(default_factory=lambda: Plan(partitions=()))
    start: dict[TopicPartition, Any] = field(default_factory=dict)
    configs: dict[Any, Any] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    slow: ClassVar[RunOptions] = options(100 * KB)
    """Leaves moves in flight for as long as a test needs."""
    fast: ClassVar[RunOptions] = options(50 * MB)
    """Holds nothing up."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Addresses of the brokers."""
        return tuple(self.sandbox.bootstrap_servers.split(","))

    @property
    def controllers(self) -> tuple[str, ...]:
        """Addresses of the controllers."""
        nodes = (n for n in self.sandbox.record.nodes if CONTROLLER_LISTENER in n.ports)
        return tuple(f"127.0.0.1:{n.ports[CONTROLLER_LISTENER]}" for n in nodes)

    def moving(self, number: int) -> TopicPartition:
        """A partition of the topic most of which moves."""
        return TopicPartition(self.moves, number)

    def staying(self, number: int) -> TopicPartition:
        """A partition of the topic that hardly moves."""
        return TopicPartition(self.stays, number)

    def placement(self) -> dict[TopicPartition, Any]:
        """Replicas, leader and log dirs of every partition of the plan."""
        status = self.cluster.partition_status(self.sizes)
        logs, _ = self.cluster.replica_logs(self.cluster.broker_ids(), status.keys())
        return {
            name: (s.replicas, s.leader, {b: log.log_dir for b in s.replicas if (log := logs.get(ReplicaOn(*name, b)))})
            for name, s in status.items()
        }

    def found_configs(self, brokers: Collection[int] = _BROKERS) -> dict[Any, Any]:
        """Every throttle that is in force, value and source."""
        of_brokers = {ConfigResource(ResourceKind.BROKER, str(b)) for b in brokers}
        of_topics = {ConfigResource(ResourceKind.TOPIC, t) for t in self.sizes}
        found, faults = self.cluster.configs(of_brokers, RATE_KEYS)
        listed, more = self.cluster.configs(of_topics, LIST_KEYS)
        assert not faults
        assert not more
        return {**found, **listed}

    def workplace(self, host: str = "one", cluster: Cluster | None = None) -> Workplace:
        """A place to work on it from."""
        return Workplace(cluster=cluster or self.cluster, state_dir=self.state_dir(host), host=host)

    def journals(self, host: str = "one") -> set[Path]:
        """Journals of all runs of a host."""
        return set(self.state_dir(host).glob("*/*.jsonl"))

    def journal(self, host: str = "one") -> JournalContent:
        """The journal of the latest run of a host."""
        return read_journal(max(self.journals(host)))

    def records(self, host: str = "one") -> list[Record]:
        """What the journal of the latest run of a host tells, line by line."""
        whole = max(self.journals(host)).read_bytes().rpartition(b"\n")[0]  # the last line may be on its way
        return [msgspec.json.decode(line, type=Record) for line in whole.splitlines()]

    def hasten(self, host: str = "one") -> None:
        """Ask the run of a host for a rate that holds nothing up."""
        asked = self.command("throttle", "50MB", host=host)
        assert asked.returncode == 0, asked.stderr

    def command(self, *words: str, host: str = "one") -> subprocess.CompletedProcess[str]:
        """Have a host run ``kafkabal rebalance``."""
        return subprocess.run(
            self.command_line(*words),
            env=self.environment(host),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def command_line(self, *words: str) -> list[str]:
        """Words of a command on this cluster."""
        return [sys.executable, "-m", "kafkabal", "rebalance", *words, *self._address]

    @property
    def _address(self) -> tuple[str, str]:
        if self.sandbox.zookeeper:
            return "--zookeeper", self.sandbox.zookeeper
        return "--bootstrap-server", self.sandbox.bootstrap_servers

    def environment(self, host: str) -> dict[str, str]:
        """The environment of a host: its own state, and the package under test, installed or not."""
        package = str(Path(kafkabal.__file__).parents[1])
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / host), "PYTHONPATH": package}

    def state_dir(self, host: str) -> Path:
        """Where a host keeps its journals, whether by command or not."""
        return self.folder / host / "kafkabal" / "runs"

    def begin(
        self,
        options: RunOptions,
        action: str = "apply",
        *,
        host: str = "one",
        plan: Plan | None = None,
        controllers: tuple[str, ...] = (),
    ) -> Process:
        """Let another process carry the plan out, or go on with a run."""
        number = next(_numbers)
        path, order, said = (self.folder / f"{number}.{kind}" for kind in ("plan.json", "order.json", "said"))
        write_plan(plan or self.plan, path)
        fields = {
            "servers": self.servers,
            "controllers": controllers,
            "zookeeper": self.sandbox.zookeeper,
            "state_dir": str(self.state_dir(host)),
            "host": host,
            "action": action,
            "plan": str(path),
            "options": options,
        }
        order.write_bytes(msgspec.json.encode(fields))
        with said.open("wb") as file:
            popen = subprocess.Popen(
                [sys.executable, str(_DRIVER), str(order)], env=self.environment(host), stdout=file, stderr=file
            )
        self.processes.append(Process(popen, said))
        return self.processes[-1]

    def carry_out(self, action: str, host: str = "one", options: RunOptions | None = None) -> tuple[int, str]:
        """Have a process do it once the lock of one that died has run out; its exit code and what it said."""
        return self.begin_when_free(options or self.fast, action, host).end()

    def begin_when_free(self, options: RunOptions, action: str, host: str = "one") -> Process:
        """Let another process go on with a run, once the lock of one that died has run out."""
        self.when_free(lambda: self.cluster.lock("a test that waits", SESSION_S)).release()
        return self.begin(options, action, host=host)

    def finish(self, action: str, host: str = "one", options: RunOptions | None = None) -> None:
        """The same, and nothing may go wrong."""
        assert self.carry_out(action, host, options)[0] == 0

    @staticmethod
    def until(holds: Callable[[], bool], patience_s: float = 40.0) -> None:
        """Wait until it holds."""
        give_up_at = time.monotonic() + patience_s
        while not holds():
            assert time.monotonic() < give_up_at, "it never came to that"
            time.sleep(0.05)

    @staticmethod
    def when_free(action: Callable[[], _T]) -> _T:
        """Do it once the lock of a process that died has run out."""
        give_up_at = time.monotonic() + 10 * SESSION_S
        while True:
            try:
                return action()
            except BusyError:
                assert time.monotonic() < give_up_at, "the lock did not run out"
                time.sleep(0.25)

    def plan_of(self, *names: TopicPartition) -> Plan:
        """The plan for some partitions only."""
        return replace(self.plan, partitions=tuple(c for c in self.plan.partitions if (c.topic, c.partition) in names))

    def forget(self, topic: str) -> None:
        """Expect nothing of a topic any more, since it was deleted."""
        del self.sizes[topic]
        del self.configs[ConfigResource(ResourceKind.TOPIC, topic)]
        self.plan = replace(self.plan, partitions=tuple(c for c in self.plan.partitions if c.topic != topic))
        self.start = {name: found for name, found in self.start.items() if name.topic != topic}

    def in_flight(self, *names: TopicPartition) -> bool:
        """Whether all of these, or anything at all, is being reassigned."""
        running = self.cluster.reassignments().keys()
        return running >= set(names) if names else bool(running)

    def assert_as_planned(self, *but_for: TopicPartition) -> None:
        """Every partition lies and is led as planned, and every throttle is as it was found."""
        found = self.placement()
        for c in self.plan.partitions:
            name = TopicPartition(c.topic, c.partition)
            if name in but_for:
                continue
            replicas, leader, dirs = found[name]
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

    def prepare(self) -> None:
        """Make the topics, the operator's throttles and the plan."""
        dealt = {self.moves: _MOVES, self.stays: _STAYS}
        assert not self.cluster.create_topics([NewTopic(name=t, assignment=a) for t, a in dealt.items()])
        self.until(lambda: len(self.cluster.partition_status(dealt)) == sum(map(len, dealt.values())))
        self._fill()
        assert not self.cluster.alter_configs(_throttles_of_an_operator(self.moves))
        self._lead_by_another(self.staying(1))
        self.start, self.configs = self.placement(), self.found_configs()
        self.plan = self._plan()

    def tidy_up(self) -> None:
        """Leave nothing to the next test."""
        for process in self.processes:
            process.kill()
        self.sandbox.start()
        found = find_run(self.workplace())
        if found is not None and found.state.has_begun and not found.state.is_clean:
            self.when_free(lambda: cancel(self.workplace()))
        admin = AdminClient({"bootstrap.servers": self.sandbox.bootstrap_servers})
        for topic in set(self.sizes) & set(admin.list_topics(timeout=10).topics):
            admin.delete_topics([topic])[topic].result()

    def ends(self) -> dict[TopicPartition, int]:
        """Where the next record of each partition goes, as long as nobody else writes."""
        return {
            TopicPartition(topic, number): size // _RECORD_BYTES
            for topic, sizes in self.sizes.items()
            for number, size in enumerate(sizes)
        }

    def _fill(self) -> None:
        producer = Producer({"bootstrap.servers": self.sandbox.bootstrap_servers, "linger.ms": 20})
        value = os.urandom(_RECORD_BYTES)
        for name, records in self.ends().items():
            for _ in range(records):
                producer.produce(name.topic, value, partition=name.partition)
                producer.poll(0)
        assert producer.flush(60) == 0

    def _lead_by_another(self, name: TopicPartition) -> None:
        """Have a partition led by a replica that is not its first."""
        order = self.cluster.partition_status([name.topic])[name].replicas
        first, second, *rest = order
        for replicas in ((second, first, *rest), order):
            assert not self.cluster.alter_reassignments({name: replicas})
            self.until(lambda replicas=replicas: self.cluster.partition_status([name.topic])[name].replicas == replicas)
            if replicas != order:
                assert not self.cluster.elect_preferred_leaders([name])
        self.until(lambda: self.cluster.partition_status([name.topic])[name].leader == second)

    def _plan(self) -> Plan:
        changes = (
            self._change(self.moving(0), (3, 4), dir_on=4),
            self._change(self.moving(1), (3, 2)),
            self._change(self.moving(2), (4, 1)),
            self._change(self.moving(3), (4, 2)),
            self._change(self.moving(4), (1, 2)),
            self._change(self.staying(0), (1, 2, 3), dir_on=2),
            self._change(self.staying(1), (2, 3, 4)),
        )
        return Plan(partitions=changes, cluster_id=self.cluster.cluster_id(), taken_at=None)

    def _change(self, name: TopicPartition, replicas: tuple[int, ...], dir_on: int | None = None) -> PartitionChange:
        before, leader, dirs = self.start[name]

        def other_dir(broker: int) -> str:
            return next(str(path) for path in self.sandbox.log_dirs(broker) if str(path) != dirs.get(broker))

        return PartitionChange(
            topic=name.topic,
            partition=name.partition,
            replicas=replicas,
            log_dirs=tuple(other_dir(b) if b == dir_on else ANY_DIR for b in replicas),
            previous=Placement(replicas=before, leader=leader, log_dirs=tuple(dirs[b] for b in before)),
            bytes=self.sizes[name.topic][name.partition],
        )


def _throttles_of_an_operator(topic: str) -> list[ConfigChange]:
    """Rates of two brokers' own, a cluster-wide default, and a list of throttled replicas; no other."""
    own = {("1", LEADER_RATE): str(800 * MB), ("4", FOLLOWER_RATE): str(700 * MB)}
    rates = [
        ConfigChange(ConfigResource(ResourceKind.BROKER, str(b)), key, own.get((str(b), key)))
        for b in _BROKERS
        for key in RATE_KEYS
    ]
    default = ConfigChange(ConfigResource(ResourceKind.BROKER_DEFAULT, ""), LEADER_RATE, str(900 * MB))
    return [*rates, default, ConfigChange(ConfigResource(ResourceKind.TOPIC, topic), LEADER_REPLICAS, "3:1,77:7")]


def make_stage(sandbox: Sandbox, folder: Path) -> Iterator[Stage]:
    """Set up the topics of a test, and take them away after it."""
    servers = tuple(sandbox.bootstrap_servers.split(","))
    settings = ConnectionSettings(bootstrap_servers=servers)
    address = ZookeeperAddress(servers=sandbox.zookeeper, connection=settings) if sandbox.zookeeper else settings
    number = next(_numbers)
    moves, stays = f"moves-{number}", f"stays-{number}"
    sizes = {moves: _SIZES["moves"], stays: _SIZES["stays"]}
    with connect(address) as cluster:
        made = Stage(sandbox, cluster, folder, sizes, moves, stays)
        made.prepare()
        try:
            yield made
        finally:
            made.tidy_up()


@pytest.fixture(scope="package")
def four_brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    """Four brokers and three controllers; those who give a name may do what they are allowed to."""
    spec = SandboxSpec(
        brokers=4,
        racks=2,
        controllers=3,
        listeners=(Listener(name="SASL", protocol="SASL_PLAINTEXT"),),
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.sasl.oauthbearer.sasl.jaas.config": (
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                'unsecuredLoginStringClaim_sub="broker";'
            ),
            "group.min.session.timeout.ms": "1000",
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            "auto.leader.rebalance.enable": "false",  # by no clock but that of the run
        },
    )
    with up(spec, f"executor-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


@pytest.fixture
def stage(four_brokers: Sandbox, tmp_path: Path) -> Iterator[Stage]:
    """Two of the four brokers nearly empty."""
    yield from make_stage(four_brokers, tmp_path)


@pytest.fixture(scope="module")
def zookeeper_brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    """Four brokers and a ZooKeeper."""
    spec = SandboxSpec(
        brokers=4,
        racks=2,
        zookeeper=True,
        properties={"group.min.session.timeout.ms": "1000", "auto.leader.rebalance.enable": "false"},
    )
    with up(spec, f"executor-zookeeper-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


@pytest.fixture
def zookeeper_stage(zookeeper_brokers: Sandbox, tmp_path: Path) -> Iterator[Stage]:
    """The same stage on a cluster with a ZooKeeper."""
    yield from make_stage(zookeeper_brokers, tmp_path)
