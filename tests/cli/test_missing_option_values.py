"""An option with a missing value never takes the next option as its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.build_typer_command import build_command
from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.missing_option_values import refuse_missing_values
from kafkabal.errors import UsageError

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
ON = ("--snapshot", SNAPSHOT)


def commands(rows: Mapping[str, Row]) -> Iterator[Any]:
    """Every command, including those of groups."""
    for name, row in rows.items():
        if row.function:
            yield build_command(name, row)
        yield from commands(row.commands or {})


def test_every_option_with_a_value_refuses_an_option() -> None:
    """Every command refuses a missing value, for long and short options."""
    for command in commands(COMMANDS):
        options = [p for p in command.params if p.param_type_name == "option" and not (p.is_flag or p.count)]
        for flag in (flag for option in options for flag in option.opts):
            for swallowed in ("-q", "--yes", "--no-such-option"):
                with pytest.raises(UsageError, match=f"(?m)^option without a value: {flag} .followed by {swallowed}.$"):
                    refuse_missing_values(command.params, [flag, swallowed], "x", until_command=False)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("inspect", *ON, "--save", "-q"), "--save"),
        (("inspect", *ON, "-qo", "-v"), "-o"),
        (("rebalance", "plan", *ON, "--drain", "1", "--topics", "--dry-run"), "--topics"),
        # of a group with a function of its own, before the name of a command
        (("rebalance", "--topics", "--yes", "plan"), "--topics"),
    ],
)
def test_the_hint_shows_how_to_pass_such_a_value(
    run_cli: Callable[..., Any], words: tuple[str, ...], flag: str
) -> None:
    """The hint suggests the long form with an equals sign."""
    refused = run_cli(*words)
    assert (refused.code, refused.out) == (2, "")
    assert f"option without a value: {flag} (followed by -" in refused.err
    assert "hint: for a value that begins with -, write --" in refused.err


@pytest.mark.parametrize("words", ["watch --heal", "inspect -o", "rebalance --profile", "rebalance plan -qo"])
def test_a_line_that_ends_with_an_option_is_referred_to_the_help_of_its_command(
    run_cli: Callable[..., Any], words: str
) -> None:
    """The error is the usual one for a missing value, and refers to the command's help, not the program's."""
    *command, flag = words.split()
    refused = run_cli(*command, flag)
    assert refused.err == (
        f"kafkabal: error: option without a value: -{flag[-1] if flag[1] != '-' else flag[1:]}\n"
        f"kafkabal: hint: see 'kafkabal {' '.join(command)} --help'\n"
    )
    assert refused.code == 2


def test_a_value_may_begin_with_a_dash(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Allowed: standard streams, values after an equals sign, and negative numbers, which the option itself refuses."""
    monkeypatch.chdir(tmp_path)
    assert run_cli("inspect", *ON, "--output-file", "-").out
    assert run_cli("inspect", *ON, "--save=-q").code == 0
    assert (tmp_path / "-q").exists()
    assert "--top: must be at least 0" in run_cli("inspect", *ON, "--top", "-1").err
