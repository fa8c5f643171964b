"""Run the experiments on a sandbox and write a report: ``python -m experiments [1 3] --output-folder report``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import existing_skew, space_usage
from experiments.bench import Bench
from experiments.report import write_report
from kafkabal.sandbox import SandboxSpec, up

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.report import Finding

EXPERIMENTS: dict[str, Callable[[Bench, Callable[[str], None]], Finding]] = {
    "1": space_usage.run,
    "3": existing_skew.run,
}


def main() -> None:
    """Run what was asked for, all without arguments."""
    options = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    options.add_argument("experiments", nargs="*", help="numbers; all by default")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--output-folder", type=Path, default=Path("experiments-report"))
    given = options.parse_args()
    findings = []
    with tempfile.TemporaryDirectory() as home:
        spec = SandboxSpec(brokers=given.brokers, log_dirs=1, properties={"log.segment.bytes": str(256 * 2**20)})
        with up(spec, "experiments", home=Path(home)) as sandbox:
            for name in given.experiments or EXPERIMENTS:
                bench = Bench(sandbox)
                findings.append(EXPERIMENTS[name](bench, lambda text: print(text, flush=True)))
                bench.close()
                write_report(findings, given.output_folder)
    for finding in findings:
        for what, reached in finding.verdicts:
            print(f"{'reached    ' if reached else 'NOT REACHED'}  {finding.key}: {what}")


if __name__ == "__main__":
    main()
