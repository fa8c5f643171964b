"""How the sizes of partitions change with time on a simulated cluster.

Each step a partition gains what was produced to it and loses what retention deletes::

    target(t) = size at the start x (1 + its growth a day x days)
    size      = size + trend of the step
    size     += (target(t) x (1 + noise x U(-1, 1)) - size) x step / retention        never below zero

so that the noise of single steps is averaged over the retention time, as on a real disk.
"""

from __future__ import annotations

import numpy as np

from kafkabal.clusters.simulated import SimulatedKafka
from kafkabal.units import DAY_S
from kafkabal.watch.simulation.simulation_case import GrowthTrend


class SimulatedGrowth:
    """Changes the sizes of all partitions of a simulated cluster, step by step.

    Parameters
    ----------
    source
        Random numbers for the growth of each partition and the noise.
    """

    def __init__(self, kafka: SimulatedKafka, growth: GrowthTrend, source: np.random.Generator) -> None:
        self._kafka, self._growth, self._source = kafka, growth, source
        self._partitions = list(kafka.parts.partitions())
        self._start = np.array([p.size_bytes for p in self._partitions], np.float64)
        self._size = self._start.copy()
        drawn = source.uniform(-growth.spread, growth.spread, len(self._partitions))
        self._per_day = growth.per_day * (1 + drawn)
        self._days = 0.0

    def step(self, seconds: float) -> None:
        """Change the sizes by this much time."""
        self._days += seconds / DAY_S
        target = np.maximum(self._start * (1 + self._per_day * self._days), 0.0)
        noise = 1 + self._growth.noise * self._source.uniform(-1, 1, len(self._size))
        fraction = min(seconds / self._growth.retention_s, 1.0)
        # the trend is followed at once; otherwise sizes would lag behind it by the retention time
        trend = np.maximum(self._start * self._per_day * (seconds / DAY_S), -self._size)
        self._size = np.maximum(self._size + trend + (target * noise - self._size - trend) * fraction, 0.0)
        self._kafka.catch_up()
        for partition, size in zip(self._partitions, self._size.tolist(), strict=True):
            partition.size_bytes = size
            for broker in partition.isr:
                partition.logs[broker].copied_bytes = size
            for broker in partition.adding:
                log = partition.logs[broker]
                log.copied_bytes = min(log.copied_bytes, size)
