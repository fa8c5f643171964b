"""Describes a cluster and how balanced it is: figures, scores, verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
