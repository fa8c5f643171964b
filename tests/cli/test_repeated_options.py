"""An option with one value is given once: the parser would drop all but the last, and users who type two mean both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ON = ("--snapshot", str(Path(__file__).parent / "snapshots" / "lopsided.jsonl"))


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("inspect", *ON, "--top", "3", "--top=3"), "--top"),
        (("inspect", *ON, "-qo", "json", "--output", "csv"), "--output"),
        (("rebalance", *ON, "--throttle", "10MB", "--throttle", "20MB", "--dry-run"), "--throttle"),
        (("route-simulate", "--latency", "--no-latency"), "--latency"),
        (("create", "t", "-p", "1", "-p", "2", *ON, "--dry-run"), "--partitions"),
    ],
)
def test_the_second_value_is_refused(run_cli: Callable[..., Any], words: tuple[str, ...], option: str) -> None:
    """By the long name, whichever was typed, also for a setting, a group's own option, and a flag with an opposite."""
    refused = run_cli(*words)
    assert (refused.code, refused.err.splitlines()[0]) == (2, f"kafkabal: error: given twice: {option}")


def test_a_list_is_written_with_commas(run_cli: Callable[..., Any]) -> None:
    """A user who repeats such an option means both values."""
    refused = run_cli("rebalance", "plan", *ON, "--drain", "1", "--drain", "2")
    assert "hint: separate the values with commas: --drain ID,ID" in refused.err


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("create", "t", *ON, "--config", "a=1", "--config", "a=2"), "--config a"),
        (("profiles", "add", "x", "--set", "tolerance=5%", "--set", "tolerance=6%"), "--set tolerance"),
        (("sandbox", "up", "--property", "a=1", "--property", "a=2"), "--property a"),
        (("sandbox", "up", "--broker-property", "1:a=1", "--broker-property", "1:a=2"), "--broker-property 1:a"),
        (("rebalance", "plan", *ON, "--broker-limit", "1:5", "--broker-limit", "1::2TB"), "--broker-limit 1"),
        (
            ("produce", "t", __file__, *("--format", "text", "-b", "b:1"), *("--producer-config", "a=1") * 2),
            "--producer-config a",
        ),
    ],
)
def test_a_key_has_one_value(run_cli: Callable[..., Any], words: tuple[str, ...], key: str) -> None:
    """Of an option that may be repeated."""
    refused = run_cli(*words)
    assert (refused.code, refused.err.splitlines()[0]) == (2, f"kafkabal: error: given twice: {key}")


def test_what_may_be_repeated(run_cli: Callable[..., Any]) -> None:
    """Lists, counts, plain flags, and words that are no options."""
    assert run_cli("inspect", *ON, "-q", "-q", "--score", "disk", "--score", "leaders").code == 0
    assert run_cli("inspect", *ON, "-v", "-v").code == 0
    assert "--what" not in run_cli("scores", "--", "--what", "--what").err.splitlines()[1:]
