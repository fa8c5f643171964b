"""The recorded history of a cluster, its growth, and when its disks will be full, considering retention."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
