"""Help as people read it: pasteable examples, a consistent style, documentation pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import combinations, groupby
from typing import Any

import pytest

from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.completion.command_pages import Page, pages
from kafkabal.cli.framework.help_text import ordered
from kafkabal.cli.framework.shared_options import CLUSTER_SECTION, OUTPUT_SECTION
from kafkabal.cli.framework.typer_parameters import read_signature
from kafkabal.reporting.help_pages import page_names, read_page

PAGES = pages()
GROUPS: list[Mapping[str, Row]] = [COMMANDS, *(row.commands for row in COMMANDS.values() if row.commands)]
COMMAND_SECTIONS = {row.section for rows in GROUPS for row in rows.values()}


def test_commands_of_one_section_are_adjacent() -> None:
    """No heading appears twice: each group lists the commands of a section together."""
    for rows in GROUPS:
        headings = [section for section, _ in groupby(row.section for row in rows.values())]
        assert len(headings) == len(set(headings))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_help_is_laid_out_alike_in_every_command(run_cli: Callable[..., Any], page: Page) -> None:
    """Usage has one style, examples are on one line each, sections have one order, at any width."""
    for columns in (60, 200):
        text = run_cli(*page.path[1:], "--help", environ={"COLUMNS": str(columns)}).out
        lines = text.splitlines()
        titles = [line[:-1] for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
        titles = [title for title in titles if title not in ("Examples", *COMMAND_SECTIONS)]

        assert "".join(text.partition("\n\n")[0].split()) == "".join(f"Usage: {page.usage}".split())
        assert not re.search(r"[{}<>]|\[\[", text.partition("\n\n")[0])
        assert titles == ordered(titles)
        assert all(f"  {example}" in lines for example in page.examples)
        prose = [line for line in lines if line.strip() not in page.examples]
        assert max(map(len, prose)) <= min(columns, 120)


def test_help_on_rebalance_begins_with_what_most_runs_need(run_cli: Callable[..., Any]) -> None:
    """How to run a plan is listed before what to move, and measurements that few clusters have come late; the throttle
    and the window come before options for exceptions."""
    text = run_cli("rebalance", "--help").out
    titles = [title for title in re.findall(r"^([A-Z][a-z ]+):$", text, re.MULTILINE) if title not in COMMAND_SECTIONS]
    execution = re.findall(r"^  (--[a-z-]+)", text.partition("\nExecution:\n")[2].partition("\n\n")[0], re.MULTILINE)

    assert titles == ["Examples", "Options", "Execution", "Scope", "Limits", "Measurements", "Cluster", "Output"]
    assert execution[:4] == ["--throttle", "--log-dir-throttle", "--window", "--max-runtime"]
    assert execution[-1] == "--wait"


def test_help_on_create_begins_with_the_topic(run_cli: Callable[..., Any]) -> None:
    """Partitions and replication factor are listed before where to place them."""
    text = run_cli("create", "--help").out
    assert (
        text.index("\nTopic:") < text.index("--partitions N") < text.index("\nOptions:") < text.index("--placement HOW")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_no_word_is_broken(run_cli: Callable[..., Any], page: Page) -> None:
    """``closed-`` at the end of a line is not what ``--allow`` takes; defaults follow after one blank. On 40 columns
    only words that are longer than what the options leave are broken."""
    words = run_cli(*page.path[1:], "--help", environ={"COLUMNS": "120"}).out.split()
    whole = {word for word in words if len(word) <= len("package.module:object.")}
    for columns in (40, 60, 80):
        text = run_cli(*page.path[1:], "--help", environ={"COLUMNS": str(columns)}).out
        prose = [line for line in text.splitlines() if line.strip() not in page.examples]
        assert whole <= set(text.split())
        assert [line for line in prose if re.search(r"\S {2,}\[", line)] == []


def test_shared_options_have_the_same_order_everywhere() -> None:
    """Options that share a section in several commands have the same order in each."""
    found: dict[tuple[str, str, str], list[str]] = {}
    # the limits of watch are options of its own
    for page in (page for page in PAGES if page.title != "kafkabal watch"):
        for first, second in combinations(page.options, 2):
            if first.section == second.section != "Options":
                found.setdefault((first.section, first.flags[-1], second.flags[-1]), []).append(page.title)
    assert [(pair, found[pair]) for pair in found if (pair[0], pair[2], pair[1]) in found] == []


def test_options_that_commands_share_say_the_same() -> None:
    """A cluster or output option has the same help text in all commands, except where it takes something else."""
    reported: dict[str, set[str]] = {}
    for page in PAGES:
        for option in page.options:
            if option.section in (CLUSTER_SECTION, OUTPUT_SECTION):
                reported.setdefault(option.flags[-1], set()).add(option.help.partition(" [default")[0])
    # several profiles in inspect; all formats instead of some; rows of plans instead of snapshots
    assert {flag for flag, ways in reported.items() if len(ways) > 1} <= {"--profile", "--output", "--all"}


def test_ranges_are_in_words() -> None:
    """No help text explains an option by ``[x>=1]``; limits are part of its sentence, before the default."""
    texts = {
        (page.title, option.flags[-1] if option.flags else option.metavar): option.help
        for page in PAGES
        for option in (*page.options, *page.arguments)
    }
    assert [where for where, text in texts.items() if re.search(r"[<>]=|=[<>]|\bx\b", text)] == []
    assert texts["kafkabal rebalance simulate", "--days"] == "Simulated days; 1 to 3,650. [default: 90]"
    assert texts["kafkabal create", "--partitions"] == "Number of partitions; at least 1."
    assert texts["kafkabal advise", "--broker"] == "Broker whose fullest disk to free. [default: the fullest]"


def test_defaults_are_shown_as_they_are_typed() -> None:
    """A default shown in help, typed as the option's value, gives that default."""
    rows = [*COMMANDS.values(), *(row for group in COMMANDS.values() for row in (group.commands or {}).values())]
    functions = [row.function.split(":") for row in rows if row.function]
    leaves = [leaf for at, name in functions for leaf in read_signature(getattr(import_module(at), name)).leaves()]
    shown = [leaf for leaf in leaves if leaf.parse and leaf.text_default is not None]
    assert {"90s", "20%"} <= {leaf.text_default for leaf in shown}
    assert [leaf.name for leaf in shown if leaf.parse and leaf.parse(str(leaf.text_default)) != leaf.default] == []


