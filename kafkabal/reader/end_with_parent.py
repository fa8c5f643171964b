"""Ends the process of a reader once its parent is gone: a worker of a data loader, or of a measurement."""

from __future__ import annotations

import multiprocessing as mp
import os
import select
import time
from collections.abc import Callable
from threading import Thread
from typing import Final

_POLL_S: Final = 1.0
"""Where the system does not report it at once."""


def end_with_parent(poll_s: float = _POLL_S) -> None:
    """End this process once its parent is gone: at once on Linux, elsewhere within ``poll_s``.

    Otherwise it would wait forever to hand over its samples, since forked workers hold both ends of each
    other's pipes: those of a trainer that was killed kept their memory, and the lock of a reader that shares work.
    torch's workers notice that their parent is gone, but then wait for their pipes.
    """
    Thread(target=_watch, args=(os.getppid(), poll_s), name="kafkabal-parent", daemon=True).start()


def _watch(started_by: int, poll_s: float) -> None:
    # neither is enough: the trainer may be gone already when a process that was started afresh gets here, and forked
    # ones keep the pipe of each other open whose end would tell that the parent ended
    parent = mp.parent_process()
    wait = _wait_for_end(started_by if parent is None or parent.pid is None else parent.pid)
    while os.getppid() == started_by and (parent is None or parent.is_alive()):
        wait(poll_s)
    os._exit(1)  # not sys.exit, which would wait for the pipes, too


def _wait_for_end(process: int) -> Callable[[float], object]:
    """A function that waits so many seconds, or until a process ends if the system can tell.

    A rank that is started again within the second of a poll could take the ledger of its killed run for its own.
    """
    try:
        descriptor = os.pidfd_open(process)
    except (AttributeError, OSError):  # not Linux, before 5.3, forbidden in a container, or the process is gone
        return time.sleep
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return lambda seconds: poll.poll(seconds * 1000)
