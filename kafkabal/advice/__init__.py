"""Advice on a cluster: how many brokers it needs, and what frees a full disk. It changes nothing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
