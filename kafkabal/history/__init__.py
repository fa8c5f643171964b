"""What was recorded of a cluster, how it grows, and when its disks are full, with retention taken into account."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
