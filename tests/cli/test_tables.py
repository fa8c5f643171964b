"""Every table as people see it at 40, 60, 80, 100 and 200 columns, as recorded in ``golden/tables``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.executor.run_result import RunResult
from kafkabal.executor.state.run_states import Goal, RunOutcome
from kafkabal.plan.plan_file import read_plan
from kafkabal.planner.tolerance_frontier import FrontierPoint
from kafkabal.reporting.client_telemetry_reports import errors_report, latency_report, subscriptions_report
from kafkabal.reporting.frontier_report import frontier_report
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.plan_report import plan_report
from kafkabal.reporting.report import Report
from kafkabal.reporting.runs.result_report import result_report
from kafkabal.telemetry.produce_errors import TopicErrors
from kafkabal.telemetry.subscriptions import Subscription
from tests.cli.table_examples import EXAMPLES

HERE = Path(__file__).parent
WIDTHS = (40, 60, 80, 100, 200)
LONG_PATH = "/var/lib/kafka/volumes/{}/kafka-logs"

COMMANDS = {
    "inspect-broker": ["inspect"],
    "inspect-log-dir": ["inspect", "--by", "log-dir"],
    "inspect-rack": ["inspect", "--by", "rack"],
    "inspect-topic": ["inspect", "--by", "topic"],
    "inspect-partition": ["inspect", "--by", "partition"],
    "create": ["create", "new", "-p", "3", "-r", "2", "--dry-run"],
    "scores": ["scores"],
}
OTHERS = {
    "policies": ["policies"],
    "route-simulate": [
        *("route-simulate", "--topic", "images", "--policy", "score", "--policy", "round-robin", "--seeds", "2"),
        *("--records", "1000", "--snapshot", str(HERE / "snapshots" / "lopsided.jsonl")),
    ],
}
REPORTS = {
    **EXAMPLES,
    # recorded, so that a better planner changes no table
    "plan": plan_report(read_plan(HERE / "snapshots" / "lopsided-plan.json"), "rebalance plan"),
    "frontier": frontier_report(
        [
            FrontierPoint(
                tolerance=tolerance,
                plan_tolerance=tolerance,
                moved_bytes=moved << 30,
                bound_bytes=moved << 29,
                moves=moved // 9,
                disk_skew=skew,
                outside=0,
            )
            for tolerance, moved, skew in ((0.02, 340, 0.0192), (0.09, 269, 0.0817))
        ]
    ),
    "subscriptions": subscriptions_report(
        [Subscription(name="trainers", metrics=("org.apache.kafka.producer.",), match={"client_id": "trainer-.*"})]
    ),
    "errors": errors_report(
        [TopicErrors("images", 1200.0, 2), TopicErrors("labels", 0.0, 0)], payloads=9, cluster="prod"
    ),
    "latency": latency_report({1: 0.25, 2: 0.004}, [1, 2, 3], payloads=9, cluster="prod"),
    "result": result_report(
        RunResult(
            run_id="20260101-000000-abcdef",
            goal=Goal.APPLY,
            outcome=RunOutcome.PARTIAL,
            stop_reason=None,
            done=1,
            deleted=0,
            total=2,
            copied_bytes=3 * 2**30,
            elapsed_s=75.0,
            problems={"a-topic-with-a-rather-long-name-17": "broker 7 has no room left in /var/lib/kafka/volumes/d0"},
            skipped=0,
            pending=[],
            journal=Path("/j"),
        ),
        "rebalance",
    ),
}


def check_golden(name: str, text: str) -> None:
    """Compare with the recorded text; UPDATE_GOLDENS=1 records it instead."""
    path = HERE / "golden" / "tables" / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def at_all_widths(shown: Callable[[int], str]) -> str:
    """The texts concatenated, after checking that each fits, except for commands to paste."""
    parts = []
    for width in WIDTHS:
        text = shown(width)
        assert max(len(line) for line in text.splitlines() if "kafkabal " not in line) <= width
        parts.append(f"{'-' * 10} {width} columns\n{text}")
    return "".join(parts)


@pytest.fixture
def broken_with_long_names(tmp_path: Path) -> str:
    """The broken cluster with paths that differ in the middle, and a topic name of 60 characters."""
    lines = [json.loads(line) for line in (HERE / "snapshots" / "broken.jsonl").read_text().splitlines()]
    for line in lines:
        for log_dir in line.get("log_dirs") or ():
            log_dir["path"] = LONG_PATH.format(Path(log_dir["path"]).name)
        if line.get("topic") == "images":
            line["topic"] = "training.images.resized-1024x1024.webp.shuffled.v3.production"
    path = tmp_path / "broken.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_of_a_broken_cluster(run_cli: Callable[..., Any], broken_with_long_names: str, name: str) -> None:
    """Long paths and names are elided, hidden columns are named, numbers are whole, at every width."""

    def shown(width: int) -> str:
        snapshot = [] if name == "create" else ["--snapshot", broken_with_long_names]
        snapshot = ["--snapshot", str(HERE / "snapshots" / "lopsided.jsonl")] if name == "create" else snapshot
        outcome = run_cli(*COMMANDS[name], *snapshot, environ={"COLUMNS": str(width)})
        assert outcome.code == 0, outcome.err
        text: str = outcome.out
        # the suggested command contains the folder of the test
        return "".join(f"{line}\n" for line in text.partition("\nnext: ")[0].splitlines())

    check_golden(name, at_all_widths(shown))


def test_commands_to_paste_are_in_one_line(run_cli: Callable[..., Any], broken_with_long_names: str) -> None:
    """At any width the suggested command is complete, on a line that the terminal wraps and copies as one."""
    outcome = run_cli("inspect", "--snapshot", broken_with_long_names, environ={"COLUMNS": "40"})

    (line,) = (line for line in outcome.out.splitlines() if line.startswith("next: "))
    assert line.endswith(f"--snapshot {broken_with_long_names}")


@pytest.mark.parametrize("name", OTHERS)
def test_tables_of_plans_policies_and_simulations(run_cli: Callable[..., Any], name: str) -> None:
    """Tables of plans, policies and simulations fit every width too."""

    def shown(width: int) -> str:
        outcome = run_cli(*OTHERS[name], environ={"COLUMNS": str(width)})
        assert outcome.code == 0, outcome.err
        text: str = outcome.out
        return text

    check_golden(name, at_all_widths(shown))


@pytest.mark.parametrize("name", REPORTS)
def test_tables_of_commands_that_need_brokers(name: str) -> None:
    """Reports that need live brokers fit every width too."""
    report: Report = REPORTS[name]
    check_golden(name, at_all_widths(lambda width: render(report, "table", OutputCapabilities(width=width))))
