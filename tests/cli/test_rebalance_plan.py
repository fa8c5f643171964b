"""``kafkabal rebalance plan`` and ``explain`` on snapshots: messages, files and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.plan_file import read_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

if TYPE_CHECKING:
    Cli = Callable[..., Any]


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Eight unbalanced brokers on four racks."""
    path = tmp_path / "cluster.jsonl"
    write_snapshot(make_world(SyntheticWorld(seed=3)), path)
    return str(path)


def test_the_plan_is_shown_and_written(snapshot: str, tmp_path: Path, run_cli: Cli) -> None:
    """The table shows who moves what and the scores; the file has the same plan."""
    file = tmp_path / "plan.json"
    shown = run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(file))
    plan = read_plan(file)

    assert shown.code == 0
    assert f"{len(plan.partitions)} partitions change" in shown.out
    assert plan.plan_id in shown.out
    assert all(score in shown.out for score in ("disk", "replicas", "leaders", "topic-spread"))


def test_equal_clusters_give_equal_plans_whatever_the_rate(snapshot: str, run_cli: Cli) -> None:
    """The throttle does not affect a plan, nor its id; a tolerance does."""

    def plan_id(*words: str, **environ: str) -> str:
        out = run_cli("rebalance", "plan", "--snapshot", snapshot, "-o", "json", *words, environ=environ).out
        return str(json.loads(out)["plan_id"])

    assert plan_id() == plan_id(KAFKABAL_THROTTLE="50MB")
    assert plan_id() != plan_id("--tolerance", "2%")


def test_a_rate_predicts_the_duration(snapshot: str, run_cli: Cli) -> None:
    """Twice the rate takes half the time, in a line of its own; without a rate JSON says that it is unknown."""

    def duration_s(*words: str) -> Any:
        out = run_cli("rebalance", "plan", "--snapshot", snapshot, "-o", "json", *words).out
        return json.loads(out)["duration_s"]

    assert duration_s() is None
    assert duration_s("--throttle", "50MB") == 2 * duration_s("--throttle", "100MB") > 0
    shown = run_cli("rebalance", "plan", "--snapshot", snapshot, "--throttle", "50MB")
    assert (shown.code, "copies between brokers at 50 MB/s: " in shown.out) == (0, True)


def test_a_plan_takes_a_rate_only(snapshot: str, run_cli: Cli) -> None:
    """``auto`` is measured when a run starts, so a plan cannot predict with it; a profile's value is for runs."""
    refused = run_cli("rebalance", "plan", "--snapshot", snapshot, "--throttle", "auto")
    assert (refused.code, refused.out) == (2, "")
    assert "error: --throttle: a plan requires a rate, not 'auto'\nkafkabal: hint: " in refused.err
    passes = run_cli("rebalance", "plan", "--snapshot", snapshot, environ={"KAFKABAL_THROTTLE": "auto"})
    assert passes.code == 0


def test_earlier_plans_are_named_by_file_or_folder(snapshot: str, tmp_path: Path, run_cli: Cli) -> None:
    """A folder stands for the plans in it, each counts once, and a file that is not a plan is named."""
    folder = tmp_path / "plans"
    folder.mkdir()
    first = folder / "first.json"

    def plan(*words: str) -> Any:
        return run_cli("rebalance", "plan", "--snapshot", snapshot, *words)

    assert plan("--keep-moved", str(folder), "--out", str(first)).code == 0
    second = tmp_path / "second.json"
    assert plan("--keep-moved", str(folder), "--keep-moved", str(first), "--out", str(second)).code == 0
    assert read_plan(second).options["keep_moved"] == [read_plan(first).plan_id]

    refused = plan("--keep-moved", snapshot)
    assert refused.code == 2
    assert snapshot in refused.err
    missing = plan("--keep-moved", str(tmp_path / "none.json"))
    assert missing.code == 2
    assert "none.json" in missing.err


def test_warnings_are_reported_once(tmp_path: Path, run_cli: Cli) -> None:
    """Warnings are part of the table; without a table they go to stderr, or nowhere with -q at exit 0.

    With -q, the table is shown unless the result is a file.
    """
    path = tmp_path / "racks.jsonl"
    write_snapshot(make_world(SyntheticWorld(seed=3, brokers=7, racks=3, topics=4, most_partitions=3)), path)
    table = run_cli("rebalance", "plan", "--snapshot", str(path))
    rows = run_cli("rebalance", "plan", "--snapshot", str(path), "-o", "csv")
    quiet = run_cli("rebalance", "plan", "--snapshot", str(path), "-q")
    saved = run_cli("rebalance", "plan", "--snapshot", str(path), "-q", "--out", str(tmp_path / "plan.json"))

    assert table.out.count("its fair share by disk") == rows.err.count("its fair share by disk") == 2
    assert (table.err, quiet.out, quiet.err) == ("", table.out, "")
    assert (saved.out, saved.err) == ("", "")


@pytest.mark.parametrize(
    ("drain", "code", "blocked"), [("1", 3, True), ("2", 0, False), ("4", 3, True)], ids=["live", "unrelated", "dead"]
)
def test_a_drain_that_something_broken_blocks_ends_with_3(
    tmp_path: Path, run_cli: Cli, drain: str, code: int, *, blocked: bool
) -> None:
    """The plan moves what can be moved, and ends as 'rebalance --drain' does; unrelated brokers drain with 0."""
    lost = TopicRow(topic="lost", partitions=[replace(partition(0, [4, 1], GB), leader=-1, isr=[4])])
    rows = [*brokers(3), replace(brokers(4)[3], state="dead")]
    path, file = tmp_path / "broken.jsonl", tmp_path / "plan.json"
    write_snapshot(cluster(rows, [lost, topic("t", [1, 3], [2, 3])]), path)
    words = ("--snapshot", str(path), "--drain", drain, "-q")

    planned = run_cli("rebalance", "plan", *words, "--out", str(file))
    assert (planned.code, "not drained: no in-sync replica of lost-0 is online" in planned.err) == (code, blocked)
    assert (f"kafkabal rebalance --drain {drain} --check" in planned.err) == blocked
    assert file.is_file()
    assert run_cli("rebalance", "plan", *words, "--max-moves", "9").code == 0
    assert run_cli("rebalance", *words[:4], "--check", "-q").code == (4 if blocked else 0)


