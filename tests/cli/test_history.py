"""``rebalance history``: reports of earlier runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster, MemoryRecordStore
from kafkabal.errors import UnreachableError
from kafkabal.executor import Goal, Phase, RunOutcome, RunSummary
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.reporting.runs.history_report import history_report
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_MB = 10**6


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four brokers, of which the first two have all data."""
    rows = [partition(i, [1, 2], 10 * _MB) for i in range(12)]
    topics = [TopicRow(topic="img", partitions=rows)]
    return simulate(InMemoryCluster.of(cluster(brokers(4), topics)), run_cli, monkeypatch)


def _runs(simulation: Simulation, *words: str) -> list[dict[str, Any]]:
    done = simulation.run("rebalance", "history", "-o", "json", *words)
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["runs"]
    return found


def test_every_run_is_reported_on_any_host(simulation: Simulation, tmp_path: Path) -> None:
    """User, time, reason, bytes and outcome, latest first; a host without journals reads them from the cluster."""
    assert _runs(simulation) == []
    clock = simulation.memory.kafka.clock
    assert simulation.run("rebalance", "--yes").code == 0
    clock.sleep(3 * 86400)
    assert simulation.run("rebalance", "--yes", "--drain", "3").code == 0
    clock.sleep(86400)

    here = _runs(simulation)
    assert [run["reason"] for run in here] == ["--drain 3", "balance"]
    assert [run["outcome"] for run in here] == ["complete", "complete"]
    assert all(run["planned_bytes"] > 0 and run["partitions"] > 0 and run["host"] for run in here)
    assert [run["reason"] for run in _runs(simulation, "--last", "2d")] == ["--drain 3"]
    assert simulation.run("rebalance", "history", "--last", "2d").out.startswith("1 run began in the last 2 d\n")
    assert simulation.run("rebalance", "history", "--last", "1h").out == "no runs began in the last 1 h\n"
    # older than any date
    assert len(_runs(simulation, "--last", "1600w")) == len(here)

    shutil.rmtree(tmp_path / "state")
    there = _runs(simulation)
    assert [(r["run_id"], r["reason"], r["outcome"]) for r in there] == [
        (r["run_id"], r["reason"], r["outcome"]) for r in here
    ]
    assert "--drain 3" in simulation.run("rebalance", "history").out


def test_the_id_of_a_run_is_never_shortened(simulation: Simulation) -> None:
    """'rollback' and 'resume' need the id, so on a narrow terminal other columns are hidden first."""
    simulation.run("rebalance", "--yes")
    (run,) = _runs(simulation)
    for columns in (40, 60, 80, 100):
        shown = simulation.run("rebalance", "history", environ={"COLUMNS": str(columns)}).out
        assert run["run_id"] in shown, columns
    assert "Z  " in shown.splitlines()[-1], "the moment in UTC, without fractions"


def test_a_run_that_was_rolled_back_is_not_called_complete(simulation: Simulation) -> None:
    """People read what became of the run in one column, which is never hidden; programs get goal and outcome."""
    simulation.run("rebalance", "--yes")
    (run,) = _runs(simulation)
    assert simulation.run("rebalance", "rollback", run["run_id"], "--yes").code == 0
    shown = simulation.run("rebalance", "history", environ={"COLUMNS": "60"}).out
    assert "rolled back" in shown
    assert "complete" not in shown
    (run,) = _runs(simulation)
    assert (run["goal"], run["outcome"]) == ("roll-back", "complete")


@pytest.mark.parametrize(
    ("goal", "outcome", "shown"),
    [
        (Goal.APPLY, RunOutcome.COMPLETE, "completed"),
        (Goal.APPLY, None, "open"),
        (Goal.ROLL_BACK, RunOutcome.PARTIAL, "roll-back: partial"),
        (Goal.CANCEL, RunOutcome.COMPLETE, "cancelled"),
        (Goal.CANCEL, None, "cancel: open"),
    ],
)
def test_outcomes(goal: Goal, outcome: RunOutcome | None, shown: str) -> None:
    """The outcome names the goal unless it is to apply the plan."""
    run = RunSummary(
        run_id="r",
        plan_id="p",
        started_at="2026-01-01T00:00:00Z",
        last_at="2026-01-01T00:00:00Z",
        host="h",
        user="",
        why="",
        goal=goal,
        phase=Phase.CLOSED,
        outcome=outcome,
        partitions=1,
        planned_bytes=1,
    )
    (table,) = history_report([run]).tables
    assert [c.values for c in table.columns if c.title == "outcome"] == [[shown]]


def test_a_list_without_the_runs_of_other_hosts_says_so(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the cluster's record cannot be read, only the journals of this host are listed, with a warning."""
    assert simulation.run("rebalance", "--yes").code == 0

    def unreadable(*_: Any, **__: Any) -> Any:
        raise UnreachableError("cannot read topic __kafkabal: it has no leader")

    monkeypatch.setattr(MemoryRecordStore, "get_all", unreadable)
    shown = simulation.run("rebalance", "history")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "1 run")
    assert shown.err == (
        "kafkabal: warning: runs of other hosts are unknown: cannot read topic __kafkabal: it has no leader\n"
    )
