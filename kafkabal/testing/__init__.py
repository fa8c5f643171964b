"""Test helpers that are shipped: builders, an in-memory cluster, Hypothesis strategies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
