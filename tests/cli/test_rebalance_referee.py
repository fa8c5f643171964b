"""Plans of generated clusters under the referee that lies beside a checkout, where there is one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(os.environ.get("KAFKABAL_BENCH_DIR", Path(__file__).parents[3] / "shared" / "bench"))
CLUSTERS = [
    *(["random", "--brokers", "12", "--partitions", "600", "--no-rack", "--seed", str(s)] for s in range(1, 6)),
    *(["heavy", "--topics", "60", "--seed", str(s)] for s in range(1, 6)),
]

pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason="no referee beside this checkout")


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the generator or the referee."""
    return subprocess.run([sys.executable, str(BENCH / script), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda words: f"{words[0]}-{words[-1]}")
def test_the_referee_finds_no_fault_and_a_second_plan_is_empty(
    cluster: list[str], tmp_path: Path, run_cli: Callable[..., Any]
) -> None:
    """Planned, judged, applied to the snapshot, and planned again: nothing is left to do."""
    snapshot, plan = str(tmp_path / "s.jsonl"), str(tmp_path / "p.json")
    assert run("make_snapshot.py", cluster[0], snapshot, *cluster[1:]).returncode == 0
    assert run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", plan).code == 0
    verdict = run("check_plan.py", snapshot, plan, "--scores", "disk,replicas,leaders,topic-spread")
    assert verdict.returncode == 0, verdict.stdout
    assert run_cli("rebalance", "apply", plan, "--snapshot", snapshot, "--save", snapshot, "--yes").code == 0
    again = run_cli("rebalance", "plan", "--snapshot", snapshot)
    assert (again.code, "nothing to do" in again.out) == (0, True)
