"""Commands that messages propose act on the cluster of the command that proposes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_options, command_settings, naming_cluster

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
_PROFILES = "profiles:\n  default: {bootstrap_servers: d:1}\n  prod: {bootstrap_servers: p:1}\n"


def _context(tmp_path: Path, profiles: str, environ: Mapping[str, str] | None = None) -> CommandContext:
    (tmp_path / "profiles.yaml").write_text(profiles)
    return CommandContext(environ=environ or {}, folders=dict.fromkeys(("config", "cache", "state"), tmp_path))


@pytest.mark.parametrize(
    ("profiles", "chosen", "environ", "options"),
    [
        (_PROFILES, None, {}, ""),
        (_PROFILES, "default", {}, ""),
        (_PROFILES, "prod", {}, "--profile prod"),
        (f"use: prod\n{_PROFILES}", "default", {}, "--profile default"),
        (_PROFILES, "default", {"KAFKABAL_PROFILE": "prod"}, "--profile default"),
    ],
)
def test_another_command_finds_the_same_profile(
    tmp_path: Path, profiles: str, chosen: str | None, environ: dict[str, str], options: str
) -> None:
    """The default profile is named only where another one would be taken without its name."""
    context = _context(tmp_path, profiles, environ)
    settings = command_settings({"bootstrap_servers": None, "profile": chosen}, context)
    assert cluster_options(settings, context) == options


@pytest.mark.parametrize(("chosen", "options"), [(None, ""), ("default", " --profile default")])
def test_the_profile_in_use_is_not_named_beside_the_cluster(tmp_path: Path, chosen: str | None, options: str) -> None:
    """Beside --bootstrap-server only a profile that would not be taken anyway is named."""
    context = _context(tmp_path, f"use: prod\n{_PROFILES}")
    settings = command_settings({"bootstrap_servers": ["b:1"], "profile": chosen}, context)
    assert cluster_options(settings, context) == f"--bootstrap-server b:1{options}"


def test_a_profile_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    """Of a file with several profiles, the file alone names none."""
    other = tmp_path / "other.yaml"
    other.write_text(_PROFILES)
    context = _context(tmp_path, _PROFILES)
    settings = command_settings({"bootstrap_servers": None, "profile": f"{other}#prod"}, context)
    options = cluster_options(settings, context)
    again = command_settings({"bootstrap_servers": None, "profile": shlex.split(options)[1]}, context)
    assert again.bootstrap_servers == ("p:1",)


def test_commands_in_quotes_are_completed(tmp_path: Path) -> None:
    """Those that work on a cluster get its options; pages of the manual and words in quotes do not."""
    context = _context(tmp_path, _PROFILES)
    settings = command_settings({"bootstrap_servers": None, "profile": "prod"}, context)
    text = "finish it with 'kafkabal rebalance resume', 'rollback' or 'cancel'; see 'kafkabal help permissions'"
    assert naming_cluster(text, settings, context) == text.replace("resume'", "resume --profile prod'")
    text = "'kafkabal watch' reports changes, 'kafkabal read images --to DIR' restores what 'kafkabal produce' sent"
    completed = text.replace("watch'", "watch --profile prod'").replace("DIR'", "DIR --profile prod'")
    assert naming_cluster(text, settings, context) == completed
    text = "create it with 'kafkabal create img -p 12 -r 3' or 'kafkabal telemetry subscribe'"
    completed = text.replace("-r 3'", "-r 3 --profile prod'").replace("subscribe'", "subscribe --profile prod'")
    assert naming_cluster(text, settings, context) == completed


def test_a_command_that_takes_no_snapshot_gets_none(tmp_path: Path) -> None:
    """It would be refused with the option of the command that proposes it."""
    context = _context(tmp_path, _PROFILES)
    settings = command_settings({"bootstrap_servers": None, "snapshot": SNAPSHOT}, context)
    text = "see 'kafkabal telemetry latency'"
    assert naming_cluster(text, settings, context) == text


def test_the_proposed_creation_of_an_unknown_topic_can_be_typed(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """It names the numbers that a creation requires, the cluster, and a file for the changed snapshot."""
    refused = run_cli("route-simulate", "--topic", "nothing", "--snapshot", SNAPSHOT)
    proposed = re.search(r"'kafkabal (create .*?)'", refused.err)
    assert proposed is not None
    command = shlex.split(proposed[1].replace("NEW_FILE", str(tmp_path / "new.jsonl")))
    assert run_cli(*command).code == 0
    assert run_cli("route-simulate", "--topic", "nothing", "--records", "9", "--snapshot", command[-1]).code == 0


def test_a_message_is_shown_though_the_profiles_file_is_damaged(tmp_path: Path) -> None:
    """A run must not end because what it says cannot be completed."""
    context = _context(tmp_path, _PROFILES)
    settings = command_settings({"bootstrap_servers": None}, context)
    (tmp_path / "profiles.yaml").write_text("use: nowhere\n")
    text = "continue with 'kafkabal rebalance resume'"
    assert naming_cluster(text, settings, context) == text


def test_the_command_in_a_hint_runs_as_printed(run_cli: Callable[..., Any]) -> None:
    """Without the snapshot it would look for the partition in another cluster, or in none."""
    refused = run_cli("rebalance", "explain", "--why-not", "nothing-0", "1", "--snapshot", SNAPSHOT)
    proposed = re.search(r"'kafkabal (.*)'", refused.err)
    assert proposed is not None
    assert f"--snapshot {SNAPSHOT}" in proposed[1]
    assert run_cli(*shlex.split(proposed[1])).code == 0


def test_the_command_proposed_after_a_plan_runs_as_printed(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A snapshot is never written, so the plan for it is tried."""
    made = run_cli("rebalance", "plan", "--snapshot", SNAPSHOT, "--out", str(tmp_path / "plan.json"))
    proposed = re.search(r"next: kafkabal (.*)", made.err)
    assert proposed is not None
    assert run_cli(*shlex.split(proposed[1])).code == 0


def test_a_command_that_may_read_several_clusters_names_its_one(run_cli: Callable[..., Any]) -> None:
    """The growth of a cluster needs its own history."""
    refused = run_cli("inspect", "--growth", "--snapshot", SNAPSHOT)
    assert f"'kafkabal inspect --record --snapshot {SNAPSHOT}'" in refused.err
