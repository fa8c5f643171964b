"""A cluster in a file: JSON Lines, one line per broker and one per topic."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
