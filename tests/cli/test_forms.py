"""Every command with a listing or report gives the same content in JSON and YAML."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

LOPSIDED = ["--snapshot", str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")]
COMMANDS = [
    ["policies", "-o"],
    ["scores", "-o"],
    ["scores", *LOPSIDED, "-o"],
    ["inspect", *LOPSIDED, "-o"],
    ["inspect", "--by", "topic", *LOPSIDED, "-o"],
    ["rebalance", "plan", "-o"],
    ["rebalance", "plan", "--frontier", "-o"],
    ["route-simulate", "--topic", "images", "--policy", "score", "--records", "1000", "--seeds", "1", *LOPSIDED, "-o"],
    ["sandbox", "status", "-o"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(w for w in words if "/" not in w))
def test_only_supported_output_formats_are_offered(
    run_cli: Callable[..., Any], snapshot: Path, words: list[str]
) -> None:
    """Every format that an option offers can be written; JSON and YAML parse to the same document."""
    if words[:2] == ["rebalance", "plan"]:
        words = ["rebalance", "plan", "--snapshot", str(snapshot), *words[2:]]
    refused = run_cli(*words, "other").err
    offered = refused.partition("choose from: ")[2].strip().split(", ")
    assert "table" in offered
    written = {form: run_cli(*words, form, wall_clock=lambda: 1_700_000_000.0) for form in offered}
    assert {form: (outcome.code, outcome.err) for form, outcome in written.items()} == dict.fromkeys(offered, (0, ""))
    assert yaml.safe_load(written["yaml"].out) == json.loads(written["json"].out)
