"""Where and with what runs are worked on."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkabal.executor.clock import SystemClock
from kafkabal.executor.events import Silent
from kafkabal.executor.stop import StopSwitch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkabal.clusters.protocol import Cluster
    from kafkabal.executor.clock import Clock
    from kafkabal.executor.events import RunListener


def _random_suffix() -> str:
    return secrets.token_hex(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """A cluster, a folder for journals, a clock, and whoever wants to know or to stop."""

    cluster: Cluster
    state_dir: Path
    """Folder of the journals of all clusters."""
    clock: Clock = field(default_factory=SystemClock)
    listener: RunListener = field(default_factory=Silent)
    stop: StopSwitch = field(default_factory=StopSwitch)
    host: str = field(default_factory=socket.gethostname)
    process: int = field(default_factory=os.getpid)
    run_suffix: Callable[[], str] = _random_suffix
    """Makes run ids of the same second differ."""

    @property
    def owner(self) -> str:
        """Who holds the lock, for people on other hosts."""
        return f"kafkabal on {self.host} (process {self.process})"

    def folder(self, cluster_id: str) -> Path:
        """Folder of the journals of one cluster."""
        return self.state_dir / cluster_id

    def journal_path(self, cluster_id: str, run_id: str) -> Path:
        """Journal of a run."""
        return self.folder(cluster_id) / f"{run_id}.jsonl"

    def new_run_id(self) -> str:
        """An id that sorts by time."""
        return f"{self.clock.utc_now():%Y%m%dT%H%M%S}-{self.run_suffix()}"
