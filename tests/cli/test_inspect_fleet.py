"""``kafkabal inspect`` on several clusters: one row each, worst first, even if some fail."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkabal.clusters as clusters_room
from kafkabal.cli.framework.chosen_clusters import run_on_each
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config import ConnectionSettings
from kafkabal.errors import RefusedByClusterError
from kafkabal.testing.cluster_builders import brokers, cluster, topic

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Three clusters in the user's profiles file."""
    path = tmp_path / "config" / "profiles.yaml"
    path.parent.mkdir()
    names = {"prod-a": "even", "prod-b": "lopsided", "lab": "broken"}
    path.write_text(
        "profiles:\n" + "".join(f"  {name}:\n    snapshot: {SNAPSHOTS / f}.jsonl\n" for name, f in names.items())
    )
    return path


def clusters(text: str) -> list[tuple[str, str]]:
    """Name and state of each row."""
    return [(row["cluster"], row["state"]) for row in json.loads(text)["clusters"]]


def test_all_profiles_are_one_row_each_worst_first(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Clusters are sorted from broken over imbalanced to balanced, with the figures of a single inspection."""
    shown = run_cli("inspect", "--all-profiles", "-o", "json")
    assert shown.code == 0, shown.err
    assert clusters(shown.out) == [("lab", "broken"), ("prod-b", "imbalanced"), ("prod-a", "balanced")]
    alone = json.loads(run_cli("inspect", "--profile", "prod-b", "-o", "json").out)
    row = json.loads(shown.out)["clusters"][1]
    assert row["brokers"] == alone["n_brokers"]
    assert row["used_bytes"] == sum(broker["used_bytes"] for broker in alone["brokers"])
    assert row["fullest"] == max(broker["full"] for broker in alone["brokers"])
    assert row["skew"] == max(score["skew"] for score in alone["scores"])


def test_patterns_and_repeated_names(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A pattern selects all matches, repeated options add up, and each cluster appears once."""
    both = [("prod-b", "imbalanced"), ("prod-a", "balanced")]
    assert clusters(run_cli("inspect", "--profile", "prod-*", "-o", "json").out) == both
    twice = run_cli("inspect", "--profile", "prod-a", "--profile", "prod-*", "-o", "json")
    assert clusters(twice.out) == both
    by_variable = run_cli("inspect", "-o", "json", environ={"KAFKABAL_PROFILE": "prod-*"})
    assert clusters(by_variable.out) == both


def test_a_pattern_of_one_has_the_shape_of_several(run_cli: Callable[..., Any], profiles: Path) -> None:
    """The output's shape depends on the options, not on how many clusters match."""
    assert clusters(run_cli("inspect", "--profile", "la*", "-o", "json").out) == [("lab", "broken")]


def test_rows_of_all_clusters_have_the_cluster_in_front(run_cli: Callable[..., Any], profiles: Path) -> None:
    """--by combines the rows of all clusters, even with different scores; CSV has these rows."""
    for by, key in (("broker", "brokers"), ("log-dir", "log_dirs"), ("rack", "racks"), ("topic", "topics")):
        shown = run_cli("inspect", "--all-profiles", "--by", by, "-o", "json")
        assert {row["cluster"] for row in json.loads(shown.out)[key]} == {"prod-a", "prod-b", "lab"}
    text = run_cli("inspect", "--all-profiles", "--by", "broker", "-o", "csv").out.splitlines()
    assert text[0].startswith("cluster,broker,")
    assert len(text) == 1 + 6 + 6 + 5
    lines = run_cli("inspect", "--all-profiles", "-o", "jsonl").out.splitlines()
    assert [json.loads(line).get("cluster") for line in lines] == [None, "lab", "prod-b", "prod-a"]


def test_an_unreachable_cluster_is_a_row(run_cli: Callable[..., Any], profiles: Path) -> None:
    """The other clusters are shown in full; the exit code is that of the worst."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        profiles.write_text(f"{profiles.read_text()}  gone:\n    bootstrap_servers: {address}\n")
        shown = run_cli("inspect", "--all-profiles", "--cluster-timeout", "4s", "-o", "json")
    assert shown.code == 1
    rows = json.loads(shown.out)["clusters"]
    assert (rows[0]["cluster"], rows[0]["state"], rows[0]["up"], rows[0]["brokers"]) == (
        "gone",
        "no-response",
        False,
        None,
    )
    assert rows[0]["problem"]
    assert clusters(shown.out)[1:] == [("lab", "broken"), ("prod-b", "imbalanced"), ("prod-a", "balanced")]


def test_no_cluster_may_take_longer_than_its_limit() -> None:
    """A monitoring plugin has to respond before its own timeout: a second more for each cluster would be too late."""
    never = threading.Event()
    found = run_on_each(["hung", "well"], lambda name: name == "well" or never.wait(), 2.0)
    assert (str(found["hung"]), found["well"]) == ("no response within 2 s", True)
    never.set()


def test_a_cluster_that_rejects_the_password_is_a_row(
    run_cli: Callable[..., Any], profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row and the plugin line report the rejection, without the password; the others are shown."""
    properties = profiles.parent / "client.properties"
    properties.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=PlainLoginModule required username="alice" password="wrong-pw";\n'
    )
    added = f"  locked:\n    bootstrap_servers: k:9092\n    command_config: {properties}\n"
    profiles.write_text(f"{profiles.read_text()}{added}")
    connect = clusters_room.connect

    def rejected(address: Any) -> Any:
        if isinstance(address, ConnectionSettings):
            raise RefusedByClusterError("k:9092 rejected the credentials: Authentication failed")
        return connect(address)

    monkeypatch.setattr(clusters_room, "connect", rejected)
    shown = run_cli("inspect", "--all-profiles", "-o", "json")
    rows = json.loads(shown.out)["clusters"]
    assert (shown.code, rows[0]["cluster"], len(rows)) == (1, "locked", 4)
    assert rows[0]["problem"] == "k:9092 rejected the credentials: Authentication failed"
    nagios = run_cli("inspect", "--all-profiles", "--nagios")
    assert nagios.code == 2
    assert "locked: k:9092 rejected the credentials" in nagios.out
    assert "wrong-pw" not in shown.out + shown.err + nagios.out + nagios.err


