"""What the words alone show to be wrong is refused before a cluster is contacted, or another command's lock awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# a connection to it would be refused, which is exit code 1
NOBODY = ("-b", "127.0.0.1:1")


@pytest.mark.parametrize(
    "command",
    [
        ("inspect",),
        ("create", "images", "-p", "3", "-r", "2"),
        ("rebalance",),
        ("rebalance", "plan"),
        ("rebalance", "plan", "--leaders-only"),
        ("rebalance", "explain", "--why-not", "images-0", "1"),
        ("route", "images"),
        ("route", "images", "--publish"),
    ],
)
@pytest.mark.parametrize("score", ["latency", "prometheus"])
def test_scores_without_their_measurement(run_cli: Callable[..., Any], command: tuple[str, ...], score: str) -> None:
    """A score is refused if the command does not measure what it needs."""
    refused = run_cli(*command, *NOBODY, "--score", score)
    assert refused.code == ExitCode.USAGE
    assert f"--score: score {score!r} needs " in refused.err.splitlines()[0]


@pytest.mark.parametrize("command", [("inspect",), ("create", "images", "-p", "3", "-r", "2"), ("rebalance", "plan")])
def test_rates_without_samples(run_cli: Callable[..., Any], command: tuple[str, ...]) -> None:
    """A score of rates is refused where nothing is sampled; a snapshot may hold rates."""
    refused = run_cli(*command, *NOBODY, "--score", "leader-bytes-in")
    assert refused.code == ExitCode.USAGE
    assert "--score: score 'leader-bytes-in' needs rates, and none is given" in refused.err


def test_scores_that_a_command_measures_itself(run_cli: Callable[..., Any]) -> None:
    """Samples, and what routing measures itself, are not asked for as options: the cluster is contacted."""
    for words in (
        ("inspect", "--score", "leader-bytes-in", "--sample", "1s"),
        ("route", "images", "--score", "leader-bytes-in"),
        ("route-simulate", "--topic", "images", "--score", "latency"),
    ):
        failed = run_cli(*words, *NOBODY)
        assert (failed.code, "cannot reach 127.0.0.1:1" in failed.err) == (ExitCode.FAILED, True)


def test_scores_of_a_profile(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A score in a profile is refused as well, with the line that names it."""
    profile = tmp_path / "p.yaml"
    profile.write_text("bootstrap_servers: 127.0.0.1:1\nscores: latency\n")
    refused = run_cli("inspect", "--profile", str(profile))
    assert refused.code == ExitCode.USAGE
    assert f"{profile}, line 2: scores: score 'latency' needs telemetry" in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "images", "-r", "2"), "topic images: no number of partitions given"),
        (("create", "images", "-p", "2"), "topic images: no replication factor given"),
        (("create", "images", "-p", "100000", "-r", "21"), "replicas: 2,100,000 exceeds the limit of 2,000,000"),
        (("rebalance", "--below", "80%", "--score", "leaders"), "--below supports only the score disk, not leaders"),
        (("rebalance", "plan", "--what-if", "add=7", "--what-if", "add=7"), "--what-if add=7: duplicate broker: 7"),
        (
            ("rebalance", "plan", "--leaders-only", "--what-if", "remove=3"),
            "--leaders-only and --what-if remove cannot be combined",
        ),
        (("route", "a b"), "TOPIC: invalid topic name: 'a b'"),
        (("route-simulate", "--topic", "a b"), "--topic: invalid topic name: 'a b'"),
        (("read", "a b"), "TOPIC: invalid topic name: 'a b'"),
        (("produce", "a b", "."), "TOPIC: invalid topic name: 'a b'"),
    ],
)
def test_contradictions(run_cli: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    """Missing numbers, contradictory options and impossible names are refused."""
    refused = run_cli(*words, *NOBODY)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert message in refused.err.splitlines()[0]


@pytest.mark.parametrize("option", ["--to", "--cache"])
def test_a_file_in_place_of_a_folder(run_cli: Callable[..., Any], tmp_path: Path, option: str) -> None:
    """A folder to write to is refused if it is a file."""
    file = tmp_path / "file"
    file.touch()
    refused = run_cli("read", "images", *NOBODY, option, str(file))
    assert (refused.code, f"{file}: not a folder" in refused.err) == (ExitCode.FAILED, True)


def test_topics_that_may_exist_need_no_numbers(run_cli: Callable[..., Any]) -> None:
    """With --if-not-exists an existing topic is compared by what is given, so that nothing is missing yet."""
    failed = run_cli("create", "images", "--if-not-exists", *NOBODY)
    assert (failed.code, "cannot reach" in failed.err) == (ExitCode.FAILED, True)


def test_telemetry_of_a_snapshot(run_cli: Callable[..., Any]) -> None:
    """A snapshot has no clients to measure; it is refused before it is read."""
    refused = run_cli("inspect", "--snapshot", "missing.jsonl", "--score", "latency", "--telemetry", "topic")
    assert (refused.code, "--telemetry requires a live cluster" in refused.err) == (ExitCode.USAGE, True)
