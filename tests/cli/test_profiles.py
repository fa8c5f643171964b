"""``kafkabal profiles``: lists, shows without secrets, changes and checks the profiles file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.config import profiles as profiles_module
from kafkabal.config.yaml_document import read_yaml

SNAPSHOTS = Path(__file__).parent / "snapshots"
EVEN = str(SNAPSHOTS / "even.jsonl")


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """The user's file, with a comment and two profiles."""
    path = tmp_path / "config" / "profiles.yaml"
    path.parent.mkdir()
    path.write_text(
        f"# ours\nprofiles:\n    prod:   # the large one\n        snapshot: {SNAPSHOTS / 'lopsided.jsonl'}\n"
        f"    lab:\n        snapshot: {SNAPSHOTS / 'even.jsonl'}\n"
    )
    return path


def test_no_file_is_an_empty_list(run_cli: Callable[..., Any]) -> None:
    """A new user gets the command to start with, not an error."""
    shown = run_cli("profiles", "list")
    assert shown.code == 0
    assert "kafkabal profiles add" in shown.out
    assert json.loads(run_cli("profiles", "list", "-o", "json").out)["profiles"] == []


def test_add_makes_a_file_that_is_used(run_cli: Callable[..., Any]) -> None:
    """The next command reads the added profile, with its own setting."""
    added = run_cli(
        *("profiles", "add", "new", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "--set", "tolerance=5%", "--use")
    )
    assert added.code == 0, added.err
    shown = json.loads(run_cli("inspect", "-o", "json").out)
    assert (shown["cluster_id"], shown["tolerance"]) == ("even", 0.05)


