"""What a policy would do to a cluster: workloads, brokers that take time, and what comes of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
