"""What is wrong with brokers and log dirs, in one or two words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from kafkabal.model import I64, ClusterState, LogDirState, reports_no_log_dir
from kafkabal.wording import counted_noun

DEAD: Final = "dead"
NO_RESPONSE: Final = "no-response"
OFFLINE_DIRS: Final = "offline-dirs"
CORDONED_DIRS: Final = "cordoned-dirs"
ONLINE: Final = "online"
_DIR_STATES: Final[Mapping[int, str]] = {
    LogDirState.ONLINE: ONLINE,
    LogDirState.OFFLINE: "offline",
    LogDirState.CORDONED: "cordoned",
}


def broker_states(state: ClusterState) -> list[str]:
    """The worst condition of each broker: ``online``, ``dead``, ``no-response``, ``offline-dirs`` or
    ``cordoned-dirs``."""
    live, unreported = state.brokers.is_live, reports_no_log_dir(state)
    offline, cordoned = dirs_in(state, LogDirState.OFFLINE), dirs_in(state, LogDirState.CORDONED)
    worst = np.select(
        (~live, unreported, offline > 0, cordoned > 0), (DEAD, NO_RESPONSE, OFFLINE_DIRS, CORDONED_DIRS), ONLINE
    )
    found: list[str] = worst.tolist()
    return found


def broker_conditions(state: ClusterState) -> list[str]:
    """The same for display: ``online``, ``dead``, ``no response``, ``2 dirs offline`` or ``1 dir cordoned``."""
    offline, cordoned = dirs_in(state, LogDirState.OFFLINE), dirs_in(state, LogDirState.CORDONED)
    texts = {
        OFFLINE_DIRS: [_dirs(count, "offline") for count in offline.tolist()],
        CORDONED_DIRS: [_dirs(count, "cordoned") for count in cordoned.tolist()],
    }
    names = broker_states(state)
    return [texts[name][b] if name in texts else name.replace("-", " ") for b, name in enumerate(names)]


def broker_severity(state: ClusterState) -> I64:
    """int64, shape (n_brokers,): 3 dead, 2 unreported, 1 with an offline dir, 0 otherwise."""
    live, unreported = state.brokers.is_live, reports_no_log_dir(state)
    offline = dirs_in(state, LogDirState.OFFLINE) > 0
    return np.where(~live, 3, np.where(unreported, 2, np.where(offline, 1, 0))).astype(np.int64)


def dir_conditions(state: ClusterState) -> list[str]:
    """The condition of each log dir, for display."""
    return [_DIR_STATES[condition] for condition in state.log_dirs.state.tolist()]


def dirs_in(state: ClusterState, condition: LogDirState) -> I64:
    """int64, shape (n_brokers,): number of log dirs of each broker in a condition."""
    dirs = state.log_dirs
    return np.bincount(dirs.broker[dirs.state == condition], minlength=len(state.brokers))


def _dirs(count: int, state: str) -> str:
    return f"{counted_noun(count, 'dir')} {state}"
