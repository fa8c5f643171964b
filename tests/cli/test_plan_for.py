"""``kafkabal rebalance plan --plan-for``: balances the cluster that history forecasts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GB = 10**9


def snapshot(folder: Path, hour: int) -> str:
    """Two brokers with equal bytes at hour 4; ``busy`` on broker 1 grows, ``idle`` on broker 2 does not."""
    written = {"busy": hour * GB, "idle": 4 * GB}
    lines: list[dict[str, Any]] = [
        {"kafkabal_snapshot": 1, "cluster_id": "c", "taken_at": f"2026-01-01T{hour:02}:00:00Z"}
    ]
    for broker, topic in ((1, "busy"), (2, "idle")):
        free = 1000 * GB - 4 * written[topic]
        dirs = [{"path": "/d0", "total_bytes": 1000 * GB, "usable_bytes": free}]
        lines.append({"broker": broker, "log_dirs": dirs})
    for broker, topic in ((1, "busy"), (2, "idle")):
        row = {"leader": broker, "replicas": [broker], "sizes": [written[topic]], "log_dirs": [0], "start_offset": 0}
        partitions = [{"partition": i, **row, "end_offset": written[topic] // 1000} for i in range(4)]
        lines.append({"topic": topic, "partitions": partitions, "configs": {"retention.ms": "-1"}})
    path = folder / f"{hour}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_future_imbalance_is_balanced_in_advance(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Balanced now, so nothing to do; in 16 hours broker 1 will have five times as much, so busy partitions move."""
    assert run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 2)).code == 0
    words = ("rebalance", "plan", "--snapshot", snapshot(tmp_path, 4), "--score", "disk", "-o", "json")
    assert json.loads(run_cli(*words).out)["moves"] == []
    made = run_cli(*words, "--plan-for", "16h")
    assert made.code == 0, made.err
    assert "grows by 59.6 GiB" in made.err
    moves = json.loads(made.out)["moves"]
    assert {move["topic"] for move in moves if 2 in move["replicas"]} == {"busy"}
    # the bytes to move are those of today, not those of the forecast
    assert json.loads(made.out)["moved_bytes"] == 4 * GB * len(moves)


def test_the_plan_file_names_the_forecast_it_was_made_for(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The plan file can be shown and applied like any other, and names the time it was made for."""
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 2))
    plan = tmp_path / "plan.json"
    now = snapshot(tmp_path, 4)
    words = ("--score", "disk", "--plan-for", "16h", "--out", str(plan))
    assert run_cli("rebalance", "plan", "--snapshot", now, *words).code == 0
    assert json.loads(plan.read_text())["kafkabal"]["options"]["plan_for_s"] == 16 * 3600
    applied = run_cli("rebalance", "apply", str(plan), "--snapshot", now, "--save", str(tmp_path / "x.jsonl"), "--yes")
    assert applied.code == 0, applied.err


def test_advice_for_a_later_time_names_it_and_is_executed_by_a_plan_for_that_time(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    """Advice for a later time suggests a command that plans for the same time."""
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 2))
    now = snapshot(tmp_path, 4)
    shown = run_cli("advise", "--snapshot", now, "--plan-for", "16h", "--limit", "5%")
    assert shown.out.startswith("In 16 h: "), shown.err
    command = f"kafkabal rebalance plan --plan-for 16h --below 5% --snapshot {now}"
    assert command in shown.out
    assert "busy" in run_cli(*command.split()[1:]).out


@pytest.mark.parametrize("words", [("rebalance", "plan", "--score", "disk"), ("advise",)])
def test_a_forecast_from_a_short_history_is_marked(
    run_cli: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Two hours of history suffice for a day but not for two weeks: the limit is fourteen times the history."""
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 2))
    words = (*words, "--snapshot", snapshot(tmp_path, 4), "--plan-for")
    far = run_cli(*words, "14d")
    assert far.code == 0, far.err
    assert "warning: a history of 2 h is too short for a forecast of 14 d" in far.err
    assert "too short" not in run_cli(*words, "1d").err


def test_a_disk_that_is_full_before_the_time_of_the_plan_is_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Broker 1 writes 4 GB an hour and has 984 GB left: a plan for later than in ten days says so in one line."""
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 2))
    now = snapshot(tmp_path, 4)
    line = "forecast to be full within 12 d if nothing moves: log dir /d0 of broker 1 in 10 d 6 h"
    words = ("rebalance", "plan", "--snapshot", now, "--score", "disk", "--plan-for")
    shown = run_cli(*words, "12d", "-o", "json")
    assert f"warning: {line}\n" in shown.err
    assert line in json.loads(shown.out)["notes"]
    assert "forecast to be full" not in run_cli(*words, "10d", "-o", "json").err
    assert line in run_cli(*words, "12d", "--frontier").err
    advice = run_cli("advise", "--snapshot", now, "--plan-for", "12d", "-o", "json")
    assert line in json.loads(advice.out)["notes"]


@pytest.mark.parametrize("time", ["0s", "x", ""])
def test_a_wrong_time_is_refused(run_cli: Callable[..., Any], tmp_path: Path, time: str) -> None:
    """An invalid time ends with one line and exit 2."""
    assert run_cli("rebalance", "plan", "--snapshot", snapshot(tmp_path, 4), "--plan-for", time).code == 2


def test_without_history_the_error_says_how_to_record_one(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Without history nothing is planned, and the hint says how to record some."""
    refused = run_cli("rebalance", "plan", "--snapshot", snapshot(tmp_path, 4), "--plan-for", "1d")
    assert refused.code == 1
    assert "no history of this cluster" in refused.err
