"""Columns shared by several views of ``inspect``: key, title, kind and metric are defined once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kafkabal.inspection import DEAD, NO_RESPONSE, OFFLINE_DIRS, ONLINE, HolderFigures, Scored, sum_by
from kafkabal.model import F64, I64, Bools, ClusterState, dir_capacity_bytes, foreign_on_volumes, replica_bytes
from kafkabal.reporting.report import Column, Metric, Tone, ValueKind, counted, known

_VISIBLE = 0.005
"""Fraction of the mean: less does not show in a figure of two decimals."""
_BAD_STATES = frozenset({DEAD, NO_RESPONSE, OFFLINE_DIRS, "offline"})
"""States of brokers and log dirs in which data is unreachable."""


def used(prefix: str, values: I64, estimated: Bools, order: I64) -> Column:
    """Bytes of the replicas."""
    return Column(
        key="used_bytes",
        title="used",
        kind=ValueKind.BYTES,
        values=values[order].tolist(),
        estimated=estimated[order].tolist(),
        # the share and the fullness of a holder say more, and its counts may be outside their band
        dispensable=0 if prefix == "topic" else 1,
        metric=Metric(f"kafkabal_{prefix}_used_bytes", "Bytes of the replicas, including estimates."),
    )


def remote(values: I64) -> Column:
    """Bytes only in remote storage."""
    return Column(
        key="remote_bytes", title="remote", kind=ValueKind.BYTES, values=counted(values), quiet=True, dispensable=5
    )


def capacity(prefix: str, values: F64, order: I64) -> Column:
    """Size of the volumes, for programs."""
    return Column(
        key="capacity_bytes",
        title="",
        kind=ValueKind.BYTES,
        values=[None if v is None else int(v) for v in known(values[order])],
        metric=Metric(f"kafkabal_{prefix}_capacity_bytes", "Size of the volumes in bytes."),
    )


def foreign(prefix: str, values: F64, order: I64) -> Column:
    """Bytes of other programs on the volumes."""
    whole = [None if v is None else int(v) for v in known(values[order])]
    return Column(
        key="other_bytes",
        title="others",
        kind=ValueKind.BYTES,
        values=whole,
        quiet=True,
        dispensable=6,
        metric=Metric(f"kafkabal_{prefix}_other_bytes", "Bytes of other programs on the volumes."),
    )


def fullness(used_bytes: I64, foreign_bytes: F64, capacity_bytes: F64, order: I64) -> Column:
    """How full the volumes are, including other programs."""
    return _full(_occupied_fraction(used_bytes, foreign_bytes, capacity_bytes), order)


def fullness_of_log_dirs(state: ClusterState, used_bytes: I64, order: I64) -> Column:
    """How full the volume of each log dir is, with the bytes of all dirs on it."""
    return _full(_occupied_fraction_of_log_dirs(state, used_bytes), order)


def fullest_volume(state: ClusterState, order: I64) -> Column:
    """How full the fullest volume of each broker is, for programs: a broker fails where one of its volumes is full."""
    in_dirs = sum_by(state.replicas.log_dir, replica_bytes(state), len(state.log_dirs))
    full = np.nan_to_num(_occupied_fraction_of_log_dirs(state, in_dirs), nan=-1.0)
    fullest = np.full(len(state.brokers), -1.0)
    np.maximum.at(fullest, state.log_dirs.broker, full)
    return Column(
        key="fullest_volume",
        title="",
        kind=ValueKind.PERCENT,
        values=known(np.where(fullest < 0, np.nan, fullest)[order]),
        metric=Metric("kafkabal_broker_fullest_volume_ratio", "How full the fullest volume is, with other programs."),
    )


def _full(fraction: F64, order: I64) -> Column:
    return Column(key="full", title="full", kind=ValueKind.PERCENT, values=known(fraction[order]), quiet=True)


def _occupied_fraction(used_bytes: I64, foreign_bytes: F64, capacity_bytes: F64) -> F64:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: F64 = (used_bytes + np.nan_to_num(foreign_bytes)) / np.where(capacity_bytes > 0, capacity_bytes, np.nan)
    return found


def _occupied_fraction_of_log_dirs(state: ClusterState, used_bytes: I64) -> F64:
    volume = state.log_dirs.volume
    on_volume = np.bincount(volume, used_bytes).astype(np.int64)[volume]
    return _occupied_fraction(on_volume, foreign_on_volumes(state), dir_capacity_bytes(state))


def main_share(scored: Scored | None, order: I64, *, is_shown: bool = True) -> tuple[Column, Column]:
    """The share that rows are sorted by, and its bar; empty if no score has these holders."""
    if scored is None:
        return _share_and_bar("", "", [None] * len(order), [0] * len(order))
    share, side = known(scored.evaluation.share[order]), scored.side()[order].tolist()
    return _share_and_bar(scored.score.name if is_shown else "", " " if is_shown else "", share, side)


def _share_and_bar(title: str, bar_title: str, share: list[float | None], side: list[int]) -> tuple[Column, Column]:
    tones = [_tone(s) for s in side]
    return (
        Column(key="share", title=title, kind=ValueKind.FAIR, values=share, outside=side, tones=tones, dispensable=-1),
        Column(key="bar", title=bar_title, kind=ValueKind.FAIR_BAR, dispensable=2, values=share, tones=tones),
    )


def fair(scored: Scored | None, order: I64) -> Column:
    """Fair share over the mean, shown to people if racks or limits prevent equal shares."""
    if scored is None:
        return Column(key="fair", title="", kind=ValueKind.FAIR, values=[None] * len(order))
    e = scored.evaluation
    ratio = np.where(e.counted & ~np.isnan(e.fair), e.fair_over_mean, np.nan)[order]
    is_uneven = bool((np.abs(ratio[~np.isnan(ratio)] - 1) > _VISIBLE).any())
    return Column(
        key="fair", title="fair" if is_uneven else "", kind=ValueKind.FAIR, values=known(ratio), dispensable=5
    )


def shares(prefix: str, scored: Sequence[Scored], order: I64) -> Iterator[Column]:
    """For programs: share and load by each score, and whether it is outside its band."""
    for s in scored:
        name = s.score.name.replace("-", "_")
        metric = Metric(f"kafkabal_{prefix}_share", "Load divided by the fair load, by score.", {"score": s.score.name})
        e = s.evaluation
        yield Column(key=f"{name}_load", title="", values=known(e.load[order]))
        yield Column(key=f"{name}_fair", title="", values=known(e.fair[order]))
        yield Column(key=f"{name}_share", title="", values=known(e.share[order]), metric=metric)
        yield Column(key=f"{name}_outside", title="", values=e.outside[order].tolist())


def counts(
    prefix: str, figures: HolderFigures, order: I64, scored: Sequence[Scored] = (), *, leaders_shown: bool = True
) -> Iterator[Column]:
    """Replicas and leaders, with an arrow if their own score is outside its band, and replicas out of sync."""
    sides = {s.score.name: s.side()[order].tolist() for s in scored}
    yield Column(
        key="replicas",
        title="replicas",
        kind=ValueKind.NUMBER,
        values=figures.replicas[order].tolist(),
        outside=sides.get("replicas", ()),
        metric=Metric(f"kafkabal_{prefix}_replicas", "Replicas."),
    )
    yield Column(
        key="leaders",
        title="leaders" if leaders_shown else "",
        kind=ValueKind.NUMBER,
        values=figures.leaders[order].tolist(),
        outside=sides.get("leaders", ()),
        metric=Metric(f"kafkabal_{prefix}_leaders", "Partitions led by the broker."),
    )
    yield Column(
        key="out_of_sync_replicas",
        title="out of sync",
        kind=ValueKind.NUMBER,
        values=figures.out_of_sync[order].tolist(),
        quiet=True,
        dispensable=3,
        tones=[Tone.WARNING if n else Tone.PLAIN for n in figures.out_of_sync[order].tolist()],
        metric=Metric(f"kafkabal_{prefix}_out_of_sync_replicas", "Replicas that are not in sync."),
    )


def rates(prefix: str, in_bytes_per_s: F64, out_bytes_per_s: F64, order: I64) -> Iterator[Column]:
    """Bytes per second, if sampled; zeros are shown too: they answer whether anything is written."""
    for key, title, values in (("in", "in", in_bytes_per_s), ("out", "out", out_bytes_per_s)):
        yield Column(
            key=f"{key}_bytes_per_s",
            title=title,
            kind=ValueKind.RATE,
            values=known(values[order]),
            quiet=bool(np.isnan(values).all()),
            dispensable=1,
            metric=Metric(f"kafkabal_{prefix}_{key}_bytes_per_second", f"Bytes per second {key}, at the leaders."),
        )


def partition_troubles(
    prefix: str, under_replicated: I64, offline: I64, not_preferred: I64, order: I64
) -> Iterator[Column]:
    """Partitions with problems."""
    for key, title, values, tone, dispensable, help_text in (
        ("offline_partitions", "offline", offline, Tone.BAD, 0, "Partitions without a leader."),
        (
            "under_replicated_partitions",
            "under-repl.",
            under_replicated,
            Tone.WARNING,
            5,
            "Under-replicated partitions.",
        ),
        (
            "not_preferred_partitions",
            "not pref.",
            not_preferred,
            Tone.PLAIN,
            7,
            "Partitions not led by their preferred leader.",
        ),
    ):
        yield Column(
            key=key,
            title=title,
            kind=ValueKind.NUMBER,
            values=values[order].tolist(),
            quiet=True,
            dispensable=dispensable,
            tones=[tone if n else Tone.PLAIN for n in values[order].tolist()],
            metric=Metric(f"kafkabal_{prefix}_{key}", help_text),
        )


def state(states: Sequence[str], conditions: Sequence[str], order: I64) -> tuple[Column, Column]:
    """What is wrong with a holder: a word for programs, a text for people, shown if any holder has a problem."""
    texts = [conditions[i] for i in order.tolist()]
    return (
        Column(key="state", title="", values=[states[i] for i in order.tolist()]),
        Column(
            key="condition",
            title="state" if any(text != ONLINE for text in texts) else "",
            for_people=True,
            values=texts,
            tones=[_state_tone(states[i]) for i in order.tolist()],
        ),
    )


def _state_tone(state: str) -> Tone:
    if state in _BAD_STATES:
        return Tone.BAD
    return Tone.FAINT if state == ONLINE else Tone.WARNING


def _tone(side: int) -> Tone:
    return Tone.PLAIN if side == 0 else Tone.WARNING
