"""Balances the data of an Apache Kafka cluster: the command ``kafkabal``, and the same from Python.

The names are those of :mod:`kafkabal.api`; each is imported when it is first used, so that the command starts at once.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
