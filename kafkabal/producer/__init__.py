"""Producers that ask a routing policy where each record goes, and the engine of ``kafkabal produce``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