def test_replicas_left_on_a_drained_broker_are_reported(snapshot: str, run_cli: Cli) -> None:
    """A drain of selected topics leaves the others there, and says so."""
    done = run_cli("rebalance", "plan", "--snapshot", snapshot, "--drain", "3", "--topics", "t1", "-o", "csv")

    assert done.code == 0
    assert "broker 3 keeps" in done.err
    assert "replicas of excluded topics: t0" in done.err


def test_the_frontier_sets_bytes_against_tolerance(snapshot: str, run_cli: Cli) -> None:
    """One row per tolerance, each above its bound; the tightest band costs most, the widest least."""
    out = run_cli("rebalance", "plan", "--snapshot", snapshot, "--frontier", "-o", "json").out
    points = sorted(json.loads(out)["frontier"], key=lambda p: p["tolerance"])
    bytes_ = [p["moved_bytes"] for p in points]

    assert len(points) > 3
    assert (max(bytes_), min(bytes_)) == (bytes_[0], bytes_[-1])
    assert all(p["moved_bytes"] >= p["bound_bytes"] for p in points)


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (["--drain", "99"], 2, "unknown broker: 99"),
        (["--topics", "nosuch*"], 2, "unknown topic: 'nosuch*'"),
        (["--what-if", "add=90:r1:4TiB", "--out", "plan.json"], 2, "cannot be combined with --out"),
        (["--what-if", "add=1:r1:4TiB"], 2, "--what-if add=1: broker 1 already exists"),
        (["--what-if", "remove=77"], 2, "--what-if remove=77: unknown broker: 77"),
        (["--what-if", "remove=3", "--log-dirs-only"], 2, "--log-dirs-only and --what-if remove cannot be combined"),
        (["--drain", "1,2,3,4,5,6"], 4, "cannot drain"),
        (["--tolerance", "10"], 2, "--tolerance: ambiguous percentage: '10'"),
        (["--below", "85%", "--score", "replicas"], 2, "--below supports only the score disk, not replicas"),
        (["--leaders-only", "--drain", "3"], 2, "--leaders-only and --drain cannot be combined"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_unsupported_requests_are_refused(snapshot: str, run_cli: Cli, words: list[str], code: int, shown: str) -> None:
    """Each invalid question is refused in one line with the fault and its place, and the right exit code."""
    refused = run_cli("rebalance", "plan", "--snapshot", snapshot, *words)

    assert (refused.code, refused.out) == (code, "")
    # to find out that nothing can be drained takes so long that it may say so
    assert any(line.startswith("kafkabal: error: ") and shown in line for line in refused.err.splitlines()[:2])


def test_a_longest_duration_names_the_option_that_it_needs(snapshot: str, run_cli: Cli) -> None:
    """Without a rate no duration can be computed, and the hint says how to give one."""
    refused = run_cli("rebalance", "plan", "--snapshot", snapshot, "--max-duration", "1h")

    assert refused.code == 2
    assert "--throttle" in refused.err.splitlines()[1]


def test_below_can_be_combined_with_the_replicas_score(snapshot: str, run_cli: Cli) -> None:
    """A permanent setting of how replicas count does not select a score."""
    words = ("rebalance", "plan", "--snapshot", snapshot, "--below", "60%")

    assert run_cli(*words, environ={"KAFKABAL_COUNT_CAPACITY": "disk"}).code == run_cli(*words).code == 0


def test_supposed_brokers_are_planned_for_and_shown(tmp_path: Path, run_cli: Cli) -> None:
    """A planned broker gets replicas in the table."""
    path = tmp_path / "small.jsonl"
    write_snapshot(cluster(brokers(3, racks=3), [topic("t", *[[1, 2], [2, 3], [3, 1]] * 4)]), path)
    shown = run_cli("rebalance", "plan", "--snapshot", str(path), "--what-if", "add=90:r1:4TiB")

    assert shown.code == 0
    assert any(line.split()[:1] == ["90"] for line in shown.out.splitlines())


def test_explain_gives_the_reason_for_a_move(snapshot: str, tmp_path: Path, run_cli: Cli) -> None:
    """The explanation shows from where to where, at what cost, and the reason in the plan."""
    file = tmp_path / "plan.json"
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(file))
    change = next(c for c in read_plan(file).partitions if c.to_add)
    words = ("rebalance", "explain", str(file), str(change.name))
    shown = run_cli(*words)

    assert shown.code == 0
    assert change.reason in shown.out
    assert json.loads(run_cli(*words, "-o", "json").out)["partition"] == str(change.name)


def test_explain_reports_partitions_that_are_not_in_the_plan(snapshot: str, tmp_path: Path, run_cli: Cli) -> None:
    """A partition that stays is a usage error, not a fault of the plan."""
    file = tmp_path / "plan.json"
    run_cli("rebalance", "plan", "--snapshot", snapshot, "--out", str(file))
    shown = run_cli("rebalance", "explain", str(file), "nosuch-7")

    assert shown.code == 2
    assert "nosuch-7" in shown.err.splitlines()[0]
