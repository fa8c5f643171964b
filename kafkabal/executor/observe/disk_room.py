"""Free space on the volumes: how much may still be copied to a log dir without exceeding its limit.

An arriving copy counts from the moment it is requested; a departing one counts until the volume reports more free
space, since Kafka deletes with a delay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kafkabal.model import ClusterState, LogDirState, did_not_report, volume_room_bytes
from kafkabal.wording import first_of


class DiskRoom:
    """Free space of every volume of known size; a volume of unknown size has room for everything.

    Parameters
    ----------
    limit
        No volume may exceed this fraction of its total size, nor have less than 5% usable.
    """

    def __init__(self, state: ClusterState, limit: float) -> None:
        self._room: dict[int, int] = {}
        self._volume: dict[tuple[int, str], int] = {}
        self._dirs: defaultdict[int, list[str]] = defaultdict(list)
        self._offline: set[tuple[int, str]] = set()
        self._unknown = frozenset(state.brokers.id[did_not_report(state)].tolist())
        dirs, room = state.log_dirs, volume_room_bytes(state, limit)
        for row, path in enumerate(dirs.path):
            broker = int(state.brokers.id[dirs.broker[row]])
            if dirs.state[row] == LogDirState.ONLINE:
                self._dirs[broker].append(path)
            elif dirs.state[row] == LogDirState.OFFLINE:
                self._offline.add((broker, path))
            self._volume[broker, path] = int(dirs.volume[row])
            if dirs.total_bytes[row] >= 0:
                self._room[int(dirs.volume[row])] = int(room[row])

    def reserve(self, broker: int, path: str | None, size_bytes: int) -> None:
        """Count bytes that will arrive in a dir; without a path, in any dir of the broker."""
        for volume in self._volumes(broker, path):
            if volume in self._room:
                self._room[volume] -= size_bytes

    def has_room(self, broker: int, path: str | None, size_bytes: int) -> bool:
        """Whether a copy fits; without a path, it must fit on whichever dir the broker chooses."""
        return all(self._room.get(v, size_bytes) >= size_bytes for v in self._volumes(broker, path))

    def outage(self, broker: int, path: str | None) -> str | None:
        """The message that a dir is offline, or None; without a path, another dir will do."""
        return f"log dir {path} of broker {broker} is offline" if (broker, path) in self._offline else None

    def outages(self, broker: int) -> str | None:
        """The message that dirs of a broker are offline, or None."""
        offline = self._offline_of(broker)
        if not offline:
            return None
        return f"{_dirs_in_words(offline)} of broker {broker} {'is' if len(offline) == 1 else 'are'} offline"

    def loss(self, broker: int, path: str | None) -> str:
        """Why a live broker no longer holds a copy that was on its way to a dir, as far as this is visible."""
        offline = self._offline_of(broker)
        lost = f"broker {broker} lost its copy"
        if offline:
            lost = f"{lost}: its {_dirs_in_words(offline)} {'is' if len(offline) == 1 else 'are'} offline"
        return self.outage(broker, path) or lost

    def obstacle(self, broker: int, path: str | None, size_bytes: int) -> str | None:
        """Why a copy cannot go to a dir now; None if it can."""
        if broker in self._unknown:
            # a full disk would stop every partition of the broker, not only this one
            return f"broker {broker} did not report its log dirs"
        if self.has_room(broker, path, size_bytes):
            return self.outage(broker, path)
        return "its destination log dir would exceed the disk limit"

    def _offline_of(self, broker: int) -> list[str]:
        return sorted(path for b, path in self._offline if b == broker)

    def _volumes(self, broker: int, path: str | None) -> Iterable[int]:
        paths = self._dirs[broker] if path is None else [path]
        return {self._volume[broker, p] for p in paths if (broker, p) in self._volume}


def _dirs_in_words(paths: Sequence[str]) -> str:
    return f"log dir {paths[0]}" if len(paths) == 1 else f"log dirs {first_of(paths)}"
