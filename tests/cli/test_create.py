"""``kafkabal create`` on snapshots, which accept new topics like a live cluster."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.errors import NotAuthorizedError
from kafkabal.model.cluster_state import ClusterState

SNAPSHOTS = Path(__file__).parent / "snapshots"
TOPICS = """
topics:
- {name: features, partitions: 4, replication_factor: 2, configs: {retention.ms: "1000"}}
- {name: frames, preset: training, partitions: 6}
"""


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A copy of the balanced cluster of six brokers in three racks, to modify."""
    return Path(shutil.copy(SNAPSHOTS / "even.jsonl", tmp_path / "cluster.jsonl"))


@pytest.fixture
def create(run_cli: Callable[..., Any], snapshot: Path) -> Callable[..., Any]:
    """Run ``kafkabal create`` on this snapshot."""
    saved = ("--save", str(snapshot), "--yes")

    def run(*words: str, **world: Any) -> Any:
        return run_cli("create", *words, "--snapshot", str(snapshot), *(() if "--dry-run" in words else saved), **world)

    return run


def assignment(state: ClusterState, topic: str) -> list[list[int]]:
    """Broker ids of each partition of a topic, parsed without our code."""
    row = state.topics.name.index(topic)
    p, r = state.partitions, state.replicas
    found = [i for i in range(len(p)) if p.topic[i] == row]
    return [[int(state.brokers.id[r.broker[j]]) for j in range(p.first[i], p.first[i + 1])] for i in found]


def test_a_preset_is_placed_over_the_racks_with_leaders_spread(create: Callable[..., Any], snapshot: Path) -> None:
    """Ten partitions with factor 3: every partition is in three racks, no broker leads more than two."""
    outcome = create("images2", "--preset", "training")

    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("Created images2: 10 partitions, 30 replicas.")
    state = read_snapshot(snapshot)
    placed = assignment(state, "images2")
    rack = {int(i): int(r) for i, r in zip(state.brokers.id, state.brokers.rack, strict=True)}
    assert len(placed) == 10
    assert all(len({rack[b] for b in replicas}) == 3 for replicas in placed)
    leaders = [replicas[0] for replicas in placed]
    assert max(leaders.count(b) for b in rack) <= 2
    assert state.topics.configs[state.topics.name.index("images2")] == {
        "compression.type": "lz4",
        "max.message.bytes": "10485760",
        "retention.ms": "604800000",
    }


def test_dry_run_shows_the_changes_and_makes_none(create: Callable[..., Any], snapshot: Path) -> None:
    """The assignment shown is the one that a run without --dry-run creates."""
    before = snapshot.read_bytes()
    dry = create("clicks", "-p", "5", "-r", "2", "--dry-run", "-o", "json")

    assert (dry.code, snapshot.read_bytes()) == (0, before)
    shown = [row["replicas"] for row in json.loads(dry.out)["assignment"]]
    create("clicks", "-p", "5", "-r", "2")
    assert assignment(read_snapshot(snapshot), "clicks") == shown


def test_flags_are_stronger_than_the_preset(create: Callable[..., Any], snapshot: Path) -> None:
    """Each value of a preset can be overridden."""
    create("images2", "--preset", "training", "-p", "2", "-r", "1", "--config", "compression.type=zstd")

    state = read_snapshot(snapshot)
    assert [len(replicas) for replicas in assignment(state, "images2")] == [1, 1]
    configs = state.topics.configs[state.topics.name.index("images2")]
    assert configs is not None
    assert configs["compression.type"] == "zstd"


def test_a_file_of_topics_is_idempotent(create: Callable[..., Any], snapshot: Path, tmp_path: Path) -> None:
    """The second run creates and changes nothing; differences from the file are reported."""
    file = tmp_path / "topics.yaml"
    file.write_text(TOPICS)
    first = create("-f", str(file))
    after = snapshot.read_bytes()
    second = create("-f", str(file))
    file.write_text(TOPICS.replace("partitions: 4", "partitions: 5"))
    third = create("-f", str(file))

    assert (first.code, second.code, third.code) == (0, 0, 0)
    assert first.out.startswith("Created 2 topics: 10 partitions, 26 replicas.")
    assert second.out.startswith("Nothing to do: all topics exist.")
    assert "exists and differs, not changed: features: partitions is 4, expected 5" in third.out
    assert snapshot.read_bytes() == after


