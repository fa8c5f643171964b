"""From a topic to the trainer: one deterministic order of samples, shared by any number of readers.

``manifest`` pins what is read, ``epoch_order`` says which sample stands where, ``epoch_progress`` how far an epoch
has got, and ``reader_shard`` what one of many readers takes. ``block_schedule`` brings these together, ``prefetch``
loads blocks ahead of it, and ``dataset`` is what a trainer iterates over.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
