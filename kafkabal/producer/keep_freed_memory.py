"""Lets this process keep memory of sent records, for the records after them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Final

_TRIM_THRESHOLD: Final = -1
_TOP_PAD: Final = -2
_MMAP_THRESHOLD: Final = -3
# the first two are what glibc raises its limits to by itself once a program has freed a block of 32 MiB. The third was
# measured: 1, 4, 16 and 64 MiB are alike, and without it half of the gain is lost
_LIMITS_BYTES: Final = {_MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 64 << 20, _TOP_PAD: 4 << 20}


@cache
def keep_freed_memory() -> None:
    """Return up to 64 MiB of freed memory to the system later, and take it in pieces of 4 MiB.

    glibc returns the heap's end from 128 KiB on. Records that are spread over brokers are freed in another order than
    they were queued in, so their pages went back and forth, one page fault each. Settings of the user's own
    (``MALLOC_..._``, ``GLIBC_TUNABLES``) are kept, and other allocators are not touched.
    """
    if sys.platform != "linux" or is_set_by_user(os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return
    for limit, n_bytes in _LIMITS_BYTES.items():
        mallopt(limit, n_bytes)


def is_set_by_user(environment: Mapping[str, str]) -> bool:
    """Whether these variables tell glibc how to allocate."""
    by_variable = any(name.startswith("MALLOC_") and name.endswith("_") for name in environment)
    return by_variable or "glibc.malloc." in environment.get("GLIBC_TUNABLES", "")
