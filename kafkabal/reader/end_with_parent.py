"""Ends the process of a reader once its parent is gone: a worker of a data loader, or of a measurement."""

from __future__ import annotations

import multiprocessing as mp
import os
import time
from threading import Thread
from typing import Final

_POLL_S: Final = 1.0


def end_with_parent(poll_s: float = _POLL_S) -> None:
    """End this process once its parent is gone.

    Otherwise it would wait forever for somebody to take its samples, since forked workers hold both ends of each
    other's pipes: those of a trainer that was killed kept their memory, and the lock of a reader that shares work.
    torch's workers notice that their parent is gone, but then wait for their pipes.
    """
    Thread(target=_watch, args=(os.getppid(), poll_s), name="kafkabal-parent", daemon=True).start()


def _watch(started_by: int, poll_s: float) -> None:
    # neither is enough: the trainer may be gone already when a process that was started afresh gets here, and forked
    # ones keep the pipe of each other open whose end would tell that the parent ended
    parent = mp.parent_process()
    while os.getppid() == started_by and (parent is None or parent.is_alive()):
        time.sleep(poll_s)
    os._exit(1)  # not sys.exit, which would wait for the pipes, too
