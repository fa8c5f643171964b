"""Loads blocks from the cache on disk, or else from the brokers, and then adds them to the cache."""

from __future__ import annotations

from typing import Final

from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BlockLoader
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.reader.manifest import Manifest

_FETCHED_WHOLE_BYTES: Final = 256 * 2**10
"""Largest block that is fetched whole where only one of its records is wanted, as at the end of an epoch: that takes
little longer than a request for one record, and later epochs find it in the cache. In a topic of 1,500 records every
second epoch fetched a quarter of them again."""


class CachedBlocks:
    """Loads blocks from a cache, or else from another loader, and then adds them to the cache.

    Parameters
    ----------
    joins
        As in :class:`~kafkabal.reader.block_loader.BrokerBlocks`.
    """

    def __init__(self, manifest: Manifest, cache: BlockCache, loader: BlockLoader, *, joins: bool = True) -> None:
        self._manifest = manifest
        self._cache = cache
        self._loader = loader
        self._joins = joins

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockLoader.load`."""
        name = self._name(block)
        found = self._cached(name)
        if found is None and only is not None and self._manifest.blocks.size_bytes[block] > _FETCHED_WHOLE_BYTES:
            return self._loader.load(block, only)
        if found is None:
            found = self._load_whole(name, block)
        if only is not None:
            found.size_bytes //= len(found.records)
            found.records = found.records.only(only)
        return found

    def _load_whole(self, name: str, block: int) -> LoadedBlock:
        with self._cache.loading_lock(name):
            found = self._cached(name)
            if found is None:
                found = self._loader.load(block)
                self._cache.put(name, found)
            return found

    def _cached(self, name: str) -> LoadedBlock | None:
        cached = self._cache.get(name)
        if cached is not None and self._joins and self._manifest.files is None:
            cached.whole_files_of = self._manifest.topic  # a reader of pieces may have cached it
        return cached

    def close(self) -> None:
        """Drop all connections."""
        self._loader.close()

    def _name(self, block: int) -> str:
        if self._manifest.files is not None:
            return f"{self._manifest.topic_id}/files-{self._manifest.identity}/{block}"
        blocks = self._manifest.blocks
        ranges, rows = blocks.ranges, blocks.ranges_of(block)
        if rows.stop - rows.start > 1:
            return f"{self._manifest.topic_id}/shared-{self._manifest.identity}/{block}"
        # after compaction, the same offsets hold fewer records
        offsets = f"{ranges.begin[rows.start]}-{ranges.end[rows.start]}-{ranges.samples[rows.start]}"
        return f"{self._manifest.topic_id}/{ranges.partition[rows.start]}/{offsets}"
