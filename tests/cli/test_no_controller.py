"""Commands on a cluster whose controller does not respond: reports are shown, changes are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import UnreachableError
from tests.cli.simulated import Simulation, half_empty_cluster, simulate

_WARNING = "kafkabal: warning: reassignments in flight are unknown: no controller responded within 3 s"
_LIMIT = ("--broker-timeout", "3s")


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four brokers that respond, two of them empty, and no controller."""
    memory = half_empty_cluster()
    memory.kafka.parts.controller_responds = False
    return simulate(memory, run_cli, monkeypatch)


def _seconds(simulation: Simulation) -> float:
    return simulation.memory.kafka.clock.monotonic()


def test_a_report_is_shown_with_one_warning(simulation: Simulation) -> None:
    """Whatever brokers report is there after one timeout; how much is being reassigned is unknown, not zero."""
    begin_s = _seconds(simulation)
    shown = simulation.run("inspect", *_LIMIT, "-o", "json")
    assert (shown.code, _seconds(simulation) - begin_s) == (0, 3.0)
    assert shown.err.splitlines() == [_WARNING]
    document = json.loads(shown.out)
    assert (document["n_partitions"], document["n_moving_partitions"]) == (4, None)


def test_metrics_leave_out_what_is_unknown(simulation: Simulation) -> None:
    """Monitoring gets no number of reassignments instead of a zero."""
    shown = simulation.run("inspect", *_LIMIT, "-o", "prometheus")
    samples = [line.partition("{")[0] for line in shown.out.splitlines() if not line.startswith("#")]
    assert "kafkabal_partitions" in samples
    assert "kafkabal_moving_partitions" not in samples


def test_rates_are_sampled_with_one_warning(simulation: Simulation) -> None:
    """The second sample does not wait for the controller again."""
    begin_s = _seconds(simulation)
    shown = simulation.run("inspect", *_LIMIT, "--sample", "10s", "-q")
    assert (shown.code, _seconds(simulation) - begin_s) == (0, 13.0)
    assert simulation.run("inspect", *_LIMIT, "--sample", "10s").err.splitlines() == [
        "sampling rates for 10 s",
        _WARNING,
    ]


@pytest.mark.parametrize("words", [("advise",), ("rebalance", "plan"), ("rebalance", "--drain", "1", "--check")])
def test_other_reports_work_too(simulation: Simulation, words: tuple[str, ...]) -> None:
    """They show what follows from the placement, and the same warning."""
    shown = simulation.run(*words, *_LIMIT)
    assert shown.code == 0
    assert shown.err.splitlines()[0] == _WARNING


def test_one_check_of_a_watch_finds_it(simulation: Simulation) -> None:
    """It is a problem like a broker that does not respond, and is named before the others."""
    shown = simulation.run("watch", "--once", *_LIMIT, "-o", "json")
    assert (shown.code, shown.err) == (3, "")
    assert json.loads(shown.out)["problems"][0] == "no controller responded within 3 s"


def test_one_check_of_a_watch_takes_no_lock(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes nothing, and the broker that keeps the lock may be the one that does not respond."""

    def out_of_reach(*_: object) -> None:
        raise UnreachableError("broker 1 did not respond")

    monkeypatch.setattr(type(simulation.memory), "lock", out_of_reach)
    shown = simulation.run("watch", "--once", *_LIMIT)
    assert (shown.code, shown.err) == (3, "")


def test_a_dry_run_plans_with_one_warning(simulation: Simulation) -> None:
    """The controller is waited for once, although the cluster is read several times."""
    begin_s = _seconds(simulation)
    shown = simulation.run("rebalance", "--dry-run", "--throttle", "10MB/s", *_LIMIT)
    assert (shown.code, _seconds(simulation) - begin_s) == (0, 3.0)
    assert shown.err.count("reassignments in flight are unknown") == 1
    assert "AlterPartitionReassignments" in shown.out


def test_a_dry_run_of_a_plan_file_warns(simulation: Simulation, tmp_path: Path) -> None:
    """The preflight check of other reassignments could not be made; the controller is waited for once."""
    plan = tmp_path / "plan.json"
    assert simulation.run("rebalance", "plan", *_LIMIT, "--out", str(plan)).code == 0
    begin_s = _seconds(simulation)
    shown = simulation.run("rebalance", "apply", str(plan), "--dry-run", "--throttle", "10MB/s", *_LIMIT)
    assert (shown.code, _seconds(simulation) - begin_s) == (0, 3.0)
    assert shown.err.splitlines()[0] == _WARNING


@pytest.mark.parametrize(
    "words",
    [("rebalance", "--yes"), ("rebalance", "--drain", "1", "--yes"), ("create", "new", "-p", "3", "-r", "2")],
)
def test_a_change_is_refused(simulation: Simulation, words: tuple[str, ...]) -> None:
    """It needs the controller: exit 1 after one timeout, and nothing is changed."""
    before, begin_s = simulation.replicas(), _seconds(simulation)
    refused = simulation.run(*words, *_LIMIT)
    assert (refused.code, _seconds(simulation) - begin_s) == (1, 3.0)
    assert refused.err.splitlines()[-1] == "kafkabal: error: no controller responded within 3 s"
    assert simulation.replicas() == before
