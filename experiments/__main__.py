"""Run the experiments on a sandbox and write a report: ``python -m experiments [1 3] --output-folder report``."""

from __future__ import annotations

import argparse
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from experiments import (
    existing_skew,
    healthy_latency,
    moving_cost,
    refresh_ablation,
    simulator_accuracy,
    slow_broker_latency,
    space_usage,
    storage_comparison,
    training_through_reader,
    training_time,
)
from experiments.experiment_sandbox import FULL, SHORT, ExperimentSandbox, Extent, sandbox_spec
from experiments.rate_limited_proxies import RateLimitedProxies
from experiments.report import Finding, write_into_page, write_report
from kafkabal.sandbox import KafkaListener, Sandbox, SandboxSpec, up

SHAPED = "SHAPED"
"""Listener that clients reach through the proxies."""
BROKER_BYTES_PER_S = 8e6
SLOWER = 8

DIRECT: Mapping[str, Callable[[ExperimentSandbox, Callable[[str], None]], Finding]] = {
    "1": space_usage.run,
    "1-cases": space_usage.run_cases,
    "2a": healthy_latency.run,
    "2a-telemetry": healthy_latency.run_telemetry,
    "2c": refresh_ablation.run,
    "2b-rf3": slow_broker_latency.run_slow_replica,
    "3": existing_skew.run,
    "3-moving": moving_cost.run,
    "4": training_time.run,
    "4-reader": training_through_reader.run,
    "4-storage": storage_comparison.run,
    "prediction": simulator_accuracy.run_bytes,
}
BEHIND_PROXIES: Mapping[str, Callable[[ExperimentSandbox, Callable[[str], None]], Finding]] = {
    "2b": slow_broker_latency.run_slow_broker,
    "prediction-latency": lambda bench, say: simulator_accuracy.run_order(
        bench, say, rates_bytes_per_s(len(bench.brokers))
    ),
}
_ORDER = (
    "prediction",
    "prediction-latency",
    "1",
    "1-cases",
    "2a",
    "2a-telemetry",
    "2b",
    "2b-rf3",
    "2c",
    "3",
    "3-moving",
    "4",
    "4-reader",
    "4-storage",
)


def main() -> None:
    """Run the requested experiments, or all without arguments."""
    options = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    options.add_argument("experiments", nargs="*", help=f"any of {', '.join(_ORDER)}; all by default")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--short", action="store_true", help="a few records and policies, to see that all works")
    options.add_argument("--output-folder", type=Path, default=Path("experiments-report"))
    options.add_argument("--page", type=Path, help="a page whose sections of these experiments are written again")
    given = options.parse_args()
    findings = []
    ports = free_ports(given.brokers)
    with tempfile.TemporaryDirectory() as home, up(spec(ports), "experiments", home=Path(home)) as sandbox:
        for name in given.experiments or _ORDER:
            findings.append(run_one(name, sandbox, ports, SHORT if given.short else FULL))
            write_report(findings, given.output_folder)
    if given.page is not None:
        write_into_page(findings, given.page)
    for finding in findings:
        for what, reached in finding.verdicts:
            print(f"{'reached    ' if reached else 'NOT REACHED'}  {finding.key}: {what}")


def spec(ports: Mapping[int, int]) -> SandboxSpec:
    """Brokers that clients reach directly or through proxies on the given ports."""
    shaped = KafkaListener(name=SHAPED, protocol="PLAINTEXT", advertised_ports=ports)
    return sandbox_spec(len(ports), listeners=(shaped,))


def rates_bytes_per_s(brokers: int) -> list[float]:
    """Rate of each broker behind its proxy; the last one gets an eighth of the others'."""
    return [BROKER_BYTES_PER_S] * (brokers - 1) + [BROKER_BYTES_PER_S / SLOWER]


def run_one(name: str, sandbox: Sandbox, ports: Mapping[int, int], extent: Extent = FULL) -> Finding:
    """Run one experiment, behind proxies if it needs them."""
    rates = rates_bytes_per_s(len(ports))
    routes = {
        port: (sandbox.record.node(broker).ports[SHAPED], rate)
        for (broker, port), rate in zip(sorted(ports.items()), rates, strict=True)
    }
    listener = SHAPED if name in BEHIND_PROXIES else None
    with RateLimitedProxies(routes), closing(ExperimentSandbox(sandbox, listener, extent)) as bench:
        return {**DIRECT, **BEHIND_PROXIES}[name](bench, lambda text: print(text, flush=True))


def free_ports(brokers: int) -> dict[int, int]:
    """A free port for each broker, by its id."""
    return {broker: _free_port() for broker in range(1, brokers + 1)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
