"""From a topic to the trainer: one deterministic order of samples, shared by any number of readers.

``manifest`` pins what is read, ``order`` says which sample stands where, ``progress`` how far an epoch has got, and
``share`` what one of many readers takes. ``schedule`` brings these together, ``prefetch`` loads blocks ahead
of it, and ``dataset`` is what a trainer iterates over.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