@pytest.mark.parametrize(
    ("placement", "leaders"),
    [("even", [2, 2, 2, 2, 2, 2]), ("binomial:0.0", [12, 0, 0, 0, 0, 0]), ("binomial:1.0", [0, 0, 0, 0, 0, 12])],
)
def test_placements_decide_who_leads(
    create: Callable[..., Any], snapshot: Path, placement: str, leaders: list[int]
) -> None:
    """Even spreads leaders round-robin; a binomial with probability 0 or 1 gives all to one broker."""
    assert create("t", "-p", "12", "-r", "2", "--placement", placement).code == 0

    led = [replicas[0] for replicas in assignment(read_snapshot(snapshot), "t")]
    assert [led.count(broker) for broker in range(1, 7)] == leaders


def test_brokers_plus_2_gives_every_broker_a_leader_and_two_of_them_more(
    create: Callable[..., Any], snapshot: Path
) -> None:
    """Eight partitions on six brokers get the uneven layout, the same for the same seed."""
    first = create("t", "-r", "2", "--placement", "brokers+2:7", "--dry-run", "-o", "json").out
    create("t", "-r", "2", "--placement", "brokers+2:7")

    placed = assignment(read_snapshot(snapshot), "t")
    led = [replicas[0] for replicas in placed]
    assert len(led) == 8
    assert set(led) == {1, 2, 3, 4, 5, 6}
    assert [row["replicas"] for row in json.loads(first)["assignment"]] == placed


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["images", "-p", "1", "-r", "1"], 2, "topic images already exists"),
        (["t", "-p", "3", "-r", "9"], 2, "replication factor 9 needs as many brokers"),
        (["t"], 2, "no number of partitions given"),
        (["t", "-p", "3"], 2, "no replication factor given"),
        (["t", "-p", "0", "-r", "1"], 2, "--partitions: must be at least 1: '0'"),
        (["a b", "-p", "1", "-r", "1"], 2, "invalid topic name: 'a b'"),
        (["t", "--preset", "trainin"], 2, "unknown preset: 'trainin'"),
        (["t", "--config", "x"], 2, "--config: invalid config: 'x'"),
        (["t", "-p", "1", "-r", "1", "--placement", "odd"], 2, "unknown placement: 'odd'"),
        (["t", "-p", "1", "-r", "1", "--partition-bytes", "9PiB"], 4, "room"),
        ([], 2, "no topic given"),
        (["t", "-p", "1", "-r", "1", "--config", "a=1", "--config", "a=2"], 2, "given twice: --config a"),
        (["t", "-p", "1000000000", "-r", "1"], 2, "partitions: 1,000,000,000 exceeds the limit of 100,000"),
        (["t", "-f", "topics.yaml"], 2, "--file cannot be combined"),
        (["-f", "no/such.yaml"], 2, "no/such.yaml: cannot read"),
        (["t", "-p", "1", "-r", "1", "-o", "prometheus"], 2, "--output: unknown value: 'prometheus'"),
        (["t", "-p", "1", "-r", "1", "--output-file", "/no/such/f"], 1, "/no/such/f: cannot write"),
    ],
)
def test_impossible_topics_are_reported_before_any_is_created(
    create: Callable[..., Any], snapshot: Path, words: list[str], code: int, says: str
) -> None:
    """An impossible request ends with one clear line and the right exit code, and changes nothing."""
    before = snapshot.read_bytes()
    outcome = create(*words)

    assert (outcome.code, outcome.out) == (code, "")
    assert says in outcome.err.splitlines()[0]
    assert snapshot.read_bytes() == before


def test_a_malformed_file_names_the_line(create: Callable[..., Any], tmp_path: Path) -> None:
    """An unknown key is reported with its line."""
    file = tmp_path / "topics.yaml"
    file.write_text("topics:\n- {name: a, partitions: 1, replication_factor: 1}\n- {name: b, partition: 1}\n")
    outcome = create("-f", str(file))

    assert outcome.code == 2
    assert "line 3" in outcome.err


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["-o", "json"]])
def test_a_topic_that_takes_no_acks_of_all_is_warned_of(create: Callable[..., Any], more: list[str]) -> None:
    """A topic with more min in-sync replicas than replicas is created as requested, with a warning."""
    words = ("t", "-p", "1", "-r", "2", "--config")
    warning = "topic t: min.insync.replicas 3 exceeds replication factor 2; producers"
    outcome = create(*words, "min.insync.replicas=3", *more)
    assert outcome.code == 0
    assert warning in (outcome.err if more == ["-o", "json"] else outcome.out)
    assert "min.insync.replicas 2" not in create("u", *words[1:], "min.insync.replicas=2", *more).out