def test_a_snapshot_was_read_when_it_was_taken(run_cli: Callable[..., Any], profiles: Path) -> None:
    """An old snapshot is as old among several clusters as alone: the alert for unread clusters goes by this time."""
    fleet = json.loads(run_cli("inspect", "--all-profiles", "-o", "json").out)["clusters"]
    for row in fleet:
        alone = json.loads(run_cli("inspect", "--profile", row["cluster"], "-o", "json").out)
        assert row["read_at_s"] == alone["read_at_s"] == 1767225600.0


def test_a_profile_with_a_wrong_value_is_a_row_too(run_cli: Callable[..., Any], profiles: Path) -> None:
    """One mistake in a file does not disable the monitoring of all other clusters."""
    profiles.write_text(f"{profiles.read_text()}  bad:\n    snapshot: x.jsonl\n    tolerance: 10\n")
    shown = run_cli("inspect", "--all-profiles", "-o", "json")
    rows = json.loads(shown.out)["clusters"]
    assert (shown.code, rows[0]["cluster"], len(rows)) == (1, "bad", 4)
    assert "ambiguous percentage" in rows[0]["problem"]


def _row_of_added(run_cli: Callable[..., Any], profiles: Path, name: str, settings: str) -> dict[str, Any]:
    """The row of a profile that is added and cannot be read; checks that the others are shown as without it."""
    before = json.loads(run_cli("inspect", "--all-profiles", "-o", "json").out)["clusters"]
    profiles.write_text(f"{profiles.read_text()}  {json.dumps(name)}:\n    {settings}\n")
    shown = run_cli("inspect", "--all-profiles", "-o", "json")
    first, *others = json.loads(shown.out)["clusters"]
    assert (shown.code, first["cluster"], first["state"]) == (1, name, "no-response")
    assert others == before
    return dict(first)


