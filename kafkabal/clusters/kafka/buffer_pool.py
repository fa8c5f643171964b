"""Memory for large responses, used again once no view of the one before is held.

Fresh memory costs a page fault for every 4 kB, which is as much again as receiving the bytes (measured with
responses of 8 MB; of 10 kB each 2 µs).
"""

from __future__ import annotations

import threading
from weakref import ref

import numpy as np
from numpy.typing import NDArray

_ROUNDED_BYTES = 2**20
"""Blocks differ a little in size; rounded up, one memory serves all of them."""
_MOST_TIMES = 2
"""As large as asked for: a batch that is kept for long must not hold the memory of a whole response."""
_SPARE = 2
"""One being received and one being unpacked, so that nothing is allocated while reading at full speed."""


class BufferPool:
    """Frames for any threads; what one of them has dropped serves the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: list[tuple[NDArray[np.uint8], ref[NDArray[np.uint8]]]] = []
        """Memory, and the array over it that lives as long as any view of it."""
        self._free: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> memoryview:
        """Memory of so many bytes, whatever is in it."""
        with self._lock:
            self._free += [memory for memory, array in self._used if array() is None]
            self._used = [each for each in self._used if each[1]() is not None]
            # as much may be free as is used, so that this takes at most twice the memory that it must
            del self._free[: max(0, len(self._free) - len(self._used) - _SPARE)]
            rounded = -(-size // _ROUNDED_BYTES) * _ROUNDED_BYTES
            memory = self._smallest_free(rounded)
            if memory is None:
                memory = np.empty(rounded, np.uint8)
            array = memory[:size]
            self._used.append((memory, ref(array)))
            return array.data

    def _smallest_free(self, size: int) -> NDArray[np.uint8] | None:
        fits = [at for at, memory in enumerate(self._free) if size <= len(memory) <= _MOST_TIMES * size]
        return self._free.pop(min(fits, key=lambda at: len(self._free[at]))) if fits else None
