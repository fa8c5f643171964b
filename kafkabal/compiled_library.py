"""Whether a compiled C library fits the source beside it: after ``git pull``, an editable install keeps the old one."""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from pathlib import Path


def is_usable(library: Path) -> bool:
    """Whether a library was compiled, from the source beside it if that is there; warns if from another one.

    ``hatch_build.py`` compiles the digest of the source in.
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
