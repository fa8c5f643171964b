"""The experiments in their short form: what routing does to bytes on real brokers, by one command.

The quick one runs with the tests, like the prediction of ``test_route_simulate.py``; all run in a sweep: ``pytest -n0
-m sweep tests/live/test_routing_experiments.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.space_usage import CASES

ROOT = Path(__file__).parents[2]
QUICK = ("1",)
LONG = ("prediction", "2a", "2b", "2c", "3", "4")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Raw numbers of the quick experiment."""
    return _run(QUICK, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def found_at_length(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Raw numbers of the experiments that measure times, or write much."""
    return _run(LONG, tmp_path_factory.mktemp("report"))


def _run(names: Sequence[str], folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "experiments", *names, "--short", "--output-folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.md").read_text().count("## ") == len(names)
    data: dict[str, Any] = json.loads((folder / "data.json").read_text())
    return data


@pytest.mark.sweep
def test_bytes_are_as_predicted(found_at_length: dict[str, Any]) -> None:
    """The log dirs match the picks within 1%, and the simulator's blind prediction within 3%."""
    assert set(found_at_length["prediction"]) == {"round-robin", "score"}
    for policy, (same, blind, _) in found_at_length["prediction"].items():
        assert same < 0.01, policy
        assert blind < 0.03, policy


def test_uneven_partitions_are_filled_evenly(found: dict[str, Any]) -> None:
    """With two partitions more than brokers score stays within 1.02 of the mean, equal partitions do not."""
    assert worst(found["space-usage"]["score"]) <= 1.02
    assert worst(found["space-usage"]["round-robin"]) >= 1.3


@pytest.mark.sweep
def test_an_imbalance_is_removed_by_the_time_the_data_have_doubled(found_at_length: dict[str, Any]) -> None:
    """In each of three ways, score gets from a third above the mean to within 1.05 of it; equal parts do not."""
    assert len(found_at_length["existing-skew"]) == 3
    for name, policies in found_at_length["existing-skew"].items():
        first, *_, last = policies["score"]
        assert worst([first]) > 1.3, name
        assert worst([last]) <= 1.05, name
        for even_parts in ("round-robin", "librdkafka default"):
            assert worst([policies[even_parts][-1]]) > 1.1, (name, even_parts)


@pytest.mark.sweep
def test_every_case_of_space_usage_is_measured(tmp_path: Path) -> None:
    """In no case is score farther from the least possible imbalance than round-robin over partitions."""
    cases = _run(("1-cases",), tmp_path)["space-cases"]
    assert len(cases) == len(CASES)
    for name, policies in cases.items():
        over = {policy: max(found / least for _, found, least in runs) for policy, runs in policies.items()}
        assert over["score"] <= over["round-robin"], name


@pytest.mark.sweep
def test_moving_while_producing(tmp_path: Path) -> None:
    """Each imbalance is smaller after a rebalance that copied bytes, and its effect on latencies is measured."""
    moves = _run(("3-moving",), tmp_path)["moving-cost"]
    assert len(moves) == 3
    for move in (move for of in moves.values() for move in of.values()):
        assert 1 < move["after"] < move["before"]
        assert move["copied_bytes"] > 0
        assert all(latency > 0 for latency in [*move["alone_s"], *move["beside_s"]])


@pytest.mark.sweep
def test_client_metrics_are_collected_meanwhile(tmp_path: Path) -> None:
    """Clients with and without metrics are measured side by side, with records of every size."""
    found = _run(("2a-telemetry",), tmp_path)["write-latency-telemetry"]
    assert found.keys() == {"100", "1000", "100000"}
    for loads in found.values():
        ((_, ways),) = loads.values()
        assert len(ways) == 4


@pytest.mark.sweep
def test_readers_of_a_balanced_topic_need_not_wait(found_at_length: dict[str, Any]) -> None:
    """A topic placed by score is balanced although its leaders are not; one with everything on a broker is not."""
    assert found_at_length["training-time"]["score"][0] <= 1.1
    assert found_at_length["training-time"]["all on one broker"][0] == pytest.approx(4, rel=0.01)


@pytest.mark.sweep
def test_latency_is_measured_of_all_records(found_at_length: dict[str, Any]) -> None:
    """The runs with healthy brokers and with a slow one end with every record acknowledged."""
    assert found_at_length["write-latency"].keys() == {"100", "1000", "100000"}
    for loads in found_at_length["write-latency"].values():
        assert loads.keys() == {"0.3", "0.6", "0.9"}
        for _, ways in loads.values():
            assert ways.keys() == {"librdkafka default", "score"}
    assert found_at_length["slow-broker"].keys() == {"librdkafka default", "round-robin", "score"}


def worst(runs: list[list[int]]) -> float:
    """Largest broker over the mean, in the worst run."""
    return max(max(run) * len(run) / sum(run) for run in runs)
