"""``kafkabal snapshot import``, ``kafkabal inspect diff``, and ``-`` for the standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.cli.framework.completion.command_pages import Page, pages
from kafkabal.clusters.snapshot import read_snapshot, write_snapshot
from kafkabal.errors import ExitCode
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOPSIDED = str(SNAPSHOTS / "lopsided.jsonl")
TOPICS = (
    "Topic: img\tTopicId: Xy\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: retention.ms=5\n"
    "\tTopic: img\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    "\tTopic: img\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2\n"
)
LOG_DIRS = (
    "Querying brokers for log directories information\n"
    '{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d","error":null,"partitions":'
    '[{"partition":"img-0","size":7,"offsetLag":0,"isFuture":false}]}]}]}\n'
)
ASSIGNMENT = (
    "Current partition replica assignment\n"
    '{"version":1,"partitions":[{"topic":"img","partition":0,"replicas":[3,1],"log_dirs":["any","any"]}]}\n'
    "\n"
    "Proposed partition reassignment configuration\n"
    '{"version":1,"partitions":[{"topic":"img","partition":0,"replicas":[9,8],"log_dirs":["any","any"]}]}\n'
)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with the output of Kafka's tools."""
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "dirs.txt").write_text(LOG_DIRS)
    (tmp_path / "assignment.json").write_text(ASSIGNMENT)
    return tmp_path


def test_import_of_topics_and_log_dirs(run_cli: Callable[..., Any], texts: Path) -> None:
    """Every command accepts the snapshot, and the next step is suggested."""
    out = texts / "c.jsonl"
    words = ("--topics", str(texts / "topics.txt"), "--log-dirs", str(texts / "dirs.txt"), "--out", str(out))
    found = run_cli("snapshot", "import", *words, "--cluster-id", "Mk", wall_clock=lambda: 0.0)
    assert (found.code, found.out) == (ExitCode.DONE, "")
    assert (
        f"wrote the snapshot to {out}: 3 brokers, 1 topic, 2 partitions; next: kafkabal inspect --snapshot" in found.err
    )
    state = read_snapshot(out)
    assert (state.cluster_id, state.taken_at) == ("Mk", "1970-01-01T00:00:00Z")
    assert state.replicas.size_bytes.tolist() == [7, -1, -1, -1]


def test_standard_output_is_named(texts: Path) -> None:
    """A file that goes to standard output is not called ``-``, and no command to read it is suggested."""
    found = _piped("snapshot", "import", "--topics", str(texts / "topics.txt"), "--out", "-")
    assert found.stderr == b"wrote the snapshot to standard output: 3 brokers, 1 topic, 2 partitions\n"
    assert b'"kafkabal_snapshot"' in found.stdout


def test_a_snapshot_of_an_unknown_cluster_is_not_of_another_one(run_cli: Callable[..., Any], texts: Path) -> None:
    """Without an id, it may be of the same cluster as a snapshot that has one."""
    out = str(texts / "c.jsonl")
    assert run_cli("snapshot", "import", "--topics", str(texts / "topics.txt"), "--out", out).code == 0
    assert json.loads(run_cli("inspect", "diff", out, LOPSIDED, "-o", "json").out)["notes"] == []


def test_import_of_an_assignment(run_cli: Callable[..., Any], texts: Path) -> None:
    """Of the output of --generate the current assignment is used; its brokers count as live."""
    out = texts / "c.jsonl"
    assert run_cli("snapshot", "import", "--assignment", str(texts / "assignment.json"), "--out", str(out)).code == 0
    state = read_snapshot(out)
    assert state.brokers.id.tolist() == [1, 3]
    assert state.brokers.is_live.all()
    assert state.brokers.id[state.partitions.leader].tolist() == [3]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "one of --topics and --assignment is required"),
        (("--topics", "a", "--assignment", "b"), "one of --topics and --assignment is required"),
        (("--topics", "-", "--log-dirs", "-"), "only one of the files can be standard input"),
        (("--topics", LOPSIDED), "not JSON of ReassignPartitionsCommand"),
        (("--topics", "/nowhere"), "cannot read"),
        (("--topics", "/dev/null"), "/dev/null: is empty"),
    ],
)
def test_invalid_imports_are_refused(run_cli: Callable[..., Any], tmp_path: Path, words: Any, why: str) -> None:
    """Unsuitable input ends with exit 2, and nothing is written."""
    out = tmp_path / "c.jsonl"
    found = run_cli("snapshot", "import", *words, "--out", str(out))
    assert found.code == ExitCode.USAGE
    assert why in found.err
    assert not out.exists()


