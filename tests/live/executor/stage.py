"""A stage for a run: topics on a real cluster, a plan for them, and the expected end state of both."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import Cluster, NewTopic, ReadRequest, ReplicaOn
from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ResourceKind
from kafkabal.errors import KafkabalError
from kafkabal.executor.execute_run import cancel
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS
from kafkabal.model.replica_health import offline_replicas
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, Plan
from tests.live.executor.hosts import SESSION_S, Hosts, Process
from tests.live.executor.scenery import (
    BROKERS,
    KB,
    MB,
    MOVES,
    RECORD_BYTES,
    STAYS,
    are_in_force,
    changes,
    fill,
    lead_by_another,
    soon,
    throttles_of_an_operator,
    until,
)


def options(bytes_per_s: int, **timeouts: float) -> RunOptions:
    """Options that split a run into several batches; brokers let about ten seconds' worth of a rate pass at once."""
    return RunOptions(
        throttle=Throttle(bytes_per_s=bytes_per_s, log_dir_bytes_per_s=50 * MB),
        limits=RunLimits(moves_in_per_broker=1, moves_out_per_broker=2, disk_fraction=1.0),
        timeouts=Timeouts(poll_s=0.25, **timeouts),
        session_s=SESSION_S,
    )


@dataclass
class Stage(Hosts):
    """Topics with data on a real cluster, throttles of an operator, and a plan that needs every kind of step."""

    cluster: Cluster
    sizes: dict[str, tuple[int, ...]]
    moves: str
    stays: str
    plan: Plan = field(default_factory=lambda: Plan(partitions=()))
    start: dict[TopicPartition, Any] = field(default_factory=dict)
    configs: dict[Any, Any] = field(default_factory=dict)

    until = staticmethod(until)
    soon = staticmethod(soon)
    slow: ClassVar[RunOptions] = options(100 * KB)
    """Leaves moves in flight for as long as a test needs."""
    fast: ClassVar[RunOptions] = options(50 * MB)
    """Holds nothing up."""

    def moving(self, number: int) -> TopicPartition:
        """A partition of the topic that mostly moves."""
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

    def found_configs(self, brokers: Collection[int] = BROKERS) -> dict[Any, Any]:
        """Every effective throttle, with value and source."""
        of_brokers = {ConfigResource(ResourceKind.BROKER, str(b)) for b in brokers}
        of_topics = {ConfigResource(ResourceKind.TOPIC, t) for t in self.sizes}
        found, faults = self.cluster.configs(of_brokers, RATE_KEYS)
        listed, more = self.cluster.configs(of_topics, LIST_KEYS)
        assert not faults
        assert not more
        return {**found, **listed}

    def assert_no_throttle(self) -> None:
        """No throttle is set on a broker or topic, not even the operator's."""
        found = {
            at: value.value
            for at, values in self.found_configs().items()
            for value in values.values()
            if value.source is ConfigSource.OWN and value.value
        }
        assert found == {}

    def run_kafkas_tool(self, plan: Path, *words: str) -> str:
        """Run Kafka's own tool on a plan; returns its output."""
        ran = self.sandbox.kafka_tool("ReassignPartitionsCommand", "--reassignment-json-file", str(plan), *words)
        assert ran.exit_code == 0, ran
        return ran.stdout

    def environment(self, host: str = "one", cluster: Cluster | None = None) -> RunEnvironment:
        """A place to work on it from."""
        return RunEnvironment(cluster=cluster or self.cluster, state_dir=self.state_dir(host), host=host)

    def hasten(self, host: str = "one") -> None:
        """Request rates from a host's run that delay nothing.

        Until the lock's group has a new coordinator, no process is known to hold the lock, and the run is asked again.
        By then it may have taken the first request, and have ended."""
        words = ("throttle", "50MB", "--log-dir-throttle", "60MB")
        first = self.command(*words, host=host)
        assert first.returncode == 0, first.stderr
        if "within seconds" not in first.stderr:
            heard = re.compile("within seconds|no active run")
            until(lambda: heard.search(self.command(*words, host=host).stderr) is not None)

    def begin(
        self,
        options: RunOptions,
        action: str = "apply",
        *,
        host: str = "one",
        plan: Plan | None = None,
        controllers: tuple[str, ...] = (),
        is_watched: bool = False,
        stops_before: tuple[str, int] | None = None,
    ) -> Process:
        """Start another process that applies the plan, or continues a run."""
        return self.start_process(
            plan or self.plan,
            options,
            action,
            host=host,
            controllers=controllers,
            is_watched=is_watched,
            stops_before=stops_before,
        )

    def execute(self, action: str, host: str = "one", options: RunOptions | None = None) -> tuple[int, str]:
        """Run a process once the lock of a dead one has expired; returns its exit code and output."""
        return self.begin_when_free(options or self.fast, action, host).end()

    def begin_when_free(self, options: RunOptions, action: str, host: str = "one") -> Process:
        """Let another process continue a run, once the lock of a dead one has expired."""
        self.wait_for_lock()
        return self.begin(options, action, host=host)

    def wait_for_lock(self) -> None:
        """Return once the lock of a dead process has expired."""
        self.when_free(lambda: self.cluster.lock(LockRequest("a test that waits", SESSION_S))).release()

    def finish(self, action: str, host: str = "one", options: RunOptions | None = None) -> None:
        """Run a process once the lock of a dead one has expired, and expect success."""
        assert self.execute(action, host, options)[0] == 0

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
        """Whether all of these, or any partition at all, is being reassigned."""
        running = self.cluster.reassignments().keys()
        return running >= set(names) if names else bool(running)

    def in_sync(self, name: TopicPartition) -> tuple[int, ...]:
        """Brokers whose replica of a partition the controller counts as in sync."""
        return self.cluster.partition_status([name.topic])[name].isr

    def copying(self) -> set[ReplicaOn]:
        """Replicas that are being copied to another log dir of their broker."""
        logs, _ = self.cluster.replica_logs(self.cluster.broker_ids(), self.cluster.partition_status(self.sizes).keys())
        return {replica for replica, log in logs.items() if log.future_log_dir is not None}

    def _assert_no_copies(self) -> None:
        assert not self.copying()

    def await_health(self) -> None:
        """Return once a run can start: all brokers live, all replicas in sync, a coordinator for the lock.

        None of this need hold immediately after a start or a fault, least of all on a busy machine."""
        soon(self._assert_healthy)
        self.wait_for_lock()

    def _assert_healthy(self) -> None:
        try:
            reading = self.cluster.read(ReadRequest(deadline_s=10.0))
        except KafkabalError as error:
            raise AssertionError(error.message) from error
        state, r = reading.state, reading.state.replicas
        assert not reading.problems
        assert state.brokers.is_live.all(), "brokers are dead"
        assert not offline_replicas(state).any(), "replicas are offline"
        assert (state.partitions.leader >= 0).all(), "partitions have no leader"
        assert (r.in_sync | r.adding).all(), "replicas are out of sync"

    def assert_as_planned(self, *but_for: TopicPartition) -> None:
        """Every partition is placed and led as planned, and every throttle is as it was found."""
        soon(lambda: self._check_placement(but_for))
        self.assert_clean()

    def assert_as_at_start(self) -> None:
        """Every partition is placed and led as at the start, and every throttle is as it was found."""

        def check() -> None:
            assert self.placement() == self.start

        soon(check)
        self.assert_clean()

    def assert_clean(self) -> None:
        """Nothing moves, and every throttle is as it was found."""
        assert not self.cluster.reassignments()
        soon(self._assert_no_copies)
        self.assert_configs(self.configs)

    def assert_configs(self, wanted: dict[Any, Any], brokers: Collection[int] = BROKERS) -> None:
        """Every throttle of topics and of these brokers is as expected, value and source."""

        def check() -> None:
            assert self.found_configs(brokers) == wanted

        soon(check)

    def _check_placement(self, but_for: Collection[TopicPartition]) -> None:
        found = self.placement()
        for c in self.plan.partitions:
            name = TopicPartition(c.topic, c.partition)
            if name in but_for:
                continue
            replicas, leader, dirs = found[name]
            assert (replicas, leader) == (c.replicas, c.replicas[0]), c.name
            assert all(dirs.get(b) == d for b, d in zip(c.replicas, c.log_dirs, strict=True) if d != ANY_DIR), c.name

    def prepare(self) -> None:
        """Create the topics, the operator's throttles and the plan."""
        dealt = {self.moves: MOVES, self.stays: STAYS}
        assert not self.cluster.create_topics([NewTopic(name=t, assignment=a) for t, a in dealt.items()])
        self.until(lambda: len(self.cluster.partition_status(dealt)) == sum(map(len, dealt.values())))
        fill(self.sandbox.bootstrap_servers, self.ends())
        throttles = throttles_of_an_operator(self.moves)
        assert not self.cluster.alter_configs(throttles)
        lead_by_another(self.cluster, self.staying(1))
        self.until(lambda: are_in_force(throttles, self.found_configs()))
        self.await_health()
        self.start, self.configs = self.placement(), self.found_configs()
        planned = changes(self.sandbox, self.moves, self.stays, self.start)
        self.plan = Plan(partitions=planned, cluster_id=self.cluster.cluster_id(), taken_at=None)

    def tidy_up(self) -> None:
        """Leave nothing for the next test."""
        for process in self.processes:
            process.kill()
            if process.said.exists():
                sys.stdout.write(process.said.read_text())  # shown if the test has failed
        self.sandbox.start()
        found = find_run(self.environment())
        if found is not None and found.state.has_begun and not found.state.is_clean:
            self.when_free(lambda: cancel(self.environment()))
        admin = AdminClient({"bootstrap.servers": self.sandbox.bootstrap_servers})
        for topic in set(self.sizes) & set(admin.list_topics(timeout=60).topics):
            admin.delete_topics([topic])[topic].result()

    def ends(self) -> dict[TopicPartition, int]:
        """The next offset of each partition, as long as no other client writes."""
        return {
            TopicPartition(topic, number): size // RECORD_BYTES
            for topic, sizes in self.sizes.items()
            for number, size in enumerate(sizes)
        }
