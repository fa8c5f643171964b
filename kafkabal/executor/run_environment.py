"""The surroundings of runs: cluster, journals, clock, listener and stop switch."""

from __future__ import annotations

import getpass
import math
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kafkabal.clusters import Clock, Cluster, InFlight, ReadRequest, SystemClock
from kafkabal.executor.run_events import NullListener, RunListener
from kafkabal.executor.safety.lock_holder import LockHolder
from kafkabal.executor.safety.stop_request import StopSwitch
from kafkabal.isolated_listeners import IsolatedListener
from kafkabal.user_folders import cluster_folder

if TYPE_CHECKING:  # commands that only ask about runs need not wait for numpy
    from kafkabal.model import ClusterState

_ID_TIME = "%Y%m%dT%H%M%S"
_ONE_SECOND = timedelta(seconds=1)


def _time_of(journal: Path) -> datetime | None:
    """The time in the name of a journal; None if the name is not one of ours."""
    try:
        return datetime.strptime(journal.stem.partition("-")[0], _ID_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _random_suffix() -> str:
    return secrets.token_hex(3)


def _user() -> str:
    """Name of the user; empty if the system knows none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _as_it_is(state: ClusterState) -> ClusterState:
    return state


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """A cluster, a folder for journals, a clock, a listener and a stop switch."""

    cluster: Cluster
    state_dir: Path
    """Folder for the journals of all clusters."""
    clock: Clock = field(default_factory=SystemClock)
    listener: RunListener = field(default_factory=NullListener)
    stop: StopSwitch = field(default_factory=StopSwitch)
    host: str = field(default_factory=socket.gethostname)
    user: str = field(default_factory=_user)
    holder: LockHolder | None = None
    """How this process names itself in the lock; None for the name of this process."""
    run_suffix: Callable[[], str] = _random_suffix
    """Makes run ids of the same second differ."""

    broker_timeout_s: float = 10.0
    """Timeout for each broker when the whole state is read."""

    in_flight: InFlight = InFlight.REQUIRED
    """Whether the state is read with the reassignments in flight; a run requires them, a dry run does not."""

    completed: Callable[[ClusterState], ClusterState] = _as_it_is
    """Adds what a configuration file says about disks and brokers do not report."""

    ends_at_s: float | None = None
    """When all runs in this environment must end, by the clock; each by its own options if None."""

    lock_wait_s: float = 0.0
    """How long to wait for the lock while another process holds it."""

    def __post_init__(self) -> None:
        """Protect the run from errors of its listener."""
        if not isinstance(self.listener, IsolatedListener):
            object.__setattr__(self, "listener", IsolatedListener(self.listener))

    def read_state(self) -> ClusterState:
        """The state of the cluster, with disks as configured."""
        request = ReadRequest(deadline_s=self.broker_timeout_s, in_flight=self.in_flight)
        return self.completed(self.cluster.read(request).state)

    def time_limit_s(self, max_runtime_s: float | None) -> float:
        """When a run that continues now must end, by the clock; infinite if it has no limit."""
        if self.ends_at_s is not None:
            return self.ends_at_s
        return math.inf if max_runtime_s is None else self.clock.monotonic() + max_runtime_s

    @property
    def owner(self) -> str:
        """The holder of the lock, in words for people on other hosts."""
        return str(self.holder or LockHolder.current(self.host))

    def folder(self, cluster_id: str) -> Path:
        """Folder for the journals of one cluster."""
        return cluster_folder(self.state_dir, cluster_id)

    def journal_path(self, cluster_id: str, run_id: str) -> Path:
        """Path of a run's journal."""
        return self.folder(cluster_id) / f"{run_id}.jsonl"

    def new_run_id(self, cluster_id: str) -> str:
        """An id that sorts by time, and after all runs of this host, even if its clock was set back."""
        taken = filter(None, map(_time_of, self.folder(cluster_id).glob("*.jsonl")))
        at = max([self.clock.utc_now(), *(time + _ONE_SECOND for time in taken)])
        return f"{at:{_ID_TIME}}-{self.run_suffix()}"
