"""``astraea``: the strict cost partitioner as published, including its T-score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.config import Range
from kafkabal.errors import UsageError
from kafkabal.model import F64, I32
from kafkabal.routing.cyclic_sequences import replay, smooth_weighted
from kafkabal.routing.policy_protocol import About, Context, Input, PolicyBase, RecordBatch
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.routing_view import RoutingView

_RING_LENGTH = 400
"""Length of Astraea's own ring: weights are exact to a quarter of a percent."""
_ANY_PARTITION = -1


class Astraea(PolicyBase):
    """Smooth weighted round-robin over brokers by cost, 400 turns; a broker's records all go to its smallest partition.

    A live broker that leads no partition of the topic gets turns all the same; their records go to random partitions.

    Parameters
    ----------
    cost
        ``latency`` of produce requests, the published default (an unknown one counts as the highest), or ``size``,
        bytes of all replicas.
    t_score
        Normalise costs as published; otherwise costs keep their magnitude.
    lease_s
        For how many seconds weights and partitions are kept, 0 to 86,400.
    """

    about: ClassVar = About(
        name="astraea",
        meaning="brokers weighted by highest cost minus own cost, then the smallest partition for 4 s",
        source="Astraea, StrictCostPartitioner",
        inputs=frozenset({Input.LATENCY, Input.LOG_DIRS}),
        ranges={"lease-s": Range(0, 86_400)},
    )

    def __init__(self, context: Context, *, cost: str = "latency", t_score: bool = True, lease_s: float = 4.0) -> None:
        if cost not in ("latency", "size"):
            raise UsageError(f"astraea: cost must be latency or size, not {cost!r}")
        self.about.expect(lease_s=lease_s)
        super().__init__(context)
        self._by_size = cost == "size"
        self._t_score = t_score
        self._lease_s = lease_s
        self._leased_s = -np.inf
        self._count = 0
        self._uniforms = RandomStream(context.seed)
        self._ring = np.empty(0, np.int32)
        self._turns: list[int] = []

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        if view.at_s < self._leased_s + self._lease_s and np.isin(self._ring[self._ring >= 0], view.available).all():
            return
        self._leased_s = view.at_s
        self._available = view.available
        weights = np.zeros(view.n_brokers)
        weights[view.live] = turn_weights(self._costs(view))
        turns = smooth_weighted(weights, _RING_LENGTH)
        self._ring = _smallest_partitions(view)[turns]
        self._turns = self._ring.tolist()
        self._count = 0

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        at = self._count
        self._count = at + 1
        partition = self._turns[at % _RING_LENGTH]
        if partition == _ANY_PARTITION:
            available = self._available
            return int(available[int(self._uniforms.next() * len(available))])
        return partition

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        replay(self._ring, self._count, out)
        self._count += len(out)
        anywhere = np.flatnonzero(out == _ANY_PARTITION)
        available = self._available
        out[anywhere] = available[(self._uniforms.take(len(anywhere)) * len(available)).astype(np.int64)]

    def _costs(self, view: RoutingView) -> F64:
        """Costs of all live brokers of the cluster; lower is better."""
        costs = (view.used_bytes if self._by_size else view.latency_s)[view.live]
        known = costs[~np.isnan(costs)]
        costs = np.where(np.isnan(costs), known.max() if known.size else 1.0, costs)
        # the published code normalises the weighted sum of costs, like every single cost
        return t_score(t_score(costs)) if self._t_score else costs


def turn_weights(costs: F64) -> F64:
    """Highest cost minus own cost, shifted so that the costliest broker still gets a turn."""
    least = abs(float(costs.min()))
    return np.asarray(costs.max() - costs + (least if least > 0 else 0.01), np.float64)


def t_score(costs: F64) -> F64:
    """``(10 z + 50) / 100`` within 0 and 1, two decimals: keeps the order, but not how far apart the costs are."""
    spread = float(costs.std())
    z = (costs - costs.mean()) / spread if spread > 0 else np.zeros(len(costs))
    return np.asarray(np.round(np.clip((10 * z + 50) / 100, 0, 1), 2), np.float64)


def _smallest_partitions(view: RoutingView) -> I32:
    """By broker row, the partition with the fewest bytes; :data:`_ANY_PARTITION` if it leads none."""
    smallest = np.full(view.n_brokers, _ANY_PARTITION, np.int32)
    by_size = view.available[np.argsort(-view.partition_bytes[view.available], kind="stable")]
    smallest[view.leader[by_size]] = by_size
    return smallest
