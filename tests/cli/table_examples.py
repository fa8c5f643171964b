"""Reports of commands that need brokers, processes or several clusters, with names as long as real ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafkabal.clusters.snapshot import read_snapshot
from kafkabal.doctor import CheckResult, CheckStatus
from kafkabal.executor import Goal, PartitionState, Phase, RunOutcome, RunStatus, RunSummary, Stage
from kafkabal.inspection import inspect_cluster
from kafkabal.reader import Manifest, Measurement
from kafkabal.reader.measure_reading import ReaderResult
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reporting.doctor_report import doctor_report
from kafkabal.reporting.profiles_report import ProfileCheck, check_report
from kafkabal.reporting.read_report import measurement_report
from kafkabal.reporting.report import Report
from kafkabal.reporting.runs.history_report import history_report
from kafkabal.reporting.runs.status_report import status_report
from kafkabal.reporting.sandbox_report import sandbox_report
from kafkabal.reporting.snapshot_diff_report import snapshot_diff_report
from kafkabal.reporting.watch_report import summary_report
from kafkabal.sandbox import Node, NodeState, NodeStatus, Role
from kafkabal.watch import BrokerHealth, WatchSummary
from kafkabal.watch.state_findings import StateFindings

_SNAPSHOTS = Path(__file__).parent / "snapshots"
_TOPIC = "training.images.resized-1024x1024.webp.shuffled.v3.production"


def _sandbox() -> Report:
    nodes = (
        NodeStatus(Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": 19092}), NodeState.RUNNING, 4711, 2**28),
        NodeStatus(Node(2, Role.BROKER, "r1", {"PLAINTEXT": 19093}), NodeState.OUT_OF_MEMORY, None, None, "heap full"),
    )
    sandbox: Any = SimpleNamespace(
        name="default",
        status=lambda: nodes,
        record=SimpleNamespace(spec=SimpleNamespace(version="4.1.2", listeners=())),
        bootstrap_servers="127.0.0.1:19092,127.0.0.1:19093",
        zookeeper=None,
        profile_path="/home/operator/.local/state/kafkabal/sandboxes/default/profile.yaml",
        log=lambda node: f"/logs/{node}",
    )
    return sandbox_report("sandbox status", [sandbox])


def _run_status(phase: Phase, holder: str | None) -> Report:
    found: Any = SimpleNamespace(
        record=SimpleNamespace(
            run_id="20260101T000000-abcdef",
            plan_id="1a45e4fc5f39a0ed",
            started_at="2026-01-01T00:00:00+00:00",
            host="rebalancer-7.operations.example.org",
            partitions=range(12),
        ),
        state=SimpleNamespace(goal=Goal.APPLY, phase=phase, outcome=None, batches=None),
        journal=None,
        is_open=True,
        is_resumable=True,
    )
    rows = tuple(
        PartitionState(
            f"{_TOPIC}-{i}", Stage.MOVING if i < 2 else Stage.WAITING, (4, 5), (1, 5, 4), 1, i * 2**30, 2**33
        )
        for i in range(3)
    )
    return status_report(
        RunStatus(
            found=found,
            stages=Counter({Stage.MOVING: 2, Stage.WAITING: 1}),
            differing=rows,
            throttles=("leader.replication.throttled.rate of broker 1",),
            unknown_throttles=(),
            foreign=0,
            holder=holder,
            done_bytes=3 * 2**30,
            total_bytes=24 * 2**30,
            bytes_per_s=50e6 if holder else None,
        )
    )


def _history() -> Report:
    shared: dict[str, Any] = {"plan_id": "1a45e4fc5f39a0ed", "last_at": "", "goal": Goal.APPLY, "phase": Phase.CLOSED}
    return history_report(
        [
            RunSummary(
                run_id=f"2026010{day}T000000-abcdef",
                started_at=f"2026-01-0{day}T00:00:00+00:00",
                host="rebalancer-7.operations.example.org",
                user="operator",
                why="drain of brokers 3 and 4 before their racks are moved",
                outcome=outcome,
                partitions=1200,
                planned_bytes=3 * 2**40,
                **shared,
            )
            for day, outcome in ((2, None), (1, RunOutcome.COMPLETE))
        ]
    )


def _read() -> Report:
    metrics = ReaderMetrics(
        samples=120_000,
        size_bytes=9 * 2**30,
        elapsed_s=30.0,
        waited_s=3.0,
        blocks=900,
        blocks_from_cache=300,
        network_bytes={1: 5 * 2**30, 2: 2**30},
        network_s={1: 20.0, 2: 9.0},
        racks={1: "eu-central-1a", 2: "eu-central-1b"},
        rack="eu-central-1a",
    )
    manifest: Manifest = SimpleNamespace(identity="4f2c")  # type: ignore[assignment]
    measured = Measurement(
        [ReaderResult(reader=number, metrics=metrics, batch_s=[0.01] * 99 + [1.25]) for number in range(2)]
    )
    return measurement_report(_TOPIC, manifest, measured)


def _watch() -> Report:
    nothing: frozenset[Any] = frozenset()
    findings = StateFindings(
        offline_dirs=frozenset({(2, "/var/lib/kafka/volumes/d0/kafka-logs")}),
        full_dirs=frozenset({(1, "/var/lib/kafka/volumes/d1/kafka-logs")}),
        filling_dirs=nothing,
        without_dirs=nothing,
        lost_on_dead=frozenset({3}),
        lost_on_dirs=nothing,
        offline_partitions=2,
        out_of_sync=7,
        imbalanced=("disk", "leaders"),
        empty=nothing,
        led=nothing,
        without_replicas=nothing,
    )
    return summary_report(WatchSummary({1: BrokerHealth.WELL, 2: BrokerHealth.SLOW, 3: BrokerHealth.DEAD}, findings))


def _profiles() -> Report:
    return check_report(
        [
            ProfileCheck(
                name="prod-eu-central",
                cluster="broker1.eu-central.kafka.example.org:9092,broker2.eu-central.kafka.example.org:9092",
                cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
                brokers=12,
                elapsed_s=0.31,
            ),
            ProfileCheck(name="staging", cluster="kafka:9092", problem="cannot reach kafka:9092: connection refused"),
        ],
        "prod-eu-central",
    )


def _doctor() -> Report:
    return doctor_report(
        [
            CheckResult(
                area="host", what="state folder", status=CheckStatus.OK, detail="/var/lib/kafkabal: 76.2 GiB free"
            ),
            CheckResult(
                area="network",
                what="broker 12 at broker12.eu-central.kafka.example.org:9092",
                status=CheckStatus.FAILED,
                detail="cannot reach broker12.eu-central.kafka.example.org:9092: timed out after 10 s",
                hint="this host must reach the address that the broker advertises (advertised.listeners)",
            ),
            CheckResult(
                area="cluster", what="clock", status=CheckStatus.SKIPPED, detail="the cluster does not report its time"
            ),
            CheckResult(
                area="permissions",
                what="set throttles",
                status=CheckStatus.FAILED,
                detail=f"missing: AlterConfigs on Cluster, AlterConfigs on Topic {_TOPIC}",
                hint="grant them: 'kafkabal help permissions' has the commands",
            ),
        ]
    )


def _diff() -> Report:
    first, second = (inspect_cluster(read_snapshot(_SNAPSHOTS / f"{name}.jsonl")) for name in ("lopsided", "broken"))
    return snapshot_diff_report(first, second, 5)


EXAMPLES: dict[str, Report] = {
    "sandbox-status": _sandbox(),
    "rebalance-status-live": _run_status(Phase.MOVING, "kafkabal on rebalancer-7 (process 4711)"),
    "rebalance-status-crashed": _run_status(Phase.MOVING, None),
    "rebalance-history": _history(),
    "read": _read(),
    "watch": _watch(),
    "profiles-check": _profiles(),
    "doctor": _doctor(),
    "inspect-diff": _diff(),
}