def test_help_takes_the_width_of_the_terminal(run_cli: Callable[..., Any]) -> None:
    """Help uses a wide terminal up to a readable width; without a terminal it is 80 wide."""
    narrow, wide, piped = (
        max(map(len, run_cli("rebalance", "--help", environ=environ).out.partition("Examples:")[0].splitlines()))
        for environ in ({"COLUMNS": "50"}, {"COLUMNS": "300"}, {})
    )
    assert narrow <= 50 < piped <= 80 < wide <= 120


def test_help_shows_commands_and_pages(run_cli: Callable[..., Any]) -> None:
    """``help`` shows a command's help, or a page as written; the list names every page."""
    assert run_cli("help", "rebalance", "plan").out == run_cli("rebalance", "plan", "--help").out
    assert run_cli("help", "exit-codes").out.startswith("# Exit codes")
    assert run_cli("help", "first-rebalance").out.startswith("# ")
    listed = run_cli("help").out
    assert all(name in listed for name in ("planner", "own-score", "permissions", "first-rebalance"))


def test_measurements_are_left_to_the_repository(run_cli: Callable[..., Any]) -> None:
    """Help lists no page of measurements; a link to one is shown without a command, even if a page shares its name."""
    assert not {"experiments", "executor-overhead", "slow-broker"} & set(page_names())
    for name in ("reader", "watch"):
        assert f"benchmarks/{name}.md" in read_page(name)
        assert f"kafkabal help {name}" not in run_cli("help", name, terminal=True, environ={"COLUMNS": "200"}).out


def test_the_page_of_a_command_follows_its_help(run_cli: Callable[..., Any]) -> None:
    """Every listed topic can be shown, even if a command has the same name."""
    text = run_cli("help", "advise").out
    assert text.startswith("Usage: kafkabal advise")
    assert "\n\n# Advice" in text
    assert [name for name in page_names() if "\n# " not in "\n" + run_cli("help", name).out] == []


def test_help_on_an_unknown_topic_suggests_similar_ones(run_cli: Callable[..., Any]) -> None:
    """A misspelt topic is a usage error, with the right one in the hint."""
    outcome = run_cli("help", "plannr")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean: planner" in outcome.err
    outcome = run_cli("help", "rebalance", "nope")
    assert (outcome.code, "unknown command: kafkabal rebalance nope" in outcome.err) == (2, True)


def test_pages_named_in_hints_exist(run_cli: Callable[..., Any]) -> None:
    """Every page that an error refers to can be shown."""
    for name in ("own-score", "routing", "permissions"):
        assert run_cli("help", name).code == 0


def test_pages_in_a_terminal_lead_on_and_cut_off_nothing(run_cli: Callable[..., Any]) -> None:
    """A link to another page is the command that shows it, and no target is a file; settings too long for the column of
    a table are broken, so that they can still be read in a terminal of 80 columns."""
    shown = {name: run_cli("help", name, terminal=True, environ={"COLUMNS": "80"}).out for name in page_names()}
    assert "kafkabal help scores" in " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown["planner"]).split())
    for name, page in shown.items():
        assert not re.search(r"\x1b]8;[^;]*;(?!https?:)[^\x1b]+\x1b", page), name
        assert page.count("…") == read_page(name).count("…"), name


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("inspect", "10%"),
        ("inspect diff", "10%"),
        ("top", "10%"),
        ("rebalance", "9%"),
        ("create", "9%"),
        ("advise", "9%"),
    ],
)
def test_the_default_of_the_tolerance_is_that_of_the_command(
    run_cli: Callable[..., Any], command: str, default: str
) -> None:
    """Help states the tolerance that the command itself uses, not that of others."""
    option = run_cli(*command.split(), "--help").out.partition("--tolerance PERCENT")[2]
    assert " ".join(option.split()).startswith(f"Allowed deviation from the fair share. [default: {default}]")


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("rebalance", "[default: auto]"),
        ("rebalance apply", "[default: auto]"),
        ("rebalance resume", "[default: that of the run]"),
        ("rebalance rollback", "[default: that of the run]"),
        ("rebalance adopt", "[default: none]"),
        ("rebalance plan", "to predict how long copies take."),
    ],
)
def test_the_default_of_the_throttle_is_that_of_the_command(
    run_cli: Callable[..., Any], command: str, default: str
) -> None:
    """Help of a command that does not throttle by itself, or as an earlier run did, promises no automatic throttle."""
    option = run_cli(*command.split(), "--help").out.partition("--throttle RATE")[2].partition(" --")[0]
    assert " ".join(option.split()).endswith(default)
