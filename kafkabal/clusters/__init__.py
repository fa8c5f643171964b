"""Access to clusters: one protocol, several back ends, and the only code that uses a Kafka library to administer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
