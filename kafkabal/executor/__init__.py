"""Executes plans on a cluster: preflight checks, batches, throttles, journal, resume and rollback."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
