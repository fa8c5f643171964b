"""Every command in README, docs, man pages, alerts and hints parses with the real command line."""

from __future__ import annotations

import ast
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.completion.command_pages import pages
from kafkabal.cli.main import root_command
from kafkabal.config.profiles import load_profile
from kafkabal.errors import KafkabalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TITLES = {page.title for page in pages()}
TEXTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "monitoring" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
# placeholders in texts, and values that can be parsed in their place
VALUES = {
    "ID": "3",
    "N": "3",
    "RATE": "50MB/s",
    "TIME": "10s",
    "SIZE": "1GB",
    "HOST:PORT": "h:1",
    "PARTITION": "t-0",
    "BROKER": "3",
    "PLAN": "plan.json",
}


def _words(line: str) -> list[str]:
    """The words of the first command in a shell line, with values in place of placeholders."""
    words: list[str] = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    with suppress(ValueError):  # an apostrophe in a sentence after the command
        for word in lexer:
            if word[0] in "|&;<>":
                break
            words.append(VALUES.get(word, word))
    return [word for word in words if word not in ("...", "…")]


def _commands_in(line: str) -> Iterator[str]:
    for part in re.split(r"\s(?:&&|\|\|?)\s", re.sub(r"\$\([^)]*\)", "x", line)):
        found = re.search(r"(?:^|[\s(/])(kafkabal [a-z].*)", part)
        if found is not None and not part[: found.start(1)].rstrip().endswith("install"):
            yield found[1].removesuffix(")") if part[: found.start(1)].endswith("(") else found[1]


def _in_markdown(text: str) -> Iterator[str]:
    """Command lines in Markdown code blocks and code spans."""
    for language, block in re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if language in ("sh", "console") or (not language and _is_typed(line)):
                yield from _commands_in(line)
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", _prose(text)):
        if span.startswith(("kafkabal ", "source <(kafkabal")):
            yield from _commands_in(span)


def _is_typed(line: str) -> bool:
    """Whether a line of a block in no language is a command, not a usage or an output."""
    return re.match(r" *(?:\$ )?kafkabal [a-z]", line) is not None and "[OPTIONS]" not in line


def _prose(text: str) -> str:
    """Markdown without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def _in_man_page(text: str) -> Iterator[str]:
    for line in text.replace("\\-", "-").replace("\\(aq", "'").splitlines():
        if re.match(r"kafkabal [a-z]", line):
            yield line


def _in_alerts(text: str) -> Iterator[str]:
    for found in re.findall(r'(?:"|; |: |env )(kafkabal [a-z][^";,:\n]*)', text):
        yield re.sub(r" on the host.*", "", found)


def _in_units(text: str) -> Iterator[str]:
    for found in re.findall(r"^ExecStart=(?:/usr/bin/env |/\S+/)(kafkabal .+)$", text, re.MULTILINE):
        yield found.replace("%i", "prod").replace("kafkabal-prod.prom", "x.prom")


def _in_manifests(text: str) -> Iterator[str]:
    """The arguments of containers, and the steps of workflows."""
    for arguments in re.findall(r"^ *args: \[(.+)\]$", text, re.MULTILINE):
        yield f"kafkabal {arguments.replace(',', '')}"
    for line in text.splitlines():
        if re.match(r" +kafkabal [a-z]", line):
            # a file of the repository that contains the workflow
            yield line.strip().replace("--profile kafka/profiles.yaml#prod", "--profile prod")


def _in_hints(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            yield from re.findall(r"'(kafkabal [a-z][^'{}]*)'", node.value)


def _shown() -> Iterator[tuple[str, str]]:
    """Where a command line is shown, and the line."""
    sources: list[tuple[Iterable[Path], Callable[[str], Iterator[str]]]] = [
        (TEXTS, _in_markdown),
        ((ROOT / "man").glob("*.1"), _in_man_page),
        ((ROOT / "monitoring").rglob("*.yml"), _in_alerts),
        ((ROOT / "monitoring").rglob("*.service"), _in_alerts),
        ((ROOT / "deploy").rglob("*.service"), _in_units),
        ([*(ROOT / "deploy").rglob("*.yaml"), *(ROOT / "deploy").rglob("*.yml")], _in_manifests),
        ((ROOT / "kafkabal").rglob("*.py"), _in_hints),
    ]
    for paths, found_in in sources:
        for path in paths:
            for command in found_in(path.read_text()):
                yield str(path.relative_to(ROOT)), command
    for page in pages():
        for example in page.examples:
            yield f"examples of {page.title}", next(_commands_in(example))


SHOWN = sorted(set(_shown()))


def _parse(words: list[str]) -> str:
    """Parse without running anything; returns the title of the command."""
    command: Any = root_command()
    context = command.make_context("kafkabal", [], resilient_parsing=True, obj=CommandContext(environ={}))
    title, words = "kafkabal", words[1:]
    while words and f"{title} {words[0]}" in TITLES:
        name = words.pop(0)
        title = f"{title} {name}"
        command = command.get_command(context, name)
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
    if words:
        command.make_context(title, words, parent=context.parent)
    return title


@pytest.mark.parametrize(("where", "line"), SHOWN)
def test_every_command_line_can_be_typed(
    where: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command exists and takes these options, and every value parses."""
    monkeypatch.chdir(tmp_path)
    for folder in ("plans", "imagenet"):
        (tmp_path / folder).mkdir()
    words = [re.sub(r"^/(var|tmp)/.*/", "", word) for word in _words(line)]
    try:
        title = _parse(words)
    except (KafkabalError, typer.Exit) as error:
        pytest.fail(f"{where}: {line}: {getattr(error, 'message', 'exits')}")

    assert title != "kafkabal", f"{where}: no such command: {line}"


def test_the_commands_are_found() -> None:
    """The patterns still match commands in the README, docs, man pages, alerts and hints."""
    assert len([line for where, line in SHOWN if where == "README.md"]) >= 15
    for place, least in (
        ("docs/", 60),
        ("man/", 30),
        ("monitoring/", 5),
        ("deploy/", 5),
        ("kafkabal/", 10),
        ("examples of", 30),
    ):
        assert len([where for where, _ in SHOWN if where.startswith(place)]) >= least, place


def test_the_profile_can_be_read(tmp_path: Path) -> None:
    """The YAML block is a valid file of profiles."""
    block = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert block is not None
    file = tmp_path / "profiles.yaml"
    file.write_text(block[1])
    profile = load_profile("prod", file)

    assert profile is not None
    assert set(profile.settings) == {"bootstrap_servers", "command_config", "tolerance", "throttle"}


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every linked file exists, and has the heading that a link names."""
    links = set(re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)\s]+))?\)", _prose(page.read_text())))

    assert [link for link, _ in sorted(links) if link and not (page.parent / link).exists()] == []
    assert [
        f"{link}#{heading}"
        for link, heading in sorted(links)
        if heading and heading not in _anchors(page.parent / link if link else page)
    ] == []


def _anchors(page: Path) -> set[str]:
    """Names under which links find the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _prose(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_tests_that_are_named_exist() -> None:
    """Each case on the page of sweeps is followed by an existing test with that name."""
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "benchmarks" / "executor.md").read_text())
    assert len(named) > 20
    # the table names files below tests/live
    files = [ROOT / path if path.startswith("tests/") else ROOT / "tests" / "live" / path for path, _ in named]
    missing = [n for (_, n), file in zip(named, files, strict=True) if f"def {n}(" not in file.read_text()]
    assert missing == []