def test_a_profile_whose_snapshot_is_gone_is_a_row_too(run_cli: Callable[..., Any], profiles: Path) -> None:
    """The others are shown as without it, and the exit code says that one is missing."""
    row = _row_of_added(run_cli, profiles, "gone", "snapshot: none.jsonl")
    assert row["problem"] == f"{profiles.parent / 'none.jsonl'}: cannot read: No such file or directory"


def test_a_profile_with_an_unknown_key_is_a_row_too(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A misspelt key in one profile is reported in its row in every format, exit 1; the others are unaffected."""
    row = _row_of_added(run_cli, profiles, "bad", "snapshot: x.jsonl\n    tolerence: 10%")
    assert row["problem"] == f"{profiles}, line 10: unknown key in profile 'bad': 'tolerence'"
    assert run_cli("inspect", "--profile", "prod-*", "--profile", "bad").code == 1
    nagios = run_cli("inspect", "--all-profiles", "--nagios")
    assert (nagios.code, "bad: " in nagios.out) == (2, True)


@pytest.mark.parametrize("name", ["eu/prod", "other.yaml", "other.yaml#prod-a"])
def test_a_profile_named_like_a_file_is_a_row_with_that_reason(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """--profile would take the name for a file: no such file is read in its place, and the others are shown."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / name.partition("#")[0]
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"snapshot: {SNAPSHOTS / 'broken.jsonl'}\n")
    row = _row_of_added(run_cli, profiles, name, f"snapshot: {SNAPSHOTS / 'even.jsonl'}")
    assert row["problem"] == f"{profiles}, line 8: invalid profile name: {name!r}"
    checked = run_cli("profiles", "check", "-o", "json")
    assert checked.code == 3, checked.err
    problems = {each["profile"]: each["problem"] for each in json.loads(checked.out)["profiles"]}
    assert problems == {name: row["problem"], "lab": None, "prod-a": None, "prod-b": None}


