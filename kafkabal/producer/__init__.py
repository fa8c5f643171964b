"""Records routed for real: a producer that asks a policy for every record, and sources to take records from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
