"""What callers of a compiled C library need: whether it is up to date, and addresses of functions to give it."""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from collections.abc import Iterable
from ctypes import c_void_p
from pathlib import Path
from typing import Any


def is_usable(library: Path) -> bool:
    """Whether a library was compiled, from the source beside it if that is there; warns if from another one.

    After ``git pull``, an editable install keeps the old one. ``hatch_build.py`` compiles the digest of the source in.
    """
    if not library.exists():
        return False
    source = library.with_suffix(".c")
    if not source.exists():
        return True
    try:
        compiled = ctypes.c_char_p.in_dll(ctypes.CDLL(str(library)), "kafkabal_source_sha256").value
    except OSError:  # for another platform
        return False
    except ValueError:  # of a version that had no digest
        compiled = None
    if compiled == hashlib.sha256(source.read_bytes()).hexdigest().encode():
        return True
    warnings.warn(
        f"outdated: {library}; slower Python code is used until you install kafkabal again, or run "
        "'python hatch_build.py'",
        stacklevel=2,
    )
    return False


def addresses_of(library: Any, names: Iterable[str]) -> ctypes.Array[c_void_p]:
    """The addresses of these functions, in order, to pass to a library that is linked against nothing.

    Raises
    ------
    AttributeError
        If the library lacks one.
    """
    addresses = [ctypes.cast(getattr(library, name), c_void_p) for name in names]
    return (c_void_p * len(addresses))(*addresses)
