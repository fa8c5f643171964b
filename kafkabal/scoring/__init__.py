"""One registry of scoring functions that every command shares: inspect prints them, rebalance evens them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
