"""Maps the records of one topic to partitions; all ways of producing route through it.

::

    the cluster is about to be read   begin_reading   what has settled by now will show in the log dirs
    a topic that may be growing       preview         the policy gets a view, but records wait for the next one
    the cluster was read              show            the policy gets the view
    a record, or a block of them      pick, pick_batch; before a block, watch_in_flight
    they were handed to the client    count_sent
    their delivery reports            settle, and acked for a policy that learns
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kafkabal.model import I64
from kafkabal.routing import Feedback, PluginPolicy, Policy, RecordBatch, RoutingView, SlotPolicy, fitted_to


class TopicRouter:
    """The policy of one topic of one producer, and the view it picks by.

    Any thread may show views; the other methods must be called by one thread at a time.

    Parameters
    ----------
    policy
        A new instance.
    failed
        Called with the error of a policy that could not use a view; records are routed by the previous one.
    """

    def __init__(self, topic: str, policy: Policy, failed: Callable[[Exception], None]) -> None:
        self.topic = topic
        self.learns = policy.about.feedback is Feedback.ACKS
        """Whether to report each acknowledgement to :attr:`acked`."""
        self.picks_batches = not self.learns and not isinstance(policy, PluginPolicy)
        """Whether partitions of records without keys may be picked all at once; a plug-in may fail at any record."""
        # bound once, because they are called for every record
        self.pick = policy.pick
        self.acked = policy.acked
        self._policy = policy
        self._slot_policy = policy if isinstance(policy, SlotPolicy) else None
        self._failed = failed
        self._view: RoutingView | None = None
        self._unseen_view: RoutingView | None = None
        self.needs_known_partitions = False
        """Whether the client must know the topic's partitions before the first view is shown."""
        self._asks_what_settled = policy.about.asks_what_settled
        self._sent_bytes: I64 = np.zeros(0, np.int64)
        self._settled: list[int] = []
        self._settled_before_reading: list[int] = []

    @property
    def view(self) -> RoutingView | None:
        """The view that records are routed by; None before the first one."""
        return self._view

    def begin_reading(self) -> None:
        """Note that the cluster is read next: log dirs will show all that has settled so far, and an unknown part of
        the rest."""
        self._settled_before_reading = self._settled_so_far()

    def preview(self, view: RoutingView) -> None:
        """Give the policy a view that no record is routed by yet; the next view then shows what grew meanwhile."""
        n = view.n_partitions
        self._policy.refresh(replace(view, settled_bytes=np.zeros(n) if self._asks_what_settled else None))

    def show(self, view: RoutingView, waiting_records: int) -> None:
        """Route by a new view.

        A policy that counts bytes in flight must not get it during a count: it gets it through :meth:`take_view`.
        """
        n = view.n_partitions
        settled = fitted_to(np.array(self._settled_before_reading), n)
        view = replace(
            view, settled_bytes=settled if self._asks_what_settled else None, waiting_records=waiting_records
        )
        # before a record can go to a new partition
        self._extend_counters(n)
        if self.learns and self._view is not None:
            self._unseen_view = view
        else:
            self._use(view)

    def take_view(self) -> None:
        """Give the policy the view that is waiting for it, if any."""
        view, self._unseen_view = self._unseen_view, None
        if view is None:
            return
        try:
            self._use(view)
        except Exception as error:  # noqa: BLE001 - routing continues by the view before
            self._failed(error)

    def watch_in_flight(self) -> None:
        """Let the policy hold back brokers that acknowledge too slowly; before records are picked."""
        if self._slot_policy is not None:
            self._slot_policy.watch_in_flight(self._awaited_and_settled)

    def pick_batch(self, sizes: I64, at_s: float) -> I64:
        """Partitions of records without keys, in order; only if :attr:`picks_batches`."""
        size_bytes: I64 = np.maximum(sizes, 1)
        out = np.empty(len(sizes), np.int32)
        self._policy.pick_batch(RecordBatch(size_bytes=size_bytes, at_s=np.full(len(sizes), at_s)), out)
        return out.astype(np.int64)

    def count_sent(self, partitions: I64, sizes: I64) -> None:
        """Note that records were picked that are to settle."""
        if self._slot_policy is not None and len(partitions):
            self._sent_bytes += np.bincount(partitions, sizes, len(self._sent_bytes)).astype(np.int64)

    def settle(self, partition: int, n_bytes: int) -> None:
        """Note that bytes were acknowledged, given up, or never sent."""
        if self._asks_what_settled:
            self._settled[partition] += n_bytes

    def _use(self, view: RoutingView) -> None:
        self._policy.refresh(view)
        self._view = view

    def _awaited_and_settled(self) -> tuple[I64, I64]:
        """By partition: bytes that were sent, and how many of them have settled."""
        return self._sent_bytes, np.array(self._settled, np.int64)

    def _settled_so_far(self) -> list[int]:
        """By partition, as far as known: bytes that have settled."""
        return self._settled.copy()

    def _extend_counters(self, n_partitions: int) -> None:
        """Extend the counters for new partitions."""
        self._settled += [0] * (n_partitions - len(self._settled))
        new = n_partitions - len(self._sent_bytes)
        if new > 0:  # at every view, a copy would lose what the sending thread counts meanwhile
            self._sent_bytes = np.pad(self._sent_bytes, (0, new))
