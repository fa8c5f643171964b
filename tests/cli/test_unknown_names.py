"""Hints for options and commands that do not exist, above all those of Kafka's own scripts and of kcat."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.cli.framework import unknown_name_hints as hints
from kafkabal.cli.framework.command_table import COMMANDS
from kafkabal.cli.main import root_command
from kafkabal.errors import ExitCode

_PLACEHOLDERS = {"PLAN", "TOPIC", "SOURCE"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["inspect", "--broker-list", "h:1"], "did you mean: --bootstrap-server"),
        (["inspect", "--brokers", "h:1"], "did you mean: --bootstrap-server"),
        (["inspect", "-L"], "'kafkabal inspect --by topic' shows topics"),
        (["inspect", "--list"], "'kafkabal inspect --by topic' shows topics"),
        (["rebalance", "--list"], "'kafkabal rebalance adopt' lists reassignments in flight"),
        (
            ["rebalance", "plan", "--broker-list", "1,2"],
            "all brokers may receive replicas but those of --exclude-brokers",
        ),
        (["rebalance", "--topics-to-move-json-file", "f"], "did you mean: --topics"),
        (["rebalance", "--cancel"], "a command, not an option: kafkabal rebalance cancel"),
        (["read", "t", "--consumer.config", "f"], "did you mean: --command-config"),
        (["read", "t", "--from-beginning"], "did you mean: --from-start"),
        (["produce", "t", "d", "-X", "a=b"], "did you mean: --producer-config"),
        (["inspect", "-X", "a=b"], "did you mean: --command-config"),
        (["create", "--topic", "t"], "an argument, not an option: kafkabal create [TOPIC]"),
        (["read", "-t", "t"], "an argument, not an option: kafkabal read TOPIC"),
        (["rebalance", "-t", "t"], "did you mean: --topics"),
        (["-b", "h:1", "inspect"], "options follow the command: kafkabal COMMAND -b"),
        (["--verison"], "did you mean: --version"),
        (["config", "--nonsense"], "see 'kafkabal config --help'"),
    ],
)
def test_an_option_of_another_tool_leads_to_ours(run_cli: Callable[..., Any], words: list[str], hint: str) -> None:
    """The hint names our option, command or argument; one that a command has under the same name comes first."""
    refused = run_cli(*words)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert refused.err.splitlines()[1:] == [f"kafkabal: hint: {hint}"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["topics"], "'kafkabal inspect --by topic' shows topics"),
        (["rebalance", "verify"], "'kafkabal rebalance status' compares a run with the cluster"),
        (["status"], "did you mean: 'kafkabal rebalance status', 'kafkabal sandbox status'"),
        (["inspct"], "did you mean: inspect"),
        (["rebalance", "topics"], "see 'kafkabal rebalance --help'"),
    ],
)
def test_a_command_of_another_tool_leads_to_ours(run_cli: Callable[..., Any], words: list[str], hint: str) -> None:
    """What people type first leads to the command that does it, or to the group that has a command of that name."""
    refused = run_cli(*words)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert refused.err.splitlines()[1:] == [f"kafkabal: hint: {hint}"]


def test_hints_name_only_what_exists() -> None:
    """Every command and option in the tables of hints exists, and is not itself an unknown name."""
    known_options = set()
    for text in {*hints._OPTION_AS_COMMAND.values(), *hints._SAME_COMMAND.values()}:
        for proposed in re.findall(r"'kafkabal ([^']*)'", text):
            words = proposed.split()
            command, rows = root_command(), COMMANDS
            while words and words[0] in rows:
                name = words.pop(0)
                command, rows = command.get_command(None, name), rows[name].commands or {}
            flags = {flag for parameter in command.params for flag in parameter.opts}
            assert all(word in flags | _PLACEHOLDERS or not word.startswith("-") for word in words), proposed
            assert not words or words[0].startswith("-") or words[0] in _PLACEHOLDERS, proposed
    for name in COMMANDS:
        known_options |= {
            flag for parameter in root_command().get_command(None, name).params for flag in parameter.opts
        }
    assert {ours for several in hints._SAME_OPTION.values() for ours in several} <= known_options
    assert not set(hints._SAME_COMMAND) & set(COMMANDS)
