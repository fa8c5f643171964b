"""Estimates how many bytes of records a run sends in all, so that its policy knows when the run is about to end."""

from __future__ import annotations

from math import inf


class ExpectedBytes:
    """What is sent so far, and for what is left of the source, as many bytes of records for each byte.

    A table in columns may hold a tenth of what its rows have, or ten times what is sent of them.

    Parameters
    ----------
    source_bytes
        Size of the whole source, 0 if unknown.
    """

    def __init__(self, source_bytes: int) -> None:
        self._source_bytes = source_bytes
        self._skipped_bytes = self._read_bytes = self._sent_bytes = 0

    def add(self, read_bytes: int, sent_bytes: int, *, skipped_bytes: int) -> None:
        """Note the next records.

        Parameters
        ----------
        read_bytes
            Of the source.
        sent_bytes
            Of the records, with keys and headers.
        skipped_bytes
            Bytes of the source, so far, that earlier runs have sent.
        """
        self._read_bytes += read_bytes
        self._sent_bytes += sent_bytes
        self._skipped_bytes = skipped_bytes

    def in_all(self) -> float:
        """Of this run alone; infinite if the size of the source is unknown."""
        if not self._source_bytes:
            return inf
        left_bytes = max(0, self._source_bytes - self._skipped_bytes - self._read_bytes)
        return self._sent_bytes + left_bytes * (self._sent_bytes / self._read_bytes if self._read_bytes else 1.0)