def test_diff_of_a_rebalance(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Twelve partitions have moved, from which brokers to which, and the scores are side by side."""
    after = str(tmp_path / "after.jsonl")
    words = ("--snapshot", LOPSIDED, "--save", after, "--yes", "-q", "--throttle", "none")
    assert run_cli("rebalance", *words).code == ExitCode.DONE
    found = run_cli("inspect", "diff", LOPSIDED, after, "-o", "json")
    document = json.loads(found.out)
    assert document["headline"] == "11 moved partitions"
    assert document["topics"] == []
    first = document["partitions"][0]
    assert (first["topic"], first["partition"], first["first_replicas"]) == ("images", 3, [1, 5])
    disk = next(score for score in document["scores"] if score["score"] == "disk")
    assert disk["first_skew"] > 1 > 0.09 > disk["second_skew"]
    back = json.loads(run_cli("inspect", "diff", after, LOPSIDED, "-o", "json").out)
    assert [p["second_replicas"] for p in back["partitions"]] == [p["first_replicas"] for p in document["partitions"]]


def test_diff_of_equal_and_of_unrelated_snapshots(run_cli: Callable[..., Any]) -> None:
    """Equal snapshots have no difference; snapshots of two clusters are reported as such."""
    same = run_cli("inspect", "diff", LOPSIDED, LOPSIDED)
    assert same.out.startswith("same brokers, topics and placement\n")
    other = run_cli("inspect", "diff", LOPSIDED, str(SNAPSHOTS / "broken.jsonl"))
    assert "new topic" in other.out
    assert "the snapshots are of different clusters" in other.out


def test_estimates_are_marked_in_a_diff(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Bytes on a dead broker and in their topic are estimates, in the snapshot where it is dead; others are facts."""
    rows = brokers(3)
    alive = cluster(rows, [topic("img", (1, 3), size_bytes=GB), topic("log", (1, 2), size_bytes=GB)])
    lost = replace(partition(0, [1, 3], GB), isr=[1], sizes=[2 * GB, None], log_dirs=[0, None])
    dead = cluster(
        [*rows[:2], replace(rows[2], state="dead", log_dirs=[])],
        [TopicRow(topic="img", partitions=[lost]), topic("log", (2, 1), size_bytes=2 * GB)],
    )
    files = [str(tmp_path / name) for name in ("alive.jsonl", "dead.jsonl")]
    for state, file in zip((alive, dead), files, strict=True):
        write_snapshot(state, Path(file))
    found = json.loads(run_cli("inspect", "diff", *files, "-o", "json").out)
    assert [b["second_bytes_estimated"] for b in found["brokers"]] == [False, False, True]
    assert [b["first_bytes_estimated"] for b in found["brokers"]] == [False] * 3
    assert {t["topic"]: t["second_bytes_estimated"] for t in found["topics"]} == {"img": True, "log": False}
    rows_now = json.loads(run_cli("inspect", "--snapshot", files[1], "--by", "partition", "-o", "json").out)
    sizes = {p["topic"]: (p["size_bytes_estimated"], p["all_replicas_bytes_estimated"]) for p in rows_now["partitions"]}
    assert sizes == {"img": (False, True), "log": (False, False)}


def _piped(*words: str) -> subprocess.CompletedProcess[bytes]:
    """A real process, since bytes written to standard output bypass the test's streams."""
    return subprocess.run([sys.executable, "-m", "kafkabal", *words], capture_output=True, check=False)


def test_a_snapshot_goes_to_standard_output() -> None:
    """``--save -`` writes only the snapshot there: the report goes to stderr."""
    found = _piped("inspect", "--snapshot", LOPSIDED, "--save", "-")
    assert b"its fair share by disk" in found.stderr
    assert found.stdout.startswith(b'{"kafkabal_snapshot":1')
    assert found.stdout.count(b"\n") == Path(LOPSIDED).read_bytes().count(b"\n")


def test_a_quiet_command_writes_a_snapshot_and_nothing_else() -> None:
    """A quiet command in a pipe writes only the snapshot, so that cron sends no mail."""
    assert _piped("inspect", "--snapshot", LOPSIDED, "--save", "-", "-q").stderr == b""


def test_a_changed_snapshot_goes_to_standard_output() -> None:
    """The output of one command can be the input of the next."""
    found = _piped("create", "new", "-p", "3", "-r", "2", "--snapshot", LOPSIDED, "--save", "-")
    assert found.returncode == ExitCode.DONE
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert "new" in {line.get("topic") for line in lines}


def test_a_plan_goes_to_standard_output(tmp_path: Path) -> None:
    """``plan --out -`` writes only the plan there; its report goes to stderr, or to the file that is named."""
    report = tmp_path / "r.json"
    words = ("rebalance", "plan", "--snapshot", LOPSIDED, "--topics", "labels", "--out", "-")
    to_file = _piped(*words, "-o", "json", "--output-file", str(report))
    shown = _piped(*words)
    quiet = _piped(*words, "-q")

    plan = json.loads(to_file.stdout)
    assert json.loads(report.read_text())["partitions"] == len(plan["partitions"])
    assert b"partitions change" in shown.stderr
    assert to_file.stdout == shown.stdout == quiet.stdout
    assert quiet.stderr == b""


def test_output_file_may_be_standard_output(run_cli: Callable[..., Any]) -> None:
    """``--output-file -`` is the default destination."""
    found = run_cli("inspect", "--snapshot", LOPSIDED, "-o", "csv", "--output-file", "-")
    assert found.out.startswith("broker,")


def test_a_place_that_cannot_be_written_is_reported_first(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """An unwritable destination is reported before the cluster is read."""
    found = run_cli("inspect", "-b", "127.0.0.1:1", "--save", str(tmp_path / "no" / "c.jsonl"))
    assert "no such folder" in found.err


_ARGUMENTS = {
    "kafkabal rebalance": ["--dry-run"],
    "kafkabal rebalance explain": ["--why-not", "images-3", "4"],
    "kafkabal rebalance apply": [str(SNAPSHOTS / "lopsided-plan.json"), "--dry-run"],
    "kafkabal rebalance throttle": ["5MB/s"],
    "kafkabal rebalance resume": ["--save", "-"],
    "kafkabal rebalance cancel": ["--save", "-"],
    "kafkabal rebalance rollback": ["--save", "-"],
    "kafkabal create": ["new", "-p", "3", "-r", "2", "--dry-run"],
    "kafkabal route": ["images"],
    "kafkabal route-simulate": ["--topic", "images", "--records", "100"],
    "kafkabal watch": ["--once"],
    "kafkabal profiles add": ["another"],
    "kafkabal completion candidates": ["topics"],
}
"""What a command needs beside ``--snapshot``."""


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if any("--snapshot" in option.flags for option in page.options)],
    ids=lambda page: page.title,
)
def test_a_command_that_offers_snapshot_takes_one(run_cli: Callable[..., Any], tmp_path: Path, page: Page) -> None:
    """No help lists the option in a command that refuses it."""
    words = _ARGUMENTS.get(page.title, [])
    if page.title == "kafkabal rebalance simulate":
        (tmp_path / "case.yaml").write_text("kafkabal_case: 1\n")
        words = ["--case", str(tmp_path / "case.yaml"), "--days", "1"]
    done = run_cli(*page.path[1:], *words, "--snapshot", LOPSIDED)

    no_run = done.code == ExitCode.USAGE and ("no run found" in done.err or "no active run" in done.err)
    assert no_run or done.code in (ExitCode.DONE, ExitCode.FINDINGS), done.err


