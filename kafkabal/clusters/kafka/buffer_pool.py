"""Memory for large responses, reused once no view of the previous one exists.

Fresh memory costs a page fault per 4 kB, which takes as long as receiving the bytes (measured with responses of 8 MB; 2
µs per 10 kB).
"""

from __future__ import annotations

import threading
from weakref import ref

import numpy as np
from numpy.typing import NDArray

_ROUNDED_BYTES = 2**20
"""Blocks differ a little in size; with rounded sizes one buffer serves all of them."""
_MOST_TIMES = 2
"""Largest buffer relative to the request: a batch kept for long must not hold the memory of a whole response."""
_SPARE = 2
"""One is being received and one unpacked, so that reading at full speed allocates nothing."""


class BufferPool:
    """A thread-safe pool of buffers; a buffer dropped by one thread serves the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: list[tuple[NDArray[np.uint8], ref[NDArray[np.uint8]]]] = []
        """Each buffer, and a weak reference to its array, which lives as long as any view of it."""
        self._free: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> memoryview:
        """A buffer of at least this many bytes, with arbitrary content."""
        with self._lock:
            self._free += [memory for memory, array in self._used if array() is None]
            self._used = [each for each in self._used if each[1]() is not None]
            # keep at most as many free buffers as are in use, so that the pool at most doubles the memory needed
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
