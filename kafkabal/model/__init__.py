"""What a cluster is: immutable columns, the rows that they are built from, and questions that need nothing else."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
