"""What is wrong with a state of the whole cluster: offline replicas and partitions, full disks, lag, imbalance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.inspection import Inspection, inspect_cluster
from kafkabal.model import ClusterState, LogDirState, lagging_partitions, offline_replicas, volume_headroom_bytes
from kafkabal.watch.outer_band import outer_scores

_HAS_ROOM_BELOW = 0.80
"""Fraction below which a disk is no longer nearly full: retention lets a log grow and shrink by a whole segment."""


@dataclass(frozen=True, slots=True)
class StateFindings:
    """Findings in a state of the whole cluster, apart from how its brokers respond."""

    offline_dirs: frozenset[tuple[int, str]]
    """Broker and path of offline log dirs."""
    full_dirs: frozenset[tuple[int, str]]
    """Broker and path of the first log dir of each nearly full disk."""
    filling_dirs: frozenset[tuple[int, str]]
    """The same of disks that are so full that one which was nearly full still counts as such."""
    without_dirs: frozenset[int]
    """Brokers that reported no log dirs: whether theirs are still offline, or nearly full, is unknown."""
    lost_on_dead: frozenset[int]
    """Brokers that are not registered but still have assigned replicas."""
    lost_on_dirs: frozenset[int]
    """Live brokers with assigned replicas on an offline log dir."""
    offline_partitions: int
    """Partitions without a leader."""
    out_of_sync: int
    """Partitions with live replicas out of sync."""
    imbalanced: tuple[str, ...]
    """Scores outside the outer band."""
    empty: frozenset[int]
    """Live brokers without a replica of a topic that is not internal."""
    without_replicas: frozenset[int]
    """Live brokers without any replica."""
    led: frozenset[int]
    reassignments_known: bool = True
    """False: replicas that are being added count as out of sync, and as load where they go."""
    under_min_isr: int | None = None
    """Partitions with a leader, but fewer replicas in sync than ``min.insync.replicas``; None if that is unknown."""

    def remembering(self, before: StateFindings) -> StateFindings:
        """With what was found before and cannot be judged now.

        Log dirs that were offline on brokers that now report none are not online because of that, and a full disk has
        no room because its log dir is offline. Without a controller, no ISR changes, and moves in flight must not pass
        for replicas that fell behind.
        """
        offline, full = (self._unreported(dirs) for dirs in (before.offline_dirs, before.full_dirs))
        still_full = before.full_dirs & (self.filling_dirs | self.offline_dirs)
        under_min_isr = before.under_min_isr if self.under_min_isr is None else self.under_min_isr
        found = replace(
            self,
            offline_dirs=self.offline_dirs | offline,
            full_dirs=self.full_dirs | full | still_full,
            under_min_isr=under_min_isr,
        )
        if self.reassignments_known or before is NOTHING_FOUND:
            return found
        return replace(found, out_of_sync=before.out_of_sync).with_imbalance_of(before)

    def with_imbalance_of(self, before: StateFindings) -> StateFindings:
        """With the imbalance of an earlier reading, while it is unknown what is balanced."""
        return replace(self, imbalanced=before.imbalanced)

    def _unreported(self, dirs: frozenset[tuple[int, str]]) -> frozenset[tuple[int, str]]:
        return frozenset((broker, path) for broker, path in dirs if broker in self.without_dirs)


_NONE: frozenset[int] = frozenset()
NOTHING_FOUND = StateFindings(frozenset(), frozenset(), frozenset(), _NONE, _NONE, _NONE, 0, 0, (), _NONE, _NONE, _NONE)


def find(state: ClusterState, outer_tolerance: float) -> StateFindings:
    """What is wrong with a state."""
    return findings_of(inspect_cluster(state, outer_scores(state, outer_tolerance), tolerance=outer_tolerance))


def findings_of(inspection: Inspection) -> StateFindings:
    """What is wrong with a state, given its evaluated scores."""
    state = inspection.state
    brokers, dirs, replicas = state.brokers, state.log_dirs, state.replicas
    offline = np.flatnonzero(dirs.state == LogDirState.OFFLINE)
    lost_on = np.bincount(replicas.broker[offline_replicas(state)], minlength=len(brokers)) > 0
    external = ~state.topics.internal[state.partitions.topic]
    held = np.bincount(replicas.broker[external[replicas.partition]], minlength=len(brokers))
    holds_any = np.bincount(replicas.broker, minlength=len(brokers)) > 0
    leader = state.partitions.leader
    first = replicas.broker[state.partitions.first[:-1]] if len(replicas) else np.zeros(0, np.int32)
    has_dirs = np.bincount(dirs.broker, minlength=len(brokers)) > 0
    return StateFindings(
        offline_dirs=frozenset((int(brokers.id[dirs.broker[d]]), dirs.path[d]) for d in offline.tolist()),
        full_dirs=_dirs_fuller_than(DEFAULT_LOG_DIR_LIMIT, state),
        filling_dirs=_dirs_fuller_than(_HAS_ROOM_BELOW, state),
        without_dirs=frozenset(brokers.id[~has_dirs].tolist()),
        lost_on_dead=frozenset(brokers.id[lost_on & ~brokers.is_live].tolist()),
        lost_on_dirs=frozenset(brokers.id[lost_on & brokers.is_live].tolist()),
        offline_partitions=int(np.count_nonzero(leader < 0)),
        out_of_sync=int(np.count_nonzero(lagging_partitions(state))),
        imbalanced=tuple(scored.score.name for scored in inspection.scored if scored.evaluation.outside.any()),
        empty=frozenset(brokers.id[brokers.is_live & (held == 0)].tolist()) if external.any() else frozenset(),
        without_replicas=frozenset(brokers.id[brokers.is_live & ~holds_any].tolist()),
        led=frozenset(brokers.id[np.unique(np.concatenate([leader[leader >= 0], first]))].tolist()),
        reassignments_known=state.reassignments_known,
    )


def _dirs_fuller_than(limit: float, state: ClusterState) -> frozenset[tuple[int, str]]:
    """Broker and path of the first log dir of each volume of which more than a fraction is in use, by any program."""
    dirs = state.log_dirs
    _, first = np.unique(dirs.volume, return_index=True)
    full = first[volume_headroom_bytes(state, limit)[first] < 0]
    return frozenset((int(state.brokers.id[dirs.broker[d]]), dirs.path[d]) for d in full.tolist())
