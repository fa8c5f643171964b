"""The model of a cluster: immutable columns, the rows they are built from, and what can be computed from them alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
