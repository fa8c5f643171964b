"""Addresses of C functions, to pass to a library that is linked against nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import c_void_p
from typing import Any


def addresses_of(library: Any, names: Iterable[str]) -> ctypes.Array[c_void_p]:
    """The addresses of these functions, in order.

    Raises
    ------
    AttributeError
        If the library lacks one.
    """
    addresses = [ctypes.cast(getattr(library, name), c_void_p) for name in names]
    return (c_void_p * len(addresses))(*addresses)
