"""Whether kafkabal can work here: each thing that it needs, checked by itself, with what to do about it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
