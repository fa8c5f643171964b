"""Reads a topic for training: one deterministic order of samples, shared by any number of readers.

``manifest`` pins what is read, ``epoch_order`` defines which sample is at each position, ``epoch_progress`` says how
far an epoch has come, and ``reader_shard`` which part one of many readers gets. ``block_schedule`` combines these,
``prefetch`` loads blocks ahead of it, and ``dataset`` is what a trainer iterates over.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
