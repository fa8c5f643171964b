"""Halts a broker most of the time, so that everything it does is slow: serving, following, responding."""

from __future__ import annotations

import os
import signal
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

from kafkabal.sandbox import Sandbox

HALT_PERIOD_S: Final = 0.08
_ENDING_S = 5.0


class HaltedBroker:
    """Halts a broker of a sandbox for a part of every period, until the block ends.

    Parameters
    ----------
    part
        Fraction of the period, 0 to 1.
    """

    def __init__(self, sandbox: Sandbox, broker: int, part: float) -> None:
        (node,) = (status for status in sandbox.status() if status.node.id == broker)
        assert node.pid is not None
        self._pid = node.pid
        self._part = part
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(_ENDING_S)

    def _run(self) -> None:
        try:
            while not self._stop.wait((1 - self._part) * HALT_PERIOD_S):
                os.kill(self._pid, signal.SIGSTOP)
                self._stop.wait(self._part * HALT_PERIOD_S)
                os.kill(self._pid, signal.SIGCONT)
        finally:
            os.kill(self._pid, signal.SIGCONT)
