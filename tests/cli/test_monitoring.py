"""``kafkabal monitoring``: files for the clusters of the profiles, all or none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Two profiles."""
    path = tmp_path / "config" / "profiles.yaml"
    path.parent.mkdir()
    path.write_text("profiles:\n  prod: {bootstrap_servers: a:1}\n  staging: {bootstrap_servers: b:1}\n")
    return path


def test_thresholds_and_addresses_are_in_the_files(run_cli: Callable[..., Any], profiles: Path, tmp_path: Path) -> None:
    """The given values reach Prometheus and Alertmanager, quoted so that nothing can break out."""
    done = run_cli(
        *("monitoring", "--out", str(tmp_path / "m"), "--full", "70%", "--full-within", "5d"),
        *("--exporter", "h1:9100", "--exporter", "h2:9100", "--webhook", 'http://x/"a'),
    )
    assert done.code == 0, done.err
    assert "kafkabal-metrics@prod.timer kafkabal-metrics@staging.timer" in done.err
    # whatever the units need: their user, a folder that it may write to, the profiles where they read them
    assert "useradd --system --user-group kafkabal\n" in done.err
    assert "install -d -o kafkabal -g kafkabal /var/lib/node_exporter\n" in done.err
    assert f"{profiles} /etc/kafkabal/profiles.yaml\n" in done.err
    rules = {r["alert"]: r for r in yaml.safe_load((tmp_path / "m" / "alerts.yml").read_text())["groups"][0]["rules"]}
    assert rules["KafkaDiskNearlyFull"]["expr"].endswith("> 0.7")
    # one of several clusters of which there never were metrics must not be hidden by the others
    no_data = rules["KafkabalNoData"]["expr"]
    assert no_data.count("absent(") == 2
    assert all(f'{{cluster="{name}"}}' in no_data for name in ("prod", "staging"))
    assert "432000" in rules["KafkaBrokerFillsUp"]["expr"]
    scrape = yaml.safe_load((tmp_path / "m" / "prometheus.yml").read_text())["scrape_configs"][0]
    assert scrape["static_configs"][0]["targets"] == ["h1:9100", "h2:9100"]
    route = yaml.safe_load((tmp_path / "m" / "alertmanager.yml").read_text())
    assert route["receivers"][0]["webhook_configs"][0]["url"] == 'http://x/"a'
    if shutil.which("promtool"):
        subprocess.run(
            ["promtool", "check", "rules", "alerts.yml"], cwd=tmp_path / "m", check=True, capture_output=True
        )


