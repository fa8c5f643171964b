"""The report of ``scores``: what each score measures and needs, and whether a cluster supplies it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafkabal.errors import UsageError
from kafkabal.model import ClusterState
from kafkabal.reporting.report import Column, Report, Table, Tone
from kafkabal.scoring import DEFAULT_SCORES, Score, load_score, require, score_names


@dataclass(frozen=True, slots=True)
class _Listed:
    name: str
    score: Score | None
    missing: str
    """Why it cannot be used; empty if it can, or if no cluster was given."""


def scores_report(names: Sequence[str] = (), state: ClusterState | None = None) -> Report:
    """List scores.

    Parameters
    ----------
    names
        Scores to list, also as ``package.module:object``; empty for all that the registry knows.
    state
        The cluster to check; None skips the check.

    Raises
    ------
    UsageError
        If a named score is unknown.
    """
    listed = [_listed(name, state, strict=bool(names)) for name in dict.fromkeys(names or score_names())]
    moves_data = [entry.score.band is not None if entry.score else None for entry in listed]
    needs = [sorted(entry.score.needs) if entry.score else [] for entry in listed]
    return Report(
        command="scores",
        tables=(
            Table(
                key="scores",
                columns=(
                    Column(key="score", title="score", values=[entry.name for entry in listed], label=True),
                    Column(key="default", title="default", values=[e.name in DEFAULT_SCORES for e in listed]),
                    Column(
                        key="grain",
                        title="measured per",
                        dispensable=1,
                        values=[e.score.grain if e.score else None for e in listed],
                    ),
                    Column(key="unit", title="", values=[e.score.unit if e.score else None for e in listed]),
                    Column(key="needs", title="" if state else "needs", values=needs),
                    *_supply(listed, asked=state is not None),
                    Column(key="moves_data", title="", values=moves_data),
                    Column(key="meaning", title="measures", values=[_meaning(entry) for entry in listed], wraps=True),
                ),
            ),
        ),
        notes=() if state else ("Name a cluster to see which scores it has the data for.",),
    )


def _listed(name: str, state: ClusterState | None, *, strict: bool) -> _Listed:
    try:
        score = load_score(name)
    except UsageError as error:
        if strict:
            raise
        return _Listed(name, None, error.message)
    try:
        if state is not None:
            require(score, state)
    except UsageError as error:
        return _Listed(score.name, score, error.hint or error.message)
    return _Listed(score.name, score, "")


def _supply(listed: Sequence[_Listed], *, asked: bool) -> Iterator[Column]:
    """Whether the cluster supplies what each needs; None if no cluster was given."""
    yield Column(key="available", title="", values=[not entry.missing if asked else None for entry in listed])
    yield Column(key="missing", title="", values=[entry.missing or None for entry in listed])
    yield Column(
        key="here",
        title="available" if asked else "",
        for_people=True,
        wraps=True,
        values=[entry.missing or "yes" for entry in listed],
        tones=[Tone.WARNING if entry.missing else Tone.GOOD for entry in listed],
    )


def _meaning(entry: _Listed) -> str:
    if entry.score is None:
        return entry.missing
    return (
        entry.score.meaning if entry.score.band else f"{entry.score.meaning} (routing, leadership and new topics only)"
    )
