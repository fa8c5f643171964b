"""Checks machine-readable output of commands against the published schemas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from kafkabal.cli.framework.command_table import COMMANDS

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"


@cache
def schema_of(command: str) -> dict[str, Any]:
    """The published schema of a command's document."""
    name = command.replace(" --", "-").replace(" ", "-")
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


def check_document(document: dict[str, Any]) -> None:
    """Fail unless the document matches its command's schema."""
    Draft202012Validator(schema_of(document["kafkabal"]["command"])).validate(document)


def check_csv(text: str, command: str) -> None:
    """Fail unless the text is one table, with the columns of the schema in order."""
    head, *rows = csv.reader(io.StringIO(text))
    schema = schema_of(command)
    tables = [schema["properties"][key]["items"] for key in schema["x-csv-tables"]]
    assert any(head[: len(table["required"])] == table["required"] for table in tables), head
    assert all(len(row) == len(head) for row in rows)
    assert not {"True", "False"} & {cell for row in rows for cell in row}


def check_output(words: Sequence[str], code: int, text: str) -> None:
    """Check a command's output against its schema, if it is machine-readable."""
    is_ours = code in (0, 3) and words[0] in COMMANDS
    if not is_ours or {"--output-file", "--nagios"} & {*words} or text.startswith("KAFKABAL "):
        return
    forms = {option: value for option, value in pairwise(words) if option in ("-o", "--output")}
    form = next(iter(forms.values()), "")
    if form == "json" and text:
        check_document(json.loads(text))
    elif form == "csv":
        check_csv(text, _command(words))


def _command(words: Sequence[str]) -> str:
    pairs = [" ".join(words[:2]), words[0]]
    command = next(name for name in pairs if (SCHEMAS / f"{name.replace(' ', '-')}.schema.json").is_file())
    if command == "inspect" and "--growth" in words:
        return "inspect --growth"
    if command == "inspect" and ("--all-profiles" in words or words.count("--profile") > 1):
        return "inspect --topics" if "--topics" in words else "inspect --all-profiles"
    if command in ("rebalance", "rebalance apply") and "--dry-run" in words:
        return "rebalance --dry-run"
    if command == "rebalance rollback" and "--dry-run" in words:
        return "rebalance rollback --dry-run"
    return f"{command} --frontier" if "--frontier" in words else command