@pytest.mark.parametrize("words", [("pause",), ("repair",), ("adopt",), ("adopt", "--finish", "--yes")])
def test_data_missing_from_a_snapshot_needs_a_live_cluster(run_cli: Callable[..., Any], words: tuple[str]) -> None:
    """If the environment names a snapshot, the command says what it needs and where the snapshot was named."""
    done = run_cli("rebalance", *words, environ={"KAFKABAL_SNAPSHOT": LOPSIDED})

    unknown = run_cli("rebalance", *words)
    assert "no cluster given" in unknown.err
    assert "--snapshot" not in unknown.err
    needed = f"rebalance {words[0]} requires a live cluster, not a snapshot (KAFKABAL_SNAPSHOT)"
    assert (done.code, needed in done.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rebalance", "plan", "--snapshot", "s.jsonl", "--out", "s.jsonl"), "--out would overwrite what --snapshot"),
        (("inspect", "--snapshot", "s.jsonl", "--save", "./s.jsonl"), "--save would overwrite what --snapshot reads"),
        (("inspect", "--snapshot", "s.jsonl", "--output-file", "link"), "--output-file would overwrite what"),
        (("rebalance", "show", "s.jsonl", "--output-file", "s.jsonl"), "--output-file would overwrite what PLAN"),
        (("inspect", "diff", "s.jsonl", "t.jsonl", "--output-file", "t.jsonl"), "would overwrite what SECOND reads"),
        (
            ("rebalance", "--snapshot", "s.jsonl", "--save", "new", "--rollback-file", "s.jsonl", "--yes"),
            "--rollback-file would overwrite what --snapshot reads",
        ),
        (("snapshot", "import", "--topics", "s.jsonl", "--out", "s.jsonl"), "--out would overwrite what --topics"),
        (("config", "show", "--profile", "p.yaml", "--output-file", "p.yaml"), "would overwrite what --profile reads"),
        (
            ("rebalance", "plan", "--snapshot", "s.jsonl", "--out", "new", "--output-file", "new"),
            "--out and --output-file name the same file",
        ),
        (
            ("route-simulate", "--workload", "uneven", "--plot", "new.svg", "--output-file", "new.svg"),
            "--plot and --output-file name the same file",
        ),
        (
            ("rebalance", "--snapshot", "s.jsonl", "--save", "-", "--rollback-file", "-", "--yes"),
            "only one output can be standard output: ",
        ),
        (
            ("rebalance", "plan", "--snapshot", "s.jsonl", "--out", "-", "--output-file", "-"),
            "only one output can be standard output: ",
        ),
        (("inspect", "diff", "-", "-"), "only one of the files can be standard input: FIRST and SECOND are both -"),
    ],
)
def test_no_command_overwrites_its_input(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    """Neither the source nor a file with another result is overwritten; the existing file stays unchanged."""
    monkeypatch.chdir(tmp_path)
    for name in ("s.jsonl", "t.jsonl"):
        (tmp_path / name).write_bytes(Path(LOPSIDED).read_bytes())
    (tmp_path / "p.yaml").write_text("tolerance: 5%\n")
    (tmp_path / "link").symlink_to("s.jsonl")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    done = run_cli(*words)

    assert (done.code, said in done.err) == (ExitCode.USAGE, True), done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_devices_and_saving_over_the_snapshot_are_no_loss(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Two results may go to /dev/null, and --save asks before overwriting its source."""
    to = ("--out", "/dev/null", "--output-file", "/dev/null")
    assert run_cli("rebalance", "plan", "--snapshot", LOPSIDED, *to).code == ExitCode.DONE
    copy = tmp_path / "s.jsonl"
    copy.write_bytes(Path(LOPSIDED).read_bytes())
    words = ("create", "new", "-p", "3", "-r", "2", "--snapshot", str(copy), "--save", str(copy))
    assert run_cli(*words, "--yes").code == ExitCode.DONE
    assert copy.read_bytes() != Path(LOPSIDED).read_bytes()
