"""A simulated Kafka in memory: brokers, logs, a controller and replication, without any network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
