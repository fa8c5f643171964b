"""Who holds the lock of a cluster, and whether that process is provably gone.

The lock of a process that died outlives it by a session: half a minute in which every other command is refused. A
process of the same user on the same host can verify that the holder is gone, and take the lock over at once. A host's
name proves nothing, since containers and machines made from one image share it; the ids of the boot and of the process
namespace do. A process id alone proves nothing either, since ids are reused; together with the start time of the
process it does.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PATTERN = re.compile(r"kafkabal on .* \(process (\d+), id ([0-9a-f]{8})-(\d+)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that works on a cluster, as it names itself in the lock."""

    host: str
    process: int
    origin: str = ""
    """Hash of boot id, process namespace and user; empty if the system does not report them."""
    started: int = 0
    """Start time of the process, in the kernel's ticks since boot."""

    @classmethod
    def current(cls, host: str) -> LockHolder:
        """This process."""
        started = _start_of(os.getpid())
        return cls(host, os.getpid(), _origin() if started is not None else "", started or 0)

    def __str__(self) -> str:
        suffix = f", id {self.origin}-{self.started}" if self.origin else ""
        return f"kafkabal on {self.host} (process {self.process}{suffix})"


def is_provably_gone(owner: str) -> bool:
    """Whether the process with this name ran on this host, under the same user, and is gone."""
    found = _PATTERN.fullmatch(owner)
    if found is None or found[2] != _origin():
        return False
    return _start_of(int(found[1])) != int(found[3])


@cache
def _origin() -> str:
    """A string equal for all processes that can see each other, and only for those; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {namespace} {os.getuid()}".encode()).hexdigest()[:8]


def _start_of(process: int) -> int | None:
    """Start time of a process in ticks since boot; None if it is gone, a zombie, or invisible."""
    try:
        # the program's name, in parentheses, may contain anything
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])
