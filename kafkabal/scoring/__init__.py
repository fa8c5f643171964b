"""The registry of scores, which all commands share: ``inspect`` shows them, ``rebalance`` balances them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
