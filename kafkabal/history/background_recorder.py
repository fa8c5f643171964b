"""Records history in the background, in a thread with its own connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kafkabal.clusters import Cluster, InFlight, ReadRequest
from kafkabal.errors import KafkabalError
from kafkabal.history.history_files import HistoryFolder
from kafkabal.history.history_point import point_of

RECORD_EVERY_S: Final = 600.0
"""Reading the offsets of 200,000 partitions takes the brokers a second or two; every ten minutes that is
unnoticeable."""
_LEAVING_S: Final = 2.0
"""A half-written point is dropped with its temporary file, so a program need not wait for it."""


class BackgroundRecorder:
    """Records a cluster periodically inside a ``with`` block.

    A failure is reported once, and again only after a success; it never ends the main work. At the end a reading that
    hangs is abandoned.

    Parameters
    ----------
    connect
        Connects to the cluster for each reading: threads must not share connections.
    state_dir
        Folder for data that outlives a command.
    warn
        Called with one line of text.
    """

    def __init__(
        self,
        connect: Callable[[], Cluster],
        state_dir: Path,
        warn: Callable[[str], None],
        *,
        every_s: float = RECORD_EVERY_S,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._connect, self._state_dir, self._warn = connect, state_dir, warn
        self._every_s, self._wall_clock = every_s, wall_clock
        self._ended = threading.Event()
        self._has_failed = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(_LEAVING_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._record()
                self._has_failed = False
            except KafkabalError as error:
                # not whenever the message changes: it may name the file, which has another name each time
                if not self._has_failed:
                    self._warn(f"history not recorded: {error.in_one_line}")
                self._has_failed = True
            self._ended.wait(self._every_s)

    def _record(self) -> None:
        with self._connect() as cluster:
            state = cluster.read(ReadRequest(offsets=True, in_flight=InFlight.OMITTED)).state
        if not self._ended.is_set():
            HistoryFolder(self._state_dir, state.cluster_id, self._warn).record(point_of(state, self._wall_clock()))
