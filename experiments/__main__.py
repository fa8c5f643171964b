"""Run the experiments on a sandbox and write a report: ``python -m experiments [1 3] --output-folder report``."""

from __future__ import annotations

import argparse
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import existing_skew, space_usage, write_latency
from experiments.bench import Bench
from experiments.proxy import Proxies
from experiments.report import write_report
from kafkabal.sandbox import Listener, SandboxSpec, up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from experiments.report import Finding
    from kafkabal.sandbox import Sandbox

EXPERIMENTS: dict[str, Callable[[Bench, Callable[[str], None]], Finding]] = {
    "1": space_usage.run,
    "2a": write_latency.run_healthy,
    "2b": write_latency.run_slow_broker,
    "3": existing_skew.run,
}
_SHAPED = "SHAPED"
_BROKER_BYTES_PER_S = 8e6
_SLOWER = 8


def main() -> None:
    """Run what was asked for, all without arguments."""
    options = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    options.add_argument("experiments", nargs="*", help=f"any of {', '.join(EXPERIMENTS)}; all by default")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--output-folder", type=Path, default=Path("experiments-report"))
    given = options.parse_args()
    findings = []
    ports = {broker: _free_port() for broker in range(1, given.brokers + 1)}
    spec = SandboxSpec(
        brokers=given.brokers,
        log_dirs=1,
        listeners=(Listener(name=_SHAPED, protocol="PLAINTEXT", advertised_ports=ports),),
        properties={"log.segment.bytes": str(256 * 2**20)},
    )
    with tempfile.TemporaryDirectory() as home, up(spec, "experiments", home=Path(home)) as sandbox:
        for name in given.experiments or EXPERIMENTS:
            findings.append(_run(name, sandbox, ports))
            write_report(findings, given.output_folder)
    for finding in findings:
        for what, reached in finding.verdicts:
            print(f"{'reached    ' if reached else 'NOT REACHED'}  {finding.key}: {what}")


def _run(name: str, sandbox: Sandbox, ports: Mapping[int, int]) -> Finding:
    """One experiment; that of the slow broker behind proxies, the others without."""
    slow = name == "2b"
    routes = {
        port: (
            sandbox.record.node(broker).ports[_SHAPED],
            _BROKER_BYTES_PER_S / (_SLOWER if broker == max(ports) else 1),
        )
        for broker, port in ports.items()
    }
    with Proxies(routes):
        bench = Bench(sandbox, _SHAPED if slow else None)
        try:
            return EXPERIMENTS[name](bench, lambda text: print(text, flush=True))
        finally:
            bench.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
