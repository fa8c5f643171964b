"""Wraps a plug-in score in checks: errors name it, and its parts have the right types and shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64, I32, ClusterState
from kafkabal.scoring import score_parts
from kafkabal.scoring.bands import Band
from kafkabal.scoring.capacity_options import Configurable, ScoreOptions
from kafkabal.scoring.plugin_errors import check_score_part, reporting_score_errors
from kafkabal.scoring.score_protocol import Grain, Need, Score


@dataclass(frozen=True, slots=True)
class _PluginBand:
    """Wraps the band of a score, which may be the plug-in's own too."""

    score_name: str
    _band: Band

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """See :meth:`~kafkabal.scoring.bands.Band.edges`; the band gets a copy of the fair loads."""
        with reporting_score_errors(self.score_name, "band"):
            low, high = (np.broadcast_to(e, fair_load.shape) for e in self._band.edges(fair_load.copy(), tolerance))
        are_numbers = low.dtype.kind in "biuf" and high.dtype.kind in "biuf"
        check_score_part(self.score_name, "band", "a pair of numbers or of columns of numbers", are_numbers)
        # the fair load of holders that do not count is NaN
        check_score_part(self.score_name, "band", "from a lower to a higher edge", (low <= high) | np.isnan(fair_load))
        return low.astype(np.float64), high.astype(np.float64)


@dataclass(frozen=True, slots=True)
class PluginScore:
    """Wraps a :class:`~kafkabal.scoring.score_protocol.Score`; its attributes are read once."""

    name: str
    unit: str
    meaning: str
    grain: Grain
    needs: frozenset[Need]
    band: Band | None
    _score: Score

    def configured(self, options: ScoreOptions) -> Score:
        """See :class:`~kafkabal.scoring.capacity_options.Configurable`."""
        if not isinstance(self._score, Configurable):
            return self
        with reporting_score_errors(self.name, "configured"):
            return plugin_score(self._score.configured(options))

    def base_load(self, cluster: ClusterState) -> F64:
        """Load of each holder that no replica carries; see :class:`~kafkabal.scoring.score_protocol.Score`."""
        return score_parts.base_load_of(self._score, cluster)

    def replica_load(self, cluster: ClusterState) -> F64:
        """Load of each replica."""
        return score_parts.replica_load_of(self._score, cluster)

    def leader_load(self, cluster: ClusterState) -> F64:
        """Load of each leader, on top of that of its replica."""
        return score_parts.leader_load_of(self._score, cluster)

    def capacity(self, cluster: ClusterState) -> F64:
        """Capacity of each holder."""
        return score_parts.capacity_of(self._score, cluster)

    def group(self, cluster: ClusterState) -> I32 | None:
        """Group of each replica."""
        return score_parts.group_of(self._score, cluster)

    def holder_group(self, cluster: ClusterState) -> I32 | None:
        """Group of each holder."""
        return score_parts.holder_group_of(self._score, cluster)


def plugin_score(score: Score) -> PluginScore:
    """Wrap a score whose name and grain are valid.

    Raises
    ------
    UsageError
        If another attribute is invalid; the message names score and attribute.
    """
    with reporting_score_errors(score.name, "attributes"):
        unit, meaning, band = score.unit, score.meaning, score.band
        needs = frozenset(score.needs)
    lines: dict[str, object] = {"unit": unit, "meaning": meaning}
    for attribute, text in lines.items():
        if not isinstance(text, str) or not text.isprintable():
            raise _wrong(score, attribute, f"must be a line of text, not {text!r}")
    if band is not None and (isinstance(band, type) or not callable(getattr(band, "edges", None))):
        raise _wrong(score, "band", f"must be a band, not {band!r}")
    for need in needs:
        if need not in {*Need}:
            raise _wrong(score, "needs", f"must be among {', '.join(Need)}, not {need!r}")
    return PluginScore(
        name=score.name,
        unit=unit,
        meaning=meaning,
        grain=score.grain,
        needs=frozenset(Need(need) for need in needs),
        band=_PluginBand(score.name, band) if band is not None else None,
        _score=score,
    )


def _wrong(score: Score, attribute: str, reason: str) -> UsageError:
    return UsageError(f"score {score.name!r}: its {attribute} {reason}", hint="see 'kafkabal help own-score'")