def test_files_of_the_user_are_kept(run_cli: Callable[..., Any], profiles: Path, tmp_path: Path) -> None:
    """A second call with the same options changes nothing; edited files are replaced only on request."""
    words = ("monitoring", "--out", str(tmp_path / "m"))
    assert run_cli(*words).code == 0
    assert run_cli(*words).code == 0
    (tmp_path / "m" / "alerts.yml").write_text("mine")
    refused = run_cli(*words)
    assert (refused.code, "files differ: alerts.yml" in refused.err) == (2, True)
    assert (tmp_path / "m" / "alerts.yml").read_text() == "mine"
    assert run_cli(*words, "--overwrite").code == 0
    assert (tmp_path / "m" / "alerts.yml").read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--profile", "nope"], "unknown profile: 'nope'"),
        (["--profile", "nope-*"], "no profile matches 'nope-*'"),
        (["--profile", "other.yaml"], "unknown profile: 'other.yaml'"),
        (["--profile", ""], "--profile: empty value"),
        (["--exporter", "host"], "--exporter: invalid address: 'host'"),
        (["--exporter", "h:99999"], "invalid address"),
        (["--exporter", "http://h:9100"], "invalid address"),
        (["--alertmanager", "h:９０９３"], "invalid address"),
        (["--webhook", "ftp://x"], "ftp://x"),
        (["--textfiles", "relative"], "not an absolute path"),
        (["--textfiles", "/a b"], "not an absolute path"),
        (["--textfiles", "/"], "not an absolute path"),
        (["--textfiles", "//"], "not an absolute path"),
        (["--textfiles", "/."], "not an absolute path"),
        (["--textfiles", "/a/../b"], "not an absolute path"),
        (["--full", "0"], "--full"),
        (["--full-within", "0s"], "--full-within"),
    ],
)
def test_wrong_values_are_refused(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    """Wrong values are refused, and nothing is written."""
    done = run_cli("monitoring", "--out", str(tmp_path / "m"), *words)
    assert (done.code, message in done.err) == (2, True), done.err
    assert not (tmp_path / "m").exists()


def test_files_are_not_written_to_a_folder_of_that_name(run_cli: Callable[..., Any], profiles: Path) -> None:
    """``-`` is standard output for other commands, and several files do not fit there."""
    done = run_cli("monitoring", "--out", "-")
    assert (done.code, "--out: must be a folder, not standard output (-)" in done.err) == (2, True), done.err
    assert not Path("-").exists()


def test_a_pattern_selects_all_matching_profiles(run_cli: Callable[..., Any], profiles: Path, tmp_path: Path) -> None:
    """A pattern selects each matching profile once, in the given order, as in inspect."""
    done = run_cli("monitoring", "--out", str(tmp_path / "m"), "--profile", "s*", "--profile", "*")

    assert done.code == 0
    assert "enable --now kafkabal-metrics@staging.timer kafkabal-metrics@prod.timer\n" in done.err


def test_units_of_odd_profile_names_run_and_keep_apart(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path
) -> None:
    """A name that begins with - is not taken for an option, and no two units write one file."""
    names = ["prod", "watch-prod", "-x", "prod-watch"]
    profiles.write_text(
        "".join(["profiles:\n", *(f"  {name}: {{bootstrap_servers: '127.0.0.1:1'}}\n" for name in names)])
    )
    assert run_cli("monitoring", "--out", str(tmp_path / "m"), "--textfiles", str(tmp_path)).code == 0
    commands = [
        line.replace("%i", name).split()[2:]
        for unit in (tmp_path / "m").glob("*.service")
        for line in unit.read_text().splitlines()
        for name in names
        if line.startswith("ExecStart=")
    ]
    written = [command[-1] for command in commands]
    assert len(commands) == len({*written}) == 2 * len(names)
    ended = [run_cli(*command, "--broker-timeout", "1s") for command in commands if "--profile=-x" in command]
    assert [(done.code, "option without a value" in done.err) for done in ended] == [(1, False), (1, False)]


def test_a_watch_that_cannot_reach_its_cluster_is_noticed(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path
) -> None:
    """Its textfile says that the cluster was never read; an earlier one keeps the time of its last reading."""
    profiles.write_text("profiles:\n  prod: {bootstrap_servers: '127.0.0.1:1'}\n")
    textfile = tmp_path / "watch.prom"
    words = ("watch", "--profile", "prod", "--broker-timeout", "1s", "--textfile", str(textfile))
    assert run_cli(*words).code == 1
    assert 'kafkabal_watch_last_success_timestamp_seconds{cluster="prod"} 0.0\n' in textfile.read_text()

    textfile.write_text("of an earlier watch\n")
    assert run_cli(*words).code == 1
    assert textfile.read_text() == "of an earlier watch\n"


def test_a_profile_that_no_unit_can_be_named_by_is_refused(
    run_cli: Callable[..., Any], profiles: Path, tmp_path: Path
) -> None:
    """A profile name that systemd would read as another one is refused."""
    profiles.write_text("profiles:\n  'a b%': {bootstrap_servers: a:1}\n")
    done = run_cli("monitoring", "--out", str(tmp_path / "m"))
    assert done.code == 2
    assert "systemd unit" in done.err


def test_without_profiles_there_is_nothing_to_monitor(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The hint says how to add a profile."""
    done = run_cli("monitoring", "--out", str(tmp_path / "m"))
    assert done.code == 2
    assert "kafkabal profiles add" in done.err
