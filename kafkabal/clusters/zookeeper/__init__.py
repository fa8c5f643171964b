"""A cluster of Kafka <= 3.9 found through its ZooKeeper; uses the brokers' API if possible, and znodes if not."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
