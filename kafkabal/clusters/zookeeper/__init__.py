"""A cluster of Kafka <= 3.9 found through its ZooKeeper: the brokers' own API where it can do it, znodes where not."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
