"""Plans line by line: shown, compared, formatted for a pull request, and explained for other brokers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

Cli = Callable[..., Any]


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Four brokers in two racks, of which the first two have all replicas of thirty partitions."""
    rows = [partition(i, [1, 2], GB + i * GB // 10) for i in range(30)]
    internal = TopicRow(topic="__consumer_offsets", partitions=[partition(0, [1, 2], GB)], internal=True)
    path = tmp_path / "cluster.jsonl"
    state = cluster(brokers(5, racks=2), [TopicRow(topic="img", partitions=rows), internal])
    write_snapshot(state, path)
    return str(path)


def test_a_plan_lists_every_partition(snapshot: str, run_cli: Cli) -> None:
    """The table has the first twenty, --all and JSON have all, each with source, target, bytes and reason."""
    first = run_cli("rebalance", "plan", "--snapshot", snapshot).out
    every = run_cli("rebalance", "plan", "--snapshot", snapshot, "--all").out
    document = json.loads(run_cli("rebalance", "plan", "--snapshot", snapshot, "-o", "json").out)
    moves = document["moves"]

    assert len(moves) == document["partitions"] > 20
    assert first.count("1,2 -> ") == 20
    assert f"and {len(moves) - 20} more" in first
    assert every.count("1,2 -> ") == len(moves)
    assert all(move["reason"] and move["previous_replicas"] == [1, 2] for move in moves)
    assert [m["bytes"] for m in moves] == sorted((m["bytes"] for m in moves), reverse=True)


def test_written_files_are_reported_with_the_next_command(snapshot: str, run_cli: Cli, tmp_path: Path) -> None:
    """--out prints the file name and how to apply it; show reads the same plan from it."""
    path = tmp_path / "plan.json"
    planned = run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(path), "-o", "json")
    plan_id = json.loads(planned.out)["plan_id"]
    assert f"wrote plan {plan_id} to {path}; next: kafkabal rebalance apply {path}" in planned.err
    shown = json.loads(run_cli("rebalance", "show", str(path), "-o", "json").out)
    assert shown["moves"] == json.loads(planned.out)["moves"]
    balanced = run_cli("rebalance", "plan", "--snapshot", snapshot, "--below", "99%", "--out", str(path))
    assert "nothing to do" in balanced.out
    assert balanced.err.count("wrote plan") == 1
    assert "next:" not in balanced.err


def test_a_plan_for_a_pull_request(snapshot: str, run_cli: Cli, tmp_path: Path) -> None:
    """Markdown has a heading, tables with equal numbers of pipes, and no name that formats anything."""
    path = tmp_path / "plan.json"
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--include-internal", "--out", str(path), "-q")
    text = run_cli("rebalance", "show", str(path), "--all", "-o", "markdown").out
    assert text.startswith("### ")
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("| ")]
    assert len(blocks) == 4
    for block in blocks:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1
    assert "img-" in text
    assert " __" not in text


def test_two_plans_are_compared(snapshot: str, run_cli: Cli, tmp_path: Path) -> None:
    """A plan does not differ from itself; two plans differ in partitions that only one moves, or that end elsewhere."""
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(one), "-q")
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--exclude-brokers", "5", "--out", str(two), "-q")
    same = json.loads(run_cli("rebalance", "diff", str(one), str(one), "-o", "json").out)
    assert (same["headline"], same["differences"]) == ("both plans do the same", [])
    found = json.loads(run_cli("rebalance", "diff", str(one), str(two), "-o", "json").out)
    plans = [
        {(p["topic"], p["partition"]): p["replicas"] for p in json.loads(path.read_text())["partitions"]}
        for path in (one, two)
    ]
    differing = {n for n in plans[0].keys() | plans[1].keys() if plans[0].get(n) != plans[1].get(n)}
    assert {(d["topic"], d["partition"]) for d in found["differences"]} >= differing
    for d in found["differences"]:
        name = (d["topic"], d["partition"])
        assert (d["first_replicas"], d["second_replicas"]) == (plans[0].get(name), plans[1].get(name))
    assert "partitions differ" in run_cli("rebalance", "diff", str(one), str(two)).out


