"""``kafkabal scores``: the registry, and which scores a cluster supports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.scoring.registry import DEFAULT_SCORES, load_score, score_names

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "even.jsonl")


def listed(outcome: Any) -> dict[str, dict[str, Any]]:
    """Rows of a JSON result by score."""
    return {row["score"]: row for row in json.loads(outcome.out)["scores"]}


def test_every_score_of_the_registry_is_listed(run_cli: Callable[..., Any]) -> None:
    """Each score has its meaning and its needs; without a cluster, nothing is said about support."""
    rows = listed(run_cli("scores", "-o", "json"))

    assert tuple(rows) == score_names()
    assert {name for name, row in rows.items() if row["default"]} == set(DEFAULT_SCORES)
    for name, row in rows.items():
        assert row["meaning"].startswith(load_score(name).meaning)
        assert set(row["needs"]) == set(load_score(name).needs)
        assert row["available"] is None


def test_shows_which_scores_a_cluster_has_data_for(run_cli: Callable[..., Any]) -> None:
    """Scores that the snapshot does not support are listed with what to do about it."""
    rows = listed(run_cli("scores", "--snapshot", SNAPSHOT, "-o", "json"))

    assert (rows["disk"]["available"], rows["disk"]["missing"]) == (True, None)
    assert rows["leader-bytes-in"]["available"] is False
    assert "--sample" in rows["leader-bytes-in"]["missing"]


def test_a_plug_in_score_can_be_selected(run_cli: Callable[..., Any]) -> None:
    """package.module:object is listed like any other; an unknown name is an error."""
    rows = listed(run_cli("scores", "kafkabal.scoring.scores.disk:SCORE", "-o", "json"))
    unknown = run_cli("scores", "disc")

    assert set(rows) == {"disk"}
    assert (unknown.code, unknown.err.splitlines()[0]) == (2, "kafkabal: error: unknown score: 'disc'")


@pytest.mark.parametrize("words", [[], ["--snapshot", SNAPSHOT]])
def test_the_table_fits_80_columns(run_cli: Callable[..., Any], words: list[str]) -> None:
    """Prose wraps; names are never truncated."""
    outcome = run_cli("scores", *words, environ={"COLUMNS": "80"})

    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "…" not in outcome.out
    assert all(name in outcome.out for name in score_names())
