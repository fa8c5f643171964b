"""Detects brokers that slow down or die, failed log dirs and growing imbalance, and heals what it is allowed to."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