def test_drift_of_topics_is_reported_and_can_be_an_exit_code(
    create: Callable[..., Any], snapshot: Path, tmp_path: Path
) -> None:
    """A topic that differs is in the first line; with --exit-code it causes exit 3, as does a missing topic."""
    file = tmp_path / "topics.yaml"
    file.write_text("topics: [{name: one, partitions: 2, replication_factor: 2}]\n")
    check = ("-f", str(file), "--dry-run", "--exit-code")
    assert create(*check).code == 3
    assert create("-f", str(file)).code == 0
    same = create(*check)
    assert (same.code, same.out.startswith("Nothing to do: all topics exist.")) == (0, True)
    file.write_text("topics: [{name: one, partitions: 4, replication_factor: 2}]\n")
    other = create(*check)
    assert (other.code, other.out.startswith("Nothing to create: all topics exist, and 1 differs.")) == (3, True)
    assert create("-f", str(file), "--exit-code").code == 2


def test_a_rack_that_accepts_no_replicas_is_warned_of(create: Callable[..., Any], snapshot: Path) -> None:
    """Brokers that accept none leave their rack out of a new topic; the warning names them and the way back."""
    rows = [json.loads(line) for line in snapshot.read_text().splitlines()]
    rack = next(row["rack"] for row in rows if row.get("broker") == 3)
    closed = [row for row in rows if row.get("rack") == rack]
    for log_dir in [log_dir for row in closed for log_dir in row["log_dirs"]]:
        log_dir["state"] = "cordoned"
    snapshot.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    outcome = create("t", "-p", "2", "-r", "3")

    assert outcome.code == 0, outcome.err
    named = ", ".join(f"broker {row['broker']} (rack {rack})" for row in closed)
    assert f"topic t: replicas share racks, because {named} accept none; run 'kafkabal" in " ".join(outcome.out.split())
    assert "share racks" not in create("u", "-p", "2", "-r", "2").out


@pytest.mark.parametrize(("signal", "code"), [(KeyboardInterrupt(), 130), (Terminated(), 143)])
def test_an_interruption_says_that_topics_may_exist(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, signal: BaseException, code: int
) -> None:
    """A request that was sent takes effect: after Ctrl-C it is unknown which topics exist."""

    def sent(*_: object, validate_only: bool = False) -> dict[str, Any]:
        if not validate_only:
            raise signal
        return {}

    monkeypatch.setattr(SnapshotCluster, "create_topics", sent)
    outcome = create("t", "-p", "1", "-r", "1")

    assert outcome.code == code
    assert "interrupted: some topics may have been created" in outcome.err
    assert "--if-not-exists" in outcome.err


def test_an_interruption_of_the_report_says_that_topics_may_exist(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report takes longer than the request; a dry run has created nothing."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kafkabal.reporting.create_report.creation_report", interrupted)

    assert "some topics may have been created" in create("t", "-p", "1", "-r", "1").err
    assert "created" not in create("u", "-p", "1", "-r", "1", "--dry-run").err


def test_a_log_dir_that_the_broker_chooses_is_not_reported_as_chosen(
    create: Callable[..., Any], snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the permission to choose log dirs, the report says ``any`` instead of the planned one."""
    rows = [json.loads(line) for line in snapshot.read_text().splitlines()]
    for row in rows:
        if "broker" in row:
            row["log_dirs"].append({"path": "/second", "total_bytes": 10**12, "usable_bytes": 10**12})
    snapshot.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def chosen(topic: str) -> set[str]:
        assignment = json.loads(create(topic, "-p", "2", "-r", "2", "-o", "json").out)["assignment"]
        return {path for row in assignment for path in row["log_dirs"]}

    assert "any" not in chosen("t")

    def denied(*_: object) -> None:
        raise NotAuthorizedError("not authorized to alter the cluster")

    monkeypatch.setattr(SnapshotCluster, "move_log_dirs", denied)
    assert chosen("u") == {"any"}


def test_a_file_of_many_topics_is_shown_by_its_first_lines(create: Callable[..., Any], tmp_path: Path) -> None:
    """People see 20 topics, partitions and notes, and how many more there are, or all of them; programs see all."""
    described = "{name: t%02d, partitions: 2, replication_factor: 2, configs: {min.insync.replicas: 3}}"
    topics = tmp_path / "topics.yaml"
    topics.write_text("topics:\n" + "".join(f"- {described % i}\n" for i in range(23)), "utf-8")
    words = "-f", str(topics), "--dry-run"
    short, whole, data = create(*words), create(*words, "--all"), create(*words, "-o", "json")

    more = [line for line in short.out.splitlines() if line.startswith("and ")]
    assert more == ["and 3 more", "and 26 more", "and 3 more"]
    assert "t22 " not in short.out
    assert whole.out.count("\nt22 ") == 3
    assert "\nand " not in whole.out
    document = json.loads(data.out)
    assert [len(document[key]) for key in ("topics", "assignment", "notes")] == [23, 46, 23]
    assert data.err.count("kafkabal: warning: topic ") == 20
    assert data.err.endswith("kafkabal: warning: and 3 more\n")
