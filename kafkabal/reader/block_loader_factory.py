"""Opens the loaders of a topic's blocks: from its brokers, through a cache on a local disk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BlockLoader, BlocksOnDemand, BrokerBlocks
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.prefetch import UNKNOWN_BROKER
from kafkabal.reader.reader_options import ReaderOptions
from kafkabal.reader.retention_guard import expires_at_s

if TYPE_CHECKING:
    # importing Kafka's protocol takes 30 ms; only programs that create a reader should wait for that
    from kafkabal.clusters.kafka import BufferPool, OverfetchedBatches, RangeFetcher, ReplicaLocations

_KEPT_FRACTION = 0.25
"""Of the prefetch memory, what may be used in addition for parts of batches that neighbouring blocks share: 64 batches
of 1 MB."""


class BlockLoaderFactory:
    """Opens loaders of blocks, one per loading thread.

    Parameters
    ----------
    metrics
        Receives the brokers' racks, and the fault of a failed cache.

    Raises
    ------
    OutputError
        If the cache folder is not writable, and has no blocks.
    """

    def __init__(self, options: ReaderOptions, metrics: ReaderMetrics) -> None:
        self._options = options
        self._metrics = metrics
        self.manifest = options.manifest
        self._brokers: Mapping[int, int] = {}
        if options.cache is not None:
            self._cache(options.cache)  # reports a folder that is not usable right away

    def loaders(self) -> Callable[[], BlockLoader]:
        """A function that opens a loader for each thread of an iteration; they share buffers, parts of batches, the
        cache, and where partitions are read from."""
        from kafkabal.clusters.kafka import BufferPool, OverfetchedBatches, ReplicaLocations

        memory, located = BufferPool(), ReplicaLocations()
        kept = OverfetchedBatches(int(_KEPT_FRACTION * self._options.prefetch_bytes), memory)
        # created once: creating it takes the folder's lock, and threads that start together would wait for it
        cache = None if self._options.cache is None else self._cache(self._options.cache)
        return lambda: self._open(lambda: self._fetcher(kept, memory, located), cache)

    def _open(self, open_fetcher: Callable[[], RangeFetcher], cache: BlockCache | None) -> BlockLoader:
        joins = self._options.join
        # a fully cached epoch needs no broker, not even a live one
        brokers = BlocksOnDemand(lambda: BrokerBlocks(self.manifest, open_fetcher(), joins=joins))
        if cache is None:
            return brokers
        from kafkabal.reader.cached_blocks import CachedBlocks

        return CachedBlocks(self.manifest, cache, brokers, joins=joins)

    def broker_of(self, block: int) -> int:
        """The broker that a block will be read from; of several, the broker of its first record."""
        blocks, files = self.manifest.blocks, self.manifest.files
        if files is None:
            partition = int(blocks.ranges.partition[blocks.first_range[block]])
        else:
            partition = files[block].ranges[0][0]
        return self._brokers.get(partition, UNKNOWN_BROKER)

    def _note_brokers(self, brokers: Mapping[int, int], racks: Mapping[int, str | None]) -> None:
        self._brokers = brokers
        self._metrics.racks = racks

    def expires_at_s(self) -> float:
        """When retention deletes the first record to be read, in seconds since 1970."""
        from kafkabal.clusters.kafka import KafkaCluster

        with KafkaCluster(self._options.connection) as cluster:
            return expires_at_s(cluster, self.manifest)

    def _cache(self, folder: Path) -> BlockCache:
        from kafkabal.reader.block_cache import BlockCache

        return BlockCache(folder, self._options.cache_bytes, self._note_cache_fault)

    def _note_cache_fault(self, fault: str) -> None:
        if self._metrics.cache_fault is None:  # every loading thread runs into it
            self._metrics.cache_fault = fault
            warnings.warn(f"{fault}: no further blocks are cached", stacklevel=2)

    def _fetcher(self, kept: OverfetchedBatches, memory: BufferPool, located: ReplicaLocations) -> RangeFetcher:
        from kafkabal.clusters.kafka import RangeFetcher

        options = self._options
        return RangeFetcher(
            options.connection,
            self.manifest.topic,
            self.manifest.topic_id,
            rack=options.rack,
            kept=kept,
            memory=memory,
            located=located,
            on_located=self._note_brokers,
        )
