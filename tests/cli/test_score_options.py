"""Score options in a profile apply to every command that uses scores."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkabal.cli
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import ExitCode
from kafkabal.simulator.workload_cluster import WorkloadCluster, build_workload_cluster


@pytest.fixture
def profile(tmp_path: Path) -> dict[str, str]:
    """A profile with the network rate of one broker only, which no rate score can use."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "profiles.yaml").write_text("profiles:\n  p:\n    nic_rate: {1: 1GB/s}\n")
    return {"KAFKABAL_PROFILE": "p"}


def test_route_simulate_takes_the_nic_rate_of_the_profile(
    run_cli: Callable[..., Any], profile: dict[str, str], tmp_path: Path
) -> None:
    """A rate configured for some brokers only is refused, as ``inspect`` does, and not ignored."""
    path = tmp_path / "c.jsonl"
    write_snapshot(build_workload_cluster(WorkloadCluster(brokers=3, seed=1)), path)
    path.write_text(path.read_text().replace('"partition":', '"in_bytes_per_s":1000,"partition":'))
    words = ("route-simulate", "--snapshot", str(path), "--policy", "score", "--score", "leader-bytes-in")

    found = run_cli(*words, "--records", "500", "--seeds", "1", environ=profile)

    assert found.code == ExitCode.USAGE
    assert "NIC rate configured for some brokers only; missing: 2, 3" in found.err


def test_commands_load_scores_in_one_place() -> None:
    """No command loads scores itself, where it could forget the profile's options."""
    folder = Path(next(iter(kafkabal.cli.__path__)))
    callers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id in {"load_scores", "select_scores", "default_scores"}
    }

    assert callers == {"framework/selected_scores.py"}


@pytest.mark.parametrize("words", [("inspect", "--snapshot", "{path}"), ("inspect", "diff", "{path}", "{path}")])
def test_a_weight_is_refused_where_scores_are_shown_each_on_its_own(
    run_cli: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A weight on the command line is an error of one line with a hint; a profile's weight, for other commands, is
    not."""
    path = tmp_path / "c.jsonl"
    write_snapshot(build_workload_cluster(WorkloadCluster(brokers=3, seed=1)), path)
    words = tuple(word.format(path=path) for word in words)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "profiles.yaml").write_text("profiles:\n  p:\n    scores: {disk: 3, leaders: 1}\n")

    typed = run_cli(*words, "--score", "disk=3")
    in_profile = run_cli(*words, environ={"KAFKABAL_PROFILE": "p"})

    assert (typed.code, typed.out) == (ExitCode.USAGE, "")
    assert typed.err.splitlines() == [
        "kafkabal: error: weights have no effect here: 'disk=3'",
        "kafkabal: hint: write disk; weights count in 'rebalance', 'create', 'produce' and 'route'",
    ]
    assert in_profile.code == ExitCode.DONE
