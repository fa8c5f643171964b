"""Tells the bytes of one producer from those of others in what brokers report of a topic.

::

    own bytes in a view      at least those acknowledged before it, at most those sent: as many as leave the others' as
                             they were
    bytes of others          the rest of what the view shows
    growth between views     shows how much of the topic others write: producers that see the same imbalance would make
                             up for it together
    bytes of others unseen   log dirs are reported one after the other, and brokers lag behind
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.routing.routing_view import RoutingView, fitted_to

# what views may miss, over what others sent during a reading: log dirs are read one after the other, and brokers lag.
# Four producers that sent 10 MB each at once ended at 1.02 to 1.06 of the mean in 5 of 24 runs with 1, at 1.02 and 1.03
# in 2 of 32 with 3; the others within 1.012 and 1.003 (2026-11)
_UNSEEN_FACTOR: Final = 3
# how careful to be until a second view shows whether others write. 200 drawn workloads of 60 to 400 long records on
# unequal brokers end 0.13% above the best that an online choice can do, with 1/2 0.63%, with 1 1.1%. Eight producers
# that write all they have before that view end up to 4.5% fuller than with 1, in 27 of 144 imbalanced workloads, and
# less full in 67 (2026-11)
_CAUTION_AT_FIRST: Final = 1 / 10


class OwnAndOthersBytes:
    """The bytes of one topic by who sent them, as of the latest view; used by one thread at a time."""

    def __init__(self) -> None:
        self._view: RoutingView | None = None
        self._others: F64 = np.empty(0)
        self.seen: F64 = np.empty(0)
        """float64, shape (n_partitions,): own bytes among those that the view shows."""
        self.seen_bytes = 0.0
        """The same of all partitions."""
        self.others_unseen: F64 = np.empty(0)
        """float64, shape (n_partitions,): what others have probably sent and the view does not show yet."""
        self.held_before_bytes = 0.0
        """What the topic held before this producer came."""
        self.grown_bytes = 0.0
        """What the topic grew by between the last two views."""
        self.caution = _CAUTION_AT_FIRST
        """0 if all that the topic grew by is this producer's own, 1 if half of it or more is others'."""

    def take(self, view: RoutingView, sent: I64, balanced: F64) -> None:
        """Read a new view; one that is not newer than the last changes nothing.

        Parameters
        ----------
        sent
            int64, shape (n_partitions,), or fewer: all that this producer has sent so far.
        balanced
            float64, shape (n_partitions,): weights in a balanced cluster; of another shape if they are unknown.
        """
        before = self._view
        if before is not None and view.at_s <= before.at_s:
            return
        others_before_bytes = float(self._others.sum())
        self._view = view
        self._tell_apart(view, sent)
        others_bytes = float(self._others.sum())
        held_bytes = max(0.0, others_bytes)
        self.held_before_bytes = held_bytes if before is None else min(self.held_before_bytes, held_bytes)
        if before is None:
            return
        self.grown_bytes = max(0.0, float(view.partition_bytes.sum() - before.partition_bytes.sum()))
        others_sent_bytes = max(0.0, others_bytes - others_before_bytes)
        if self.grown_bytes:
            self.caution = min(1.0, 2 * others_sent_bytes / self.grown_bytes)
        missed_part = min(1.0, _UNSEEN_FACTOR * view.took_s / (view.at_s - before.at_s))
        self._estimate_others_unseen(missed_part * others_sent_bytes, balanced)

    def _tell_apart(self, view: RoutingView, sent: I64) -> None:
        """At least what had settled before is this producer's own, at most what it had sent.

        Brokers report log dirs one after the other while records arrive. Within those bounds, assume the value that
        leaves other producers' bytes as they were: own bytes mistaken for theirs would be made up for elsewhere.
        """
        n = view.n_partitions
        own = fitted_to(sent, n)
        # the previous policy may have asked for this view
        settled = own if view.settled_bytes is None else np.minimum(view.settled_bytes, own)
        self.seen = np.clip(view.partition_bytes - fitted_to(self._others, n), settled, own)
        self.seen_bytes = float(self.seen.sum())
        self._others = view.partition_bytes - self.seen

    def _estimate_others_unseen(self, missed_bytes: float, balanced: F64) -> None:
        """As much of what the view may miss as makes the others' bytes even: otherwise every producer would correct an
        imbalance that does not exist."""
        others, n = self._others, len(self._others)
        if not missed_bytes or len(balanced) != n:
            self.others_unseen = np.zeros(n)
            return
        used = balanced > 0
        level = float((others[used] / balanced[used]).max())
        self.others_unseen = np.minimum(missed_bytes * balanced, np.maximum(level * balanced - others, 0.0))
