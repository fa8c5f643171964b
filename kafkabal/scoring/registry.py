"""Finds scores by name: built-in, from the entry-point group ``kafkabal.scores``, or ``package.module:object``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

from kafkabal.errors import UsageError, described, import_hint
from kafkabal.scoring.capacity_options import Configurable, ScoreOptions
from kafkabal.scoring.plugin_score import plugin_score
from kafkabal.scoring.score_protocol import Grain, Score
from kafkabal.units import parse_number
from kafkabal.wording import choice_hint

ENTRY_POINT_GROUP = "kafkabal.scores"
_NAME = re.compile(r"[a-z][a-z0-9-]*")

BUILT_IN: Mapping[str, str] = {
    "disk": "kafkabal.scoring.scores.disk:SCORE",
    "log-dir": "kafkabal.scoring.scores.log_dir:SCORE",
    "replicas": "kafkabal.scoring.scores.replicas:SCORE",
    "leaders": "kafkabal.scoring.scores.leaders:SCORE",
    "topic-spread": "kafkabal.scoring.scores.topic_spread:SCORE",
    "leader-bytes-in": "kafkabal.scoring.scores.leader_bytes_in:SCORE",
    "bytes-out": "kafkabal.scoring.scores.bytes_out:SCORE",
    "latency": "kafkabal.scoring.scores.latency:SCORE",
    "prometheus": "kafkabal.scoring.scores.prometheus:SCORE",
}
_MOST_WEIGHT = 1_000_000
"""Times any other weight; sums with 1e308 overflow, and a plan with such a score balanced nothing."""
DEFAULT_SCORES = ("disk", "replicas", "leaders", "topic-spread", "log-dir")


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A score and its weight, which is above 0 and at most 1,000,000."""

    score: Score
    weight: float = 1.0


def score_names() -> tuple[str, ...]:
    """Names of the built-in scores and of those from installed packages, sorted."""
    return tuple(sorted(_locations()))


def load_score(name: str) -> Score:
    """Load a score by its name or by ``package.module:object``.

    Raises
    ------
    UsageError
        If the name is unknown, or the object is not a score.
    """
    own, given, _ = name.partition(":")
    if given and own in BUILT_IN:
        raise UsageError(f"score {own!r} takes no options: {name!r}", hint=f"write {own}, or {own}=3 to weight it")
    location = name if ":" in name else BUILT_IN.get(name) or _locations().get(name)
    if location is None:
        raise UsageError(f"unknown score: {name!r}", hint=choice_hint(name, score_names()))
    score = _import_score(location)
    return score if location in BUILT_IN.values() else plugin_score(score)


def load_scores(texts: Iterable[str], options: ScoreOptions | None = None) -> tuple[WeightedScore, ...]:
    """Load scores written as ``NAME`` or ``NAME=WEIGHT``, in the given order.

    Parameters
    ----------
    options
        Applied to scores that are :class:`~kafkabal.scoring.capacity_options.Configurable`.

    Raises
    ------
    UsageError
        If a score is unknown or named twice, or a weight is not a number above 0 and at most 1,000,000.
    """
    scores = tuple(_weighted(text, options or ScoreOptions()) for text in texts)
    names = [s.score.name for s in scores]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"duplicate score: {twice[0]!r}")
    return scores


def split_weight(text: str) -> tuple[str, str | None]:
    """Split a score's name from its weight; the weight is None if there is none."""
    name, given, weight = text.partition("=")
    return name.strip(), weight if given else None


def default_scores(*, several_log_dirs: bool, options: ScoreOptions | None = None) -> tuple[WeightedScore, ...]:
    """The default scores of ``rebalance`` and ``inspect``; ``log-dir`` only if a broker has several."""
    return load_scores((name for name in DEFAULT_SCORES if several_log_dirs or name != "log-dir"), options)


def _locations() -> dict[str, str]:
    # scanning all installed packages takes longer than most plans of small clusters
    from importlib.metadata import entry_points

    offered = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**offered, **BUILT_IN}


def _weighted(text: str, options: ScoreOptions) -> WeightedScore:
    name, number = split_weight(text)
    try:
        weight = 1.0 if number is None else parse_number(number)
    except UsageError:
        weight = math.nan
    if not 0 < weight <= _MOST_WEIGHT:
        raise UsageError(
            f"weight must be a number above 0 and at most {_MOST_WEIGHT:,}: {text!r}", hint="write it like disk=3"
        )
    score = load_score(name)
    return WeightedScore(score.configured(options) if isinstance(score, Configurable) else score, weight)


def _import_score(location: str) -> Score:
    module_name, _, attribute = location.partition(":")
    try:
        found = getattr(import_module(module_name), attribute)
        score = found() if isinstance(found, type) else found
        is_score = isinstance(score, Score)
        name, grain = (score.name, score.grain) if is_score else (None, None)
    except ImportError as error:
        raise UsageError(f"cannot load score {location!r}: {error}", hint=import_hint(error)) from error
    except (Exception, SystemExit) as error:  # a plug-in may fail in any way; the user has to fix it
        raise UsageError(f"cannot load score {location!r}: {described(error)}") from error
    if not is_score:
        raise UsageError(
            f"not a score: {location!r}: parts of the protocol are missing", hint="see 'kafkabal help own-score'"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(grain, Grain):
        raise UsageError(
            f"not a score: {location!r}: invalid name {name!r} or grain {grain!r}",
            hint="a name has lower-case letters, digits and dashes; see 'kafkabal help own-score'",
        )
    loaded: Score = score
    return loaded
