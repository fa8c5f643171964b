"""The processes of these tests: they work on a run until it ends, or they are killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.simulated.fault_injection import Call, FaultyCluster
from kafkabal.config.connection_settings import ConnectionSettings, ZookeeperAddress
from kafkabal.errors import KafkabalError
from kafkabal.executor.execute_run import apply, cancel, repair_run, resume, roll_back
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import NullListener, RunListener, report_in_background
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.state import run_request
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.plan.plan_file import read_plan
from kafkabal.reporting.runs.events_as_json_lines import RunEventLines
from kafkabal.reporting.runs.result_report import summary
from tests.live.executor.own_clock import OwnClock

run_request.POLL_EVERY_S = 1.0  # tests wait for what they request of a run; commands poll at their own interval
_LONGEST_ANSWER_S = 10.0
"""So long a broker that is paused holds up a look."""


class Order(msgspec.Struct, kw_only=True):
    """The task of such a process."""

    servers: tuple[str, ...]
    controllers: tuple[str, ...] = ()
    zookeeper: str | None = None
    state_dir: str
    host: str
    action: Literal["apply", "resume", "roll back", "cancel", "repair"]
    plan: str
    options: RunOptions
    clock: str
    """File with the seconds by which its clock is wrong."""
    is_reporting: bool = False
    """It writes every event, as a command with ``--output jsonl`` does."""
    stops_before: tuple[str, int] | None = None
    """Call before which it suspends itself, so that the request is sent once it is continued: a method, and which of
    its calls."""


def follow(order: Order) -> int:
    """Execute the task; returns the exit code and prints the last line of a command."""
    settings = ConnectionSettings(
        bootstrap_servers=order.servers,
        bootstrap_controllers=order.controllers,
        request_timeout_s=_LONGEST_ANSWER_S,
    )
    address = ZookeeperAddress(servers=order.zookeeper, connection=settings) if order.zookeeper else settings
    try:
        clock = OwnClock(Path(order.clock))
        with connect(address, clock) as cluster, _reporter(order) as listener:
            environment = RunEnvironment(
                cluster=_suspending(cluster, order.stops_before),
                state_dir=Path(order.state_dir),
                host=order.host,
                listener=listener,
                clock=clock,
            )
            with stop_on_signals(environment.stop, lambda _: None):
                result = _act(environment, order)
    except KafkabalError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    sys.stderr.writelines(f"{line}\n" for line in (summary(result), *result.problems.items()))
    return 0 if result.outcome is RunOutcome.COMPLETE and not result.pending else 1


def _suspending(cluster: Cluster, before: tuple[str, int] | None) -> Cluster:
    if before is None:
        return cluster

    def suspend(call: Call) -> None:
        if (call.method, call.method_number) == before:
            os.kill(os.getpid(), signal.SIGSTOP)

    faulty = FaultyCluster(cluster)
    faulty.before.append(suspend)
    return faulty


@contextmanager
def _reporter(order: Order) -> Iterator[RunListener]:
    if not order.is_reporting:
        yield NullListener()
        return
    background = report_in_background(RunEventLines(sys.stdout, "rebalance", time.time))
    yield background
    background.close()


def _act(environment: RunEnvironment, order: Order) -> RunResult:
    match order.action:
        case "apply":
            result = apply(environment, read_plan(order.plan), order.options)
            assert result is not None
            return result
        case "resume":
            return resume(environment, options=order.options)
        case "roll back":
            return roll_back(environment, options=order.options)
        case "cancel":
            return cancel(environment)
        case "repair":
            return repair_run(environment)


if __name__ == "__main__":
    sys.exit(follow(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Order)))
