"""Balances the data of an Apache Kafka cluster: the Python interface of the command ``kafkabal``.

The names are those of :mod:`kafkabal.api`; each is imported on first use, so that the command starts fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