def test_plans_of_two_clusters_are_not_compared_silently(snapshot: str, run_cli: Cli, tmp_path: Path) -> None:
    """A diff of plans of two clusters says so, as a diff of snapshots does."""
    lopsided = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
    plans = [str(tmp_path / "one.json"), str(tmp_path / "two.json")]
    for source, path in zip((snapshot, lopsided), plans, strict=True):
        run_cli("rebalance", "plan", "--snapshot", source, "--out", path, "-q")
    assert "the plans are for different clusters" in run_cli("rebalance", "diff", *plans).out
    assert "two clusters" not in run_cli("rebalance", "diff", plans[0], plans[0]).out


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (("img-3", "4", "--exclude-brokers", "4"), "accepts no replicas (--exclude-brokers)"),
        (("img-3", "4", "--drain", "4"), "is drained"),
        (("__consumer_offsets-0", "4"), "is internal (--include-internal)"),
        (("img-3", "4", "--exclude-topics", "img"), "is out of scope"),
        (("img-3", "4", "--leaders-only"), "no replica may move (--leaders-only)"),
        (("img-3", "4", "--broker-limit", "4:0"), "may hold at most 0 replicas"),
    ],
)
def test_why_a_partition_does_not_go_to_a_broker(
    snapshot: str, run_cli: Cli, words: tuple[str, ...], because: str
) -> None:
    """Each rule that forbids the move is named."""
    done = run_cli("rebalance", "explain", "--why-not", *words, "--snapshot", snapshot)
    assert done.code == 0, done.err
    assert because in done.out


def test_why_not_for_a_move_that_no_rule_forbids(snapshot: str, run_cli: Cli) -> None:
    """A broker that the plan chose is reported to hold it; every other one has a reason other than a rule."""
    plan = json.loads(run_cli("rebalance", "plan", "--snapshot", snapshot, "-o", "json").out)
    move = plan["moves"][0]
    words = ("--snapshot", snapshot, "-o", "json")
    for broker in (1, 2, 3, 4, 5):
        name = f"{move['topic']}-{move['partition']}"
        found = json.loads(run_cli("rebalance", "explain", "--why-not", name, str(broker), *words).out)
        assert found["holds"] == (broker in move["replicas"])
        assert found["holds"] or found["rules"] or found["effects"]


def test_invalid_arguments_of_why_not(snapshot: str, run_cli: Cli) -> None:
    """An invalid or unknown partition or broker is refused in one line, and a hint says what to type."""
    for words in (("img", "4"), ("img-3", "x"), ("img-99", "4"), ("img-3", "99")):
        done = run_cli("rebalance", "explain", "--why-not", *words, "--snapshot", snapshot)
        assert done.code == 2
        assert ["hint" in line for line in done.err.splitlines()] == [False, True]


@pytest.mark.parametrize(
    ("partition", "message", "hint"),
    [
        ("img", "invalid partition: 'img'", "write it like img-3"),
        ("imgs-0", "partition not in the plan: imgs-0", "did you mean: img"),
        ("img-99", "partition not in the plan: img-99", "a plan lists only partitions that change"),
    ],
)
def test_explain_says_what_is_wrong_with_a_partition(
    snapshot: str, run_cli: Cli, tmp_path: Path, partition: str, message: str, hint: str
) -> None:
    """A missing number and a misspelt topic are not taken for a partition that stays where it is."""
    plan = str(tmp_path / "plan.json")
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", plan, "-q")
    done = run_cli("rebalance", "explain", plan, partition)
    error, hint_line = done.err.splitlines()
    assert (done.code, hint_line) == (2, f"kafkabal: hint: {hint}")
    assert message in error


def test_plans_from_standard_input_and_without_end(
    snapshot: str, run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan may come through a pipe; an endless file is refused by its size, in one line."""
    path = tmp_path / "plan.json"
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(path), "-q")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    done = run_cli("rebalance", "apply", "-", "--snapshot", snapshot, "--dry-run")
    assert (done.code, "nothing was sent" in done.err) == (0, True), done.err
    endless = run_cli("rebalance", "apply", "/dev/zero", "--snapshot", snapshot, "--dry-run")
    assert endless.code == 2
    assert len(endless.err.splitlines()) == 1
