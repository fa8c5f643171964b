"""Logs of libraries: hidden by default, since a library's warning is not a message for users; all shown with ``-vv``.

A separate thread writes them: no thread that logs, above all the one that moves data, waits for a stopped terminal, and
a failing stream only ends the log.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

_HANDLER = "kafkabal"
_MOST_WAITING = 10_000
"""Records, of some hundred bytes each; further ones are dropped while the stream is blocked."""
_LONGEST_FLUSH_S, _POLL_S = 2.0, 0.01


def direct_logs(stderr: TextIO, *, everything: bool) -> None:
    """Send the log records of all libraries to stderr, or nowhere."""
    root = logging.getLogger()
    for former in [handler for handler in root.handlers if handler.get_name() == _HANDLER]:
        root.removeHandler(former)
        former.close()
    handler: logging.Handler = _BackgroundHandler(stderr) if everything else logging.NullHandler()
    handler.set_name(_HANDLER)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if everything else logging.WARNING)
    # it logs whole URLs of requests, and those of webhooks are secret
    logging.getLogger("httpx").setLevel(logging.WARNING)


class _BackgroundHandler(QueueHandler):
    """Queues records for a thread; :func:`logging.shutdown` has the rest written at exit."""

    def __init__(self, stream: TextIO) -> None:
        records: Queue[Any] = Queue(_MOST_WAITING)
        super().__init__(records)
        self._records = records
        writer = _Writer(stream)
        writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._thread = QueueListener(records, writer)
        self._thread.start()

    def enqueue(self, record: logging.LogRecord) -> None:
        # if the stream is blocked, the log may have gaps, but the command must not wait
        with suppress(Full):
            self.queue.put_nowait(record)

    def close(self) -> None:
        with suppress(Full):
            self._thread.enqueue_sentinel()
        # not stop(): it would wait forever for a blocked thread
        give_up_at_s = time.monotonic() + _LONGEST_FLUSH_S
        while not self._records.empty() and time.monotonic() < give_up_at_s:
            time.sleep(_POLL_S)
        super().close()


class _Writer(logging.StreamHandler[Any]):
    """Ignores errors of its stream, above all instead of reporting them on that stream."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the base class
        pass
