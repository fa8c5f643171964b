"""How to reach a cluster: one protocol, several back ends, and the only code that administers Kafka by a library."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