def test_add_and_use_keep_comments_and_layout(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Only lines are added; a second use changes the first."""
    before = profiles.read_text()
    assert run_cli("profiles", "add", "extra", "-b", "a:9092,b:9092").code == 0
    assert profiles.read_text() == f"{before}    extra:\n        bootstrap_servers: a:9092,b:9092\n"
    assert run_cli("profiles", "use", "lab").code == 0
    assert run_cli("profiles", "use", "prod").code == 0
    assert profiles.read_text().startswith("use: prod\n# ours\n")
    listed = json.loads(run_cli("profiles", "list", "-o", "json").out)["profiles"]
    assert [(row["profile"], row["in_use"]) for row in listed] == [("prod", True), ("lab", False), ("extra", False)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "prod", "-b", "a:1"], "profile already exists: 'prod'"),
        (["add", "a b", "-b", "a:1"], "invalid profile name: 'a b'"),
        (["add", "x.yaml", "-b", "a:1"], "invalid profile name"),
        (["add", "x"], "a profile needs a cluster"),
        (["add", "x", "-b", "a:1", "--set", "tolerance=10"], "tolerance: ambiguous percentage"),
        (["add", "x", "-b", "a:1", "--set", "tolerence=10%"], "unknown key in a profile: 'tolerence'"),
        (["add", "x", "-b", "a:1", "--set", "=1"], "--set: invalid setting"),
        (["add", "x", "-b", "a:1", "--snapshot", "s.jsonl"], "both a snapshot (snapshot) and a live cluster"),
        (["add", "x", "--snapshot", "s.jsonl", "--command-config", "c"], "command_config has no effect"),
        (["add", "x", "--snapshot", "\udcff.jsonl"], "snapshot: not UTF-8 text"),
        (["use", "gone"], "unknown profile: 'gone'"),
        (["show", "gone"], "unknown profile: 'gone'"),
        (["check", "gone"], "unknown profile: 'gone'"),
    ],
)
def test_invalid_arguments_change_nothing(
    run_cli: Callable[..., Any], profiles: Path, words: list[str], message: str
) -> None:
    """Each invalid command is refused with the reason, and the file is unchanged."""
    before = profiles.read_text()
    refused = run_cli("profiles", *words)
    assert (refused.code, profiles.read_text()) == (2, before)
    assert message in refused.err


@pytest.mark.parametrize("text", ["tolerance: 5%\n", "profiles: {a: {tolerance: 5%}}\n", "profiles: [\n"])
def test_a_layout_that_cannot_be_extended_is_left_alone(run_cli: Callable[..., Any], profiles: Path, text: str) -> None:
    """Single profiles, flow style and broken files are refused, not damaged."""
    profiles.write_text(text)
    assert run_cli("profiles", "add", "x", "-b", "a:1").code == 2
    assert profiles.read_text() == text


def test_a_file_of_another_system_is_extended(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Windows line ends are accepted."""
    profiles.write_bytes(b"profiles:\r\n  a:\r\n    tolerance: 5%\r\n")
    assert run_cli("profiles", "add", "x", "-b", "a:1").code == 0
    rows = json.loads(run_cli("profiles", "list", "-o", "json").out)["profiles"]
    assert [row["profile"] for row in rows] == ["a", "x"]


def test_long_lists_of_names_are_cut(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A hint does not list all of twenty profiles."""
    profiles.write_text("profiles:\n" + "".join(f"  p{n:02}: {{tolerance: 5%}}\n" for n in range(20)))
    for words in (["inspect", "--profile", "zzz*"], ["profiles", "use", "zzz"], ["profiles", "show", "zzz"]):
        assert "p00, p01, p02, p03, p04 and 15 more" in run_cli(*words).err


@pytest.mark.parametrize(
    "words",
    [["inspect", "--all-profiles"], ["inspect", "--snapshot", EVEN], ["profiles", "list"], ["profiles", "check"]],
)
def test_a_file_of_many_clusters_is_read_once(
    run_cli: Callable[..., Any], profiles: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Read again for each of a thousand clusters, it takes longer than all of them may take to respond."""
    profiles.write_text("profiles:\n" + "".join(f"  p{n}: {{snapshot: {EVEN}}}\n" for n in range(3)))
    read: list[Path] = []
    monkeypatch.setattr(profiles_module, "read_yaml", lambda path: read.append(path) or read_yaml(path))
    assert run_cli(*words).code == 0
    assert read == [profiles]


def test_the_headline_of_check_names_the_first_few(run_cli: Callable[..., Any], profiles: Path) -> None:
    """Twenty names of clusters that failed are not one sentence; the notes have all with their reasons."""
    profiles.write_text("profiles:\n" + "".join(f"  p{n:02}: {{snapshot: none}}\n" for n in range(20)))
    shown = run_cli("profiles", "check").out
    assert shown.startswith("20 profiles: 20 failed (p00, p01, p02, p03, p04 and 15 more).\n")
    assert "p19: " in shown


def test_values_that_look_like_yaml_survive(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Values are quoted if YAML would read them as something else."""
    snapshot = tmp_path / "a: #b's [x].jsonl"
    snapshot.write_bytes((SNAPSHOTS / "even.jsonl").read_bytes())
    assert run_cli("profiles", "add", "odd", "--snapshot", str(snapshot), "--set", "topics=*,a#b").code == 0
    assert json.loads(run_cli("inspect", "--profile", "odd", "-o", "json").out)["cluster_id"] == "even"


@pytest.mark.parametrize("name", ["x #y", r"a\1", "null", "b: c"])
def test_any_profile_of_the_file_can_be_made_the_default(
    run_cli: Callable[..., Any], profiles: Path, name: str
) -> None:
    """A name that was written by hand, in quotes, stays the same name in the line that chooses it."""
    profiles.write_text(f"use: lab\n{profiles.read_text()}    '{name}': {{tolerance: 5%}}\n")
    assert run_cli("profiles", "use", name).code == 0
    listed = json.loads(run_cli("profiles", "list", "-o", "json").out)["profiles"]
    assert [row["profile"] for row in listed if row["in_use"]] == [name]


def test_a_value_that_reads_as_nothing_is_quoted(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A pattern may be a word that YAML takes for no value."""
    assert run_cli("profiles", "add", "x", "-b", "a:1", "--set", "topics=null").code == 0
    assert profiles.read_text().endswith('topics: "null"\n')


def test_secrets_are_never_shown(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Only values of a client.properties that cannot be secret are shown; those of unknown keys are hidden."""
    properties = tmp_path / "client.properties"
    properties.write_text(
        'security.protocol=SASL_SSL\nsasl.jaas.config=org.X required password="hush";\n'
        "ssl.key.password=hush\nmy.own.key=hush\nssl.truststore.location=/ca.pem\n"
    )
    assert run_cli("profiles", "add", "p", "-b", "a:9092", "--command-config", str(properties)).code == 0
    for form in ("table", "json", "yaml", "csv"):
        shown = run_cli("profiles", "show", "p", "-o", form)
        assert shown.code == 0, shown.err
        assert "hush" not in shown.out + shown.err
        assert "SASL_SSL" in shown.out
        assert "/ca.pem" in shown.out
    rows = {row["setting"]: row for row in json.loads(run_cli("profiles", "show", "p", "-o", "json").out)["settings"]}
    assert rows["ssl.key.password"]["hidden"]
    assert rows["ssl.key.password"]["value"] is None


def test_check_asks_all_and_names_those_that_fail(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A cluster that does not respond is a row and exit 3; the others are still checked."""
    assert run_cli("profiles", "check").code == 0
    profiles.write_text(profiles.read_text() + "    gone:\n        bootstrap_servers: 127.0.0.1:1\n")
    checked = run_cli("profiles", "check", "-o", "json")
    assert checked.code == 3
    rows = json.loads(checked.out)["profiles"]
    assert [(row["profile"], row["responds"]) for row in rows] == [("gone", False), ("lab", True), ("prod", True)]
    assert rows[1]["cluster_id"] == "even"


def test_check_looks_up_scores(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A cluster that responds does not hide a score that no command could use."""
    snapshot = Path(__file__).parent / "snapshots" / "lopsided.jsonl"
    profiles.write_text(f"profiles:\n  lab:\n    snapshot: {snapshot}\n    scores: [ruplicas]\n")
    found = run_cli("profiles", "check")
    assert (found.code, "line 4: scores: unknown score: 'ruplicas'" in found.out) == (3, True), found.out


def test_use_of_an_unknown_profile_in_the_file_is_named(run_cli: Callable[..., Any], profiles: Path) -> None:
    """If the default profile was removed by hand, no other profile silently replaces it."""
    profiles.write_text("use: old\n" + profiles.read_text())
    refused = run_cli("inspect")
    assert refused.code == 2
    assert f"{profiles}, line 1: use: unknown profile: 'old'" in refused.err


@pytest.fixture
def misspelt(profiles: Path) -> Path:
    """The profiles file with a third profile that has an unknown key."""
    profiles.write_text(profiles.read_text() + "    bad:\n        snapshot: x.jsonl\n        tolerence: 5%\n")
    return profiles


def test_a_misspelt_key_stops_its_own_profile_only(run_cli: Callable[..., Any], misspelt: Path) -> None:
    """Commands on other clusters work without mentioning it; those on this one are refused, naming the line."""
    good = run_cli("inspect", "--profile", "lab")
    assert (good.code, good.err) == (0, "")
    for words in (["inspect", "--profile", "bad"], ["profiles", "show", "bad"], ["profiles", "use", "bad"]):
        refused = run_cli(*words)
        assert (refused.code, misspelt.read_text().startswith("use:")) == (2, False)
        assert f"{misspelt}, line 9: unknown key in profile 'bad': 'tolerence'" in refused.err
        assert "did you mean: tolerance" in refused.err


def test_a_misspelt_key_is_listed_and_checked(run_cli: Callable[..., Any], misspelt: Path) -> None:
    """``list`` shows the problem next to the others, ``check`` counts it as failed, and the file can be edited."""
    listed = run_cli("profiles", "list", "-o", "json")
    rows = {row["profile"]: row["problem"] for row in json.loads(listed.out)["profiles"]}
    assert (listed.code, rows["prod"], rows["lab"]) == (0, None, None)
    assert "line 9: unknown key in profile 'bad': 'tolerence'" in rows["bad"]
    checked = run_cli("profiles", "check", "-o", "json")
    responds = {row["profile"]: row["responds"] for row in json.loads(checked.out)["profiles"]}
    assert (checked.code, responds) == (3, {"bad": False, "lab": True, "prod": True})
    assert run_cli("profiles", "add", "new", "-b", "a:1", "--use").code == 0


def test_a_setting_where_profiles_are_named_refuses_the_file(run_cli: Callable[..., Any], profiles: Path) -> None:
    """A wrongly indented setting may belong to any profile, so none of them is used."""
    profiles.write_text(profiles.read_text() + "    tolerance: 5%\n")
    refused = run_cli("inspect", "--profile", "lab")
    assert (refused.code, "line 7: tolerance: expected a mapping" in refused.err) == (2, True)


def test_a_folder_of_profiles_that_cannot_be_made_is_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A home that is a file ends in one line."""
    (tmp_path / "config").touch()
    outcome = run_cli("profiles", "add", "lab", "-b", "b:1")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
    assert "profiles.yaml: cannot write: " in outcome.err
