"""Sources of records: a folder of files, or the rows of one file or of standard input."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
