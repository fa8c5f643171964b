"""Shipped texts, comments and pages use plain operator's English: a list of phrases must not appear in them."""

from __future__ import annotations

import ast
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "monitoring").rglob("*.*")),
]
SOURCES = sorted((ROOT / "kafkabal").rglob("*.py"))

# phrase -> what to write in its place
INSTEAD = {
    r"(?<!there )\bis no (?!longer|more|such)\w+": "invalid X, not an X",
    r"\bare no (?!longer|more|such)\w+": "not X",
    r"(?<!if )\bthere (?:is|are) no\b": "no X, unknown X",
    r"\bthere are: ": "choose from: ",
    r"\blies? (?:un)?evenly\b": "is (not) balanced",
    r"\blay unevenly\b": "was unbalanced",
    r"\banew\b": "again, new",
    r"\bin good order\b": "gracefully",
    r"\bin order to be told\b": "to show",
    r"\b(?:is|are|was|were) told\b": "is shown, is reported",
    r"\b(?:did|does|do) not tell\b": "did not report",
    r"\bin vain\b": "without success",
    r"\bnor (?:has|is|does|do|are)\b": "neither, or a sentence of its own",
    r"\btells? (?:its|their|of|no)\b": "reports",
    r"\bnobody\b": "no one in particular: name the user, or use the passive",
    r"\bsomebody(?: else)?\b": "another user, another tool",
    r"\bcarr(?:y|ies|ied|ying) (?:\w+ )?out\b": "apply, execute",
    r"\bput(?:s|ting)? (?:it |them )?right\b": "repair, rebalance",
    r"\bput(?:s|ting)? (?:\w+ ){0,2}back\b": "restore",
    r"\bbears\b": "can take, supports",
    r"\bgo(?:es|ing)? on with\b": "continue, resume",
    r"\bwent on with\b": "continued",
    r"\bpass(?:es|ed)? over\b": "skip, ignore",
    r"\bis meant here\b": "expected",
    r"\bstands? (?:there|here)\b": "is in",
    r"\bheeded\b": "honoured",
    r"\bfor ever\b": "forever",
    r"\bof one's own\b": "your own, custom",
    r"\bexists already\b": "already exists",
    r"\bexclude each other\b": "cannot be combined",
    r"\bunder way\b": "in flight, during the run",
    r"\bhomeless\b": "unplaced",
    r"\blopsided\b": "unbalanced",
    r"\bwas given up\b": "failed",
    r"\bof late\b": "recently",
    r"\bwhoever\b": "the user, tool or process that",
    r"\banybody\b": "any user, any tool",
    r"\b(?:comes?|came) about\b": "happen, change",
    r"\d %(?![%\w(])": "10%, as the program prints it",
}

# phrases that stay out of comments and docstrings too
NOT_IN_COMMENTS = (
    r"\bnobody\b",
    r"\bsomebody(?: else)?\b",
    r"\banybody\b",
    r"\bwhoever\b",
    r"\bin vain\b",
    r"\bfor ever\b",
    r"\bof one's own\b",
    r"\bin good order\b",
    r"\bhomeless\b",
    r"\blopsided\b",
    r"\bis no (?:business|matter|fault|coincidence|reason)\b",
)

# (file, phrase in lower case): why it may stay
ALLOWED: dict[tuple[str, str], str] = {}


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Texts that users can see: strings with a space, and docstrings of commands, but no other docstrings."""
    tree = ast.parse(path.read_text())
    is_command = "/cli/commands/" in path.as_posix()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    attributes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)} - docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            if id(node) in attributes or (id(node) in docstrings and not is_command):
                continue
            yield node.lineno, node.value


def _texts() -> Iterator[tuple[str, int, str]]:
    for path in PAGES:
        if path.suffix in {".md", ".yml", ".yaml"}:
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                yield path.relative_to(ROOT).as_posix(), number, line
    for path in SOURCES:
        for number, text in _strings(path):
            yield path.relative_to(ROOT).as_posix(), number, text


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, of attributes too, with their line breaks as blanks."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


TEXTS = list(_texts())
COMMENTS = [(path.relative_to(ROOT).as_posix(), number, text) for path in SOURCES for number, text in _comments(path)]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_a_phrase_stays_out(phrase: str) -> None:
    """No shipped string and no page contains it, except the few allowed places with a reason."""
    pattern = re.compile(phrase, re.IGNORECASE)
    found = [
        f"{file}:{line}: {match[0]!r} -> {INSTEAD[phrase]}"
        for file, line, text in TEXTS
        for match in pattern.finditer(text)
        if (file, match[0].lower()) not in ALLOWED
    ]

    assert found == []


@pytest.mark.parametrize("phrase", NOT_IN_COMMENTS)
def test_a_phrase_stays_out_of_comments(phrase: str) -> None:
    """Comments and docstrings are plain too: they do not speak of people where a process or a tool acts."""
    pattern = re.compile(phrase, re.IGNORECASE)

    assert [f"{file}:{line}: {match[0]!r}" for file, line, text in COMMENTS for match in pattern.finditer(text)] == []


def test_texts_are_found() -> None:
    """The strings of every package and all pages are checked."""
    assert len(COMMENTS) > 5000
    packages = {file.split("/")[1] for file, _, _ in TEXTS if file.startswith("kafkabal/")}
    assert {"cli", "executor", "planner", "clusters", "reporting", "routing", "producer", "reader"} <= packages
    assert len([1 for file, _, _ in TEXTS if file.startswith("docs/")]) > 1000
