"""From the records of one topic to their partitions: all ways of producing route through it.

::

    the cluster is about to be read   begin_reading   what has settled by now will show in the log dirs
    a topic that may be growing       preview         the policy gets a view, and records wait for the next
    it was read                       show            the policy gets the view
    a record, or a block of them      pick, pick_batch
    their delivery reports            settle, and acked for a policy that learns
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kafkabal.model import I64
from kafkabal.routing import Feedback, PluginPolicy, Policy, RecordBatch, RoutingView, of_length


class TopicRouter:
    """The policy of one topic of one producer, and the view that it picks by.

    Views may be shown by any thread; the other methods are called by one thread at a time.

    Parameters
    ----------
    policy
        A new instance.
    failed
        Called with what the policy raised when it was shown a view; records are routed by the one before.
    """

    def __init__(self, topic: str, policy: Policy, failed: Callable[[Exception], None]) -> None:
        self.topic = topic
        self.learns = policy.about.feedback is Feedback.ACKS
        """Whether each acknowledgement is to be reported to :attr:`acked`."""
        self.picks_batches = not self.learns and not isinstance(policy, PluginPolicy)
        """Whether records without keys may be picked for all at once; a plug-in's policy may fail at each."""
        # bound once: they are looked up for every record
        self.pick = policy.pick
        self.acked = policy.acked
        self._policy = policy
        self._failed = failed
        self._view: RoutingView | None = None
        self._unseen_view: RoutingView | None = None
        self._asks_what_settled = policy.about.asks_what_settled
        self._settled: list[int] = []
        self._settled_before_reading: list[int] = []

    @property
    def view(self) -> RoutingView | None:
        """The view that records are routed by; None before the first."""
        return self._view

    def begin_reading(self) -> None:
        """The cluster is read next: log dirs will show what has settled by now, and of what follows an unknown part."""
        self._settled_before_reading = self._settled.copy()

    def preview(self, view: RoutingView) -> None:
        """Let the policy see a view before the first one that records are routed by: it shows what grows meanwhile."""
        n = view.n_partitions
        self._policy.refresh(replace(view, settled_bytes=np.zeros(n) if self._asks_what_settled else None))

    def show(self, view: RoutingView, waiting_records: int) -> None:
        """Route by a new view.

        A policy that counts what is in flight gets it between two of its counts: by :meth:`take_view`.
        """
        n = view.n_partitions
        settled = np.array(of_length(self._settled_before_reading, n, 0), np.float64)
        view = replace(
            view, settled_bytes=settled if self._asks_what_settled else None, waiting_records=waiting_records
        )
        # before a record can be picked a partition that is new
        self._make_room(n)
        if self.learns and self._view is not None:
            self._unseen_view = view
        else:
            self._policy.refresh(view)
            self._view = view

    def take_view(self) -> None:
        """Give the policy the view that waits for it, if one does."""
        view, self._unseen_view = self._unseen_view, None
        if view is None:
            return
        try:
            self._policy.refresh(view)
        except Exception as error:  # noqa: BLE001 - routing continues by the view before
            self._failed(error)
        else:
            self._view = view

    def pick_batch(self, sizes: I64, at_s: float) -> I64:
        """Partitions of records without keys, in their order; only where :attr:`picks_batches`."""
        size_bytes: I64 = np.maximum(sizes, 1)
        out = np.empty(len(sizes), np.int32)
        self._policy.pick_batch(RecordBatch(size_bytes=size_bytes, at_s=np.full(len(sizes), at_s)), out)
        return out.astype(np.int64)

    def settle(self, partition: int, n_bytes: int) -> None:
        """So many bytes more are in the topic, or given up, or were never sent."""
        if self._asks_what_settled:
            self._settled[partition] += n_bytes

    def _make_room(self, n_partitions: int) -> None:
        """Count for partitions that are new."""
        self._settled += [0] * (n_partitions - len(self._settled))
