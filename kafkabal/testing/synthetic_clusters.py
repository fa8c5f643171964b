"""Draws unbalanced clusters of any size from a seed, as input for planners."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate

from kafkabal.model import BrokerRow, ClusterState, LogDirRow, PartitionRow, TopicRow
from kafkabal.testing.cluster_builders import cluster

_MEAN_BYTES = 100 * 2**20
"""About a segment: only the ratios of sizes matter."""
_FULLNESS = 0.4
"""Disks with room for a plan, as operators keep them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticWorld:
    """Parameters of a random cluster; equal worlds give equal clusters."""

    seed: int = 0
    brokers: int = 8
    racks: int = 4
    """0: no broker has a rack."""
    topics: int = 40
    most_partitions: int = 12
    replication_factor: int = 3
    log_dirs: int = 1
    skew: float = 1.0
    """Broker i is drawn with weight ``(i + 1) ** skew``."""
    follower_jitter: float = 0.0
    """Followers differ in size from the leader by up to this fraction."""
    unknown: float = 0.0
    """Fraction of replicas whose size is unknown."""
    leader_skew: float = 0.0
    """Fraction of partitions led by their last replica."""
    dead: int = 0
    """Number of dead brokers; these are the last ones."""
    cordoned: int = 0
    """Number of live brokers, counted from the last, whose first log dir is cordoned."""
    rack_blind: bool = False
    """Replicas are placed regardless of racks."""
    half_sized: bool = False
    """The second broker has half the disk of the others."""
    disks: tuple[int, ...] = (1,)
    """Relative disks of a rack's brokers, repeated."""


def make_world(world: SyntheticWorld) -> ClusterState:
    """Draw a cluster."""
    return _Draw(world).cluster()


class _Draw:
    def __init__(self, world: SyntheticWorld) -> None:
        self.world = world
        self.rng = random.Random(world.seed)
        self.ids = list(range(1, world.brokers + 1))
        self.dead = set(self.ids[world.brokers - world.dead :])
        self.weights = list(accumulate((i + 1) ** world.skew for i in range(world.brokers)))

    def cluster(self) -> ClusterState:
        topics = [self._topic(t) for t in range(self.world.topics)]
        stored = sum(s or _MEAN_BYTES for t in topics for p in t.partitions for s in p.sizes or [])
        live = max(1, self.world.brokers - self.world.dead)
        return cluster([self._broker(b, int(stored / live / _FULLNESS)) for b in self.ids], topics)

    def _broker(self, broker: int, total_bytes: int) -> BrokerRow:
        w = self.world
        live = [b for b in self.ids if b not in self.dead]
        cordoned = broker in live[len(live) - w.cordoned :] if w.cordoned else False
        parts = w.disks[(broker - 1) // max(1, w.racks) % len(w.disks)]
        total_bytes = total_bytes * parts * len(w.disks) // sum(w.disks)
        each = total_bytes // w.log_dirs // (2 if w.half_sized and broker == self.ids[1] else 1)
        return BrokerRow(
            broker=broker,
            rack=self._rack(broker),
            host=f"b{broker}",
            port=9092,
            state="dead" if broker in self.dead else "online",
            log_dirs=[]
            if broker in self.dead
            else [
                LogDirRow(
                    path=f"/d{i}",
                    total_bytes=each,
                    usable_bytes=None,
                    volume=f"v{i}",
                    state="cordoned" if cordoned and i == 0 else "online",
                )
                for i in range(w.log_dirs)
            ],
        )

    def _rack(self, broker: int) -> str | None:
        return f"r{broker % self.world.racks}" if self.world.racks else None

    def _topic(self, number: int) -> TopicRow:
        popularity = self.rng.expovariate(1.0)
        count = self.rng.randint(1, self.world.most_partitions)
        return TopicRow(topic=f"t{number}", partitions=[self._partition(i, popularity) for i in range(count)])

    def _partition(self, number: int, popularity: float) -> PartitionRow:
        w, rng = self.world, self.rng
        replicas = self._replicas(min(w.replication_factor, w.brokers))
        size = int(_MEAN_BYTES * popularity * rng.expovariate(1.0)) + 1
        led_by_last = rng.random() < w.leader_skew
        first = replicas[-1] if led_by_last else replicas[0]
        live = [b for b in replicas if b not in self.dead]
        sizes = [size if b == first else int(size * (1 + rng.uniform(-1, 1) * w.follower_jitter)) for b in replicas]
        hidden = [b in self.dead or rng.random() < w.unknown for b in replicas]
        return PartitionRow(
            partition=number,
            leader=first if first in live else (live[0] if live else -1),
            replicas=replicas,
            isr=live,
            sizes=[None if hide else s for s, hide in zip(sizes, hidden, strict=True)],
            log_dirs=[
                None if b in self.dead else min(rng.randrange(w.log_dirs), rng.randrange(w.log_dirs)) for b in replicas
            ],
        )

    def _replicas(self, number: int) -> list[int]:
        chosen: list[int] = []
        racks = len({self._rack(b) or b for b in self.ids})
        while len(chosen) < number:
            broker = self.rng.choices(self.ids, cum_weights=self.weights)[0]
            taken = {self._rack(b) or b for b in chosen}
            same_rack = not self.world.rack_blind and len(taken) < racks and (self._rack(broker) or broker) in taken
            if broker not in chosen and not same_rack:
                chosen.append(broker)
        return chosen
