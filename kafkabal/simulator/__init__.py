"""Simulates what a routing policy does to a cluster: workloads, brokers with service times, and the resulting
figures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
