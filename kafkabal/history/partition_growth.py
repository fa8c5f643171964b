"""Bytes per second written to each partition, over spans of the past.

::

    written in a span = advance of the end offset x current bytes per record / seconds of the span
    without offsets   = growth of the size, if it grew; else unknown, since retention may delete as much as is written
    compacted         = change of the size, since what is written mostly replaces existing records: what a log gains
                        until the next cleaning is not growth, so losses count too

A partition that is missing at an earlier point counts as empty then, and so does one of a topic that had another id. If
an offset went back, the topic was re-created or truncated, and earlier points do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kafkabal.history.history_point import HistoryPoint
from kafkabal.model import F64, I64, Bools, ClusterState, move_bytes
from kafkabal.telemetry import bytes_of_records, bytes_per_record

MOST_SPANS: Final = 8
"""More spans hardly narrow the interval any further (the quantile of 8 is 1.89, of infinitely many 1.64), and each
costs reading a file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionGrowth:
    """What was written to every partition of a state."""

    span_s: F64
    """float64, shape (n_spans,): seconds of each span, oldest first."""
    rates: NDArray[np.float64]
    """float64, shape (n_spans, n_partitions): bytes per second; NaN if unknown."""
    mean: F64
    """float64, shape (n_partitions,): mean over all spans in which it is known, never negative; 0 if it is known in
    none."""
    is_known: Bools
    is_idle: Bools
    """Nothing was written since the oldest point: its end offset was the same at every one."""
    is_by_size: Bools
    """Measured by size, from which bytes that were deleted are missing: more may be written than its mean."""

    @property
    def over_s(self) -> float:
        """Seconds from the oldest point until now."""
        return float(self.span_s.sum())


def chosen_times(times_s: Sequence[float], now_s: float, over_s: float) -> list[float]:
    """Points to compare with now: at most :data:`MOST_SPANS`, evenly spaced over the window, including its oldest
    one."""
    inside = [t for t in times_s if now_s - over_s <= t < now_s]
    if len(inside) <= MOST_SPANS:
        return inside
    wanted = np.linspace(inside[0], now_s, MOST_SPANS + 1)[:-1]
    at = np.asarray(inside)
    return sorted({float(at[np.abs(at - t).argmin()]) for t in wanted.tolist()})


def of_one_clock(points: Sequence[HistoryPoint], state: ClusterState) -> list[HistoryPoint]:
    """The longest sequence of points without those that were recorded while the clock was wrong.

    Such a point is among later or earlier ones, so that most end offsets seem to go back, although their topics are the
    same by id. If that counted as a truncation, all that was written since would count as written in the minutes
    after the point, and a disk that fills in weeks would be reported to be full in hours.

    Parameters
    ----------
    points
        Oldest first.
    """
    ends = [np.where(_has_topic(point, state), _column(point, state, "end_offset"), np.nan) for point in points]
    longest: list[list[int]] = []
    for row, end in enumerate(ends):
        before = (chain for chain in longest if not _went_back(ends[chain[-1]], end))
        longest.append([*max(before, key=len, default=[]), row])
    return [points[row] for row in max(longest, key=len, default=[])]


def _went_back(before: F64, after: F64) -> bool:
    return bool(np.count_nonzero(after < before) > np.count_nonzero(after > before))


def _has_topic(point: HistoryPoint, state: ClusterState) -> Bools:
    """bool, shape (n_partitions of the state,): the topic was there, by its id."""
    ids = dict(zip(point.topics, point.topic_ids, strict=True))
    topics = zip(state.topics.name, state.topics.topic_id, strict=True)
    is_same = (bool(id_) and ids.get(name) == id_ for name, id_ in topics)
    return np.fromiter(is_same, bool, len(state.topics))[state.partitions.topic]


def measure_growth(
    points: Sequence[HistoryPoint], state: ClusterState, now_s: float, is_compacted: Bools
) -> PartitionGrowth:
    """What was written between these points and now.

    Parameters
    ----------
    points
        Oldest first, all before ``now_s``; at least one.
    """
    n = len(state.partitions)
    times = np.array([*(point.at_s for point in points), now_s])
    end = np.vstack([*(_column(point, state, "end_offset") for point in points), _known(state.partitions.end_offset)])
    size = np.vstack([*(_column(point, state, "size_bytes") for point in points), _known(move_bytes(state))])
    span_s = np.diff(times)
    is_other = _before_restart(end)
    by_offset, by_size = bytes_of_records(np.diff(end, axis=0), bytes_per_record(state)), np.diff(size, axis=0)
    has_offsets = ~np.isnan(end[-1]) & ~is_compacted
    of_size = np.where(is_compacted, by_size, np.maximum(by_size, 0.0))
    rates = np.where(is_other, np.nan, np.where(has_offsets, by_offset, of_size)) / span_s[:, np.newaxis]
    known_s = np.where(np.isnan(rates), 0.0, span_s[:, np.newaxis]).sum(axis=0)
    written = np.nansum(rates * span_s[:, np.newaxis], axis=0)
    mean = np.maximum(np.divide(written, known_s, out=np.zeros(n), where=known_s > 0), 0.0)
    return PartitionGrowth(
        span_s=span_s,
        rates=rates,
        mean=mean,
        is_known=(known_s > 0) & (has_offsets | is_compacted | (mean > 0)),
        is_idle=np.asarray((end == end[-1]).all(axis=0)),
        is_by_size=~has_offsets,
    )


def _column(point: HistoryPoint, state: ClusterState, name: str) -> F64:
    """A column of a point in the order of the state; 0 for missing partitions, NaN for unknown values."""
    rows = point.rows_of(state)
    values: I64 = getattr(point, name)
    found = _known(values[np.maximum(rows, 0)]) if len(values) else np.zeros(len(rows))
    return np.where(rows >= 0, found, 0.0)


def _known(values: I64) -> F64:
    return np.where(values >= 0, values, np.nan).astype(np.float64)


def _before_restart(end: NDArray[np.float64]) -> NDArray[np.bool_]:
    """bool, shape (n_spans, n_partitions): the span begins before the last decrease of the end offset, or ends before
    its first value above 0."""
    lowest_after = np.fmin.accumulate(end[:0:-1], axis=0)[::-1]
    fell = np.logical_or.accumulate((end[:-1] > lowest_after)[::-1], axis=0)[::-1]
    # nothing was written before the partition existed, which says nothing about its rate now
    absent = np.logical_and.accumulate(end[1:] == 0, axis=0)
    was_never = absent[-1]
    return np.asarray(fell | (absent & ~was_never))