def test_every_cluster_that_did_not_respond_has_its_reason(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Nothing else that people see says why; of the others, only the worst ten are described."""
    gone = "".join(f"  gone-{i:02}:\n    snapshot: /nowhere/{i}\n" for i in range(15))
    same = "".join(f"  same-{i:02}:\n    snapshot: {SNAPSHOTS / 'lopsided.jsonl'}\n" for i in range(15))
    profiles.write_text(profiles.read_text() + gone + same)
    shown = run_cli("inspect", "--all-profiles").out
    assert [i for i in range(15) if f"gone-{i:02} did not respond: /nowhere/{i}: " not in shown] == []
    assert "the worst 10 of 17 imbalanced or broken:" in shown
    assert [i for i in range(15) if f"same-{i:02}: " in shown] == [*range(8)]


def test_the_page_of_a_fleet_has_a_chart_for_each_cluster(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Brokers against their bands, the worst cluster first; one that did not respond has none."""
    profiles.write_text(f"{profiles.read_text()}  gone:\n    snapshot: none.jsonl\n")
    page = run_cli("inspect", "--all-profiles", "-o", "html").out
    assert re.findall("<h2>(.+)</h2>", page) == [f"{name}: disk by broker" for name in ("lab", "prod-b", "prod-a")]
    assert page.count('class="band"') > 0


@pytest.mark.parametrize(
    ("profile", "words", "code"),
    [("prod-*", ["--check"], 3), ("prod-a", ["--profile", "prod-a*", "--check"], 0), ("prod-*", [], 0)],
)
def test_check_gives_the_code_of_the_worst(
    run_cli: Callable[..., Any], profiles: Path, profile: str, words: list[str], code: int
) -> None:
    """Findings of one cluster are findings of the fleet."""
    assert run_cli("inspect", "--profile", profile, *words).code == code


def test_nagios_is_one_line_over_all(run_cli: Callable[..., Any], profiles: Path) -> None:
    """The line has the worst status, each unhealthy cluster by name, and the labelled figures of all."""
    shown = run_cli("inspect", "--all-profiles", "--nagios")
    assert shown.code == 2
    assert len(shown.out.splitlines()) == 1
    assert shown.out.startswith("KAFKABAL CRITICAL - lab: ")
    assert "'prod-a disk skew'=0" in shown.out
    problems = shown.out.removeprefix("KAFKABAL CRITICAL - ").split(" | ")[0].split("; prod-b: ")
    assert len(problems) == 2
    assert not any(problem.endswith(".") for problem in problems)
    good = run_cli("inspect", "--profile", "prod-a", "--profile", "prod-a*", "--nagios")
    assert (good.code, good.out.split(" |")[0]) == (0, "KAFKABAL OK - 1 cluster balanced")


def test_metrics_of_all_clusters_have_a_label_each(run_cli: Callable[..., Any], profiles: Path) -> None:
    """No two series collide, and a cluster's series are the same as without the others."""
    profiles.write_text(f"{profiles.read_text()}  gone:\n    bootstrap_servers: 127.0.0.1:1\n")
    text = run_cli("inspect", "--all-profiles", "-o", "prometheus").out
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len({*series})
    assert 'kafkabal_up{cluster="gone"} 0.0' in text
    alone = run_cli("inspect", "--profile", "prod-b", "-o", "prometheus").out
    clock = "kafkabal_last_success_timestamp_seconds"
    of_b = {line for line in alone.splitlines() if not line.startswith(("#", clock))}
    assert any(line.startswith("kafkabal_offline_log_dirs{") for line in of_b)
    assert of_b <= {*text.splitlines()}


def test_bytes_of_clusters_and_data_sets_are_marked_if_estimated(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Sizes that a dead broker does not report are estimates in every view."""
    rows = json.loads(run_cli("inspect", "--all-profiles", "-o", "json").out)["clusters"]
    assert {row["cluster"]: row["used_bytes_estimated"] for row in rows} == {
        "lab": True,
        "prod-b": False,
        "prod-a": False,
    }
    copies = json.loads(run_cli("inspect", "--all-profiles", "--topics", "*", "-o", "json").out)["copies"]
    assert {row["cluster"] for row in copies if row["bytes_estimated"]} == {"lab"}


def test_data_sets_over_clusters(run_cli: Callable[..., Any], profiles: Path) -> None:
    """The copy with most records is the original; others show how far they are behind; none mirrors itself."""
    shown = run_cli("inspect", "--all-profiles", "--topics", "imag*", "-o", "json")
    assert shown.code == 0, shown.err
    copies = [row for row in json.loads(shown.out)["copies"] if row["topic"] == "images"]
    assert copies[0]["origin"] is None
    assert all(
        row["behind"] == copies[0]["end_offsets"] - row["end_offsets"] for row in copies[1:] if row["end_offsets"]
    )
    profiles.write_text(f"{profiles.read_text()}  prod-b-admin:\n    snapshot: {SNAPSHOTS / 'lopsided.jsonl'}\n")
    twice = run_cli("inspect", "--all-profiles", "--topics", "imag*", "-o", "json")
    assert [row for row in json.loads(twice.out)["copies"] if row["topic"] == "images"] == copies
    for words in (["--topics", "imag*"], []):
        note = "the same cluster: prod-b, prod-b-admin"
        assert note in run_cli("inspect", "--all-profiles", *words, "-o", "json").out
    nothing = run_cli("inspect", "--all-profiles", "--topics", "no-such")
    assert (nothing.code, nothing.out.splitlines()[0]) == (0, "No topic matches no-such.")


def test_people_see_twenty_copies_of_data_sets_unless_they_ask_for_more(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path
) -> None:
    """A pattern that matches thousands of topics does not fill the terminal; ``--top 0`` and programs get all."""
    state = cluster(brokers(1), [topic(f"t{i:02d}", (1,)) for i in range(25)])
    write_snapshot(state, tmp_path / "many.jsonl")
    profiles.write_text(f"profiles:\n  many:\n    snapshot: {tmp_path / 'many.jsonl'}\n")
    words = ("inspect", "--all-profiles", "--topics", "t*")
    shown = [run_cli(*words, *top).out for top in ((), ("--top", "3"), ("--top", "0"))]
    assert [len(re.findall(r"^t\d\d ", text, re.MULTILINE)) for text in shown] == [20, 3, 25]
    assert "5 more" in shown[0]
    assert len(json.loads(run_cli(*words, "-o", "json").out)["copies"]) == 25


def test_imported_snapshots_are_different_clusters(run_cli: Callable[..., Any], profiles: Path, tmp_path: Path) -> None:
    """Two without a known id are not taken for one, of which only the first would be shown."""
    added = ""
    for name in ("one", "two"):
        text = tmp_path / f"{name}.txt"
        text.write_text("Topic: images\tConfigs:\n\tTopic: images\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n")
        out = str(tmp_path / f"{name}.jsonl")
        assert run_cli("snapshot", "import", "--topics", str(text), "--out", out).code == 0
        added += f"  {name}:\n    snapshot: {out}\n"
    profiles.write_text(f"profiles:\n{added}")
    for words in (["--topics", "images"], []):
        assert "the same cluster" not in run_cli("inspect", "--all-profiles", *words).out
    copies = json.loads(run_cli("inspect", "--all-profiles", "--topics", "images", "-o", "json").out)["copies"]
    assert [copy["cluster"] for copy in copies] == ["one", "two"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all-profiles", "--profile", "lab"], "--all-profiles and --profile cannot be combined"),
        (["--profile", "x*"], "no profile matches 'x*'"),
        (["--profile", "lab", "--profile", "gone"], "unknown profile: 'gone'"),
        (["--profile", "lab", "--profile", ""], "empty value"),
        (["--all-profiles", "-b", "a:1"], "--bootstrap-server cannot be combined with several profiles"),
        (["--all-profiles", "--save", "x.jsonl"], "take one cluster"),
        (["--all-profiles", "--by", "rack", "--rack-level", "1"], "--rack-level and --price-per-gb take one cluster"),
        (["--all-profiles", "--by", "rack", "--price-per-gb", "1"], "--rack-level and --price-per-gb take one cluster"),
        (["--all-profiles", "--topics", "a", "--by", "broker"], "--topics and --by cannot be combined"),
        (["--all-profiles", "--topics", "a", "--score", "disk"], "--topics and --score cannot be combined"),
        (["--all-profiles", "--topics", "a", "--sample", "1s"], "--topics and --sample cannot be combined"),
        (["--profile", "lab", "--topics", "a"], "--topics requires several clusters"),
        (["--profile", "lab", "--cluster-timeout", "1s"], "--cluster-timeout requires several clusters"),
    ],
)
def test_incompatible_options_are_refused(
    run_cli: Callable[..., Any], profiles: Path, words: list[str], message: str
) -> None:
    """Contradictory options are refused in one clear line each, before any cluster is contacted."""
    refused = run_cli("inspect", *words)
    assert refused.code == 2
    assert message in refused.err


def test_variables_that_name_one_cluster_are_ignored_with_a_warning(
    run_cli: Callable[..., Any], profiles: Path
) -> None:
    """KAFKABAL_SNAPSHOT in the environment must not make all profiles refer to the same cluster."""
    shown = run_cli(
        "inspect", "--all-profiles", "-o", "json", environ={"KAFKABAL_SNAPSHOT": str(SNAPSHOTS / "even.jsonl")}
    )
    assert {row["cluster_id"] for row in json.loads(shown.out)["clusters"]} == {"even", "lopsided", "broken"}
    assert "KAFKABAL_SNAPSHOT ignored" in shown.err
