"""Routing policies, which pick a partition for each record, and what they share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
