"""Checks whether kafkabal can work here: each requirement on its own, with what to do about it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
