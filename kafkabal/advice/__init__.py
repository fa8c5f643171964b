"""What to do about a cluster: how many brokers it needs, and what frees a full disk. Advice only."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
