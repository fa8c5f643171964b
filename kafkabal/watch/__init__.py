"""Notice brokers that slow down or die, log dirs that fail and imbalance that grows, and heal what is allowed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
