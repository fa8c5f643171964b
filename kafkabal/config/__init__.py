"""How to reach a cluster and with which defaults: profiles, environment, client.properties."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
