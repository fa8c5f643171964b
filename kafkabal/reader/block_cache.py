"""Caches blocks on a local disk, so that later epochs and other jobs need not fetch them from the brokers.

There is one file per block, named by topic id, partition, offsets and number of records. It is complete or absent (it
is renamed into place), and a checksum that covers its name is verified when it is read. Readers of several processes
and jobs share a folder; a lock file serialises changes of its total. The least recently used blocks are evicted. A full
disk ends caching, not reading; from a filled folder that is read-only, blocks are read.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from kafkabal.atomic_files import temporary_name
from kafkabal.errors import BusyError, OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.block_file import pack_block, unpack_block
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.wording import system_fault

_KEPT_FRACTION: Final = 0.9
"""Fraction of the limit that an eviction leaves, so that not every further block has to scan the folder."""
_SUFFIX: Final = ".block"
_LOADING_LOCKS: Final = 256
"""Lock files shared by all blocks, more than are loaded at once; two blocks with the same lock file are loaded one
after the other."""
_LOADING_WAIT_S: Final = 10.0
"""How long to wait for another loader: a block of 8 MiB takes 2 s at the 4 MB/s of a tight quota."""
_LEFTOVER_AGE_S: Final = 600.0
"""No block takes this long to write."""


class BlockCache:
    """A folder of blocks.

    Parameters
    ----------
    limit_bytes
        Limit for all blocks in the folder, of all processes.
    on_fault
        Called once with the reason when caching ends, such as a full disk, or cannot begin in a folder that has blocks.

    Raises
    ------
    OutputError
        If the folder is not writable, and has no blocks.
    """

    def __init__(self, folder: Path, limit_bytes: int, on_fault: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._on_fault = on_fault
        self.fault: str | None = None
        """Why caching has ended, such as a full disk; None if it has not."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._total() as total:
                self._remove_leftovers()
                if total.value > limit_bytes:  # of a job with a larger limit
                    total.value = self._evict_oldest()
        except FileExistsError as error:
            raise OutputError(f"{folder}: not usable as a cache: not a folder") from error
        except OSError as error:
            self._only_read(OutputError(f"{folder}: not usable as a cache: {system_fault(error)}"))
        except OutputError as error:
            self._only_read(error)

    def get(self, name: str) -> LoadedBlock | None:
        """A block; None if it is absent, or damaged, in which case its file is removed.

        The file is memory-mapped: its bytes are copied only once, when a record is yielded. It stays readable even if
        another process removes it.
        """
        path = self._path(name)
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                mapped = memoryview(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)) if size else memoryview(b"")
            block = unpack_block(mapped, name)
        except OSError:
            return None
        with suppress(OSError):  # read-only, or written by another user
            os.utime(path)  # marks it as recently used
        if block is None:
            self._remove(path, size)
        return block

    @contextmanager
    def loading_lock(self, name: str) -> Iterator[None]:
        """Make other loaders of a block, in any process, wait, so that one of them fetches it and the others find it
        here.

        One reader may be in the next epoch while another still loads the last blocks of this one: without this, a fifth
        of the blocks was fetched twice in two epochs of four readers.
        """
        with ExitStack() as held:
            if self.fault is None:
                lock = self.folder / "loading" / str(crc32(name.encode()) % _LOADING_LOCKS)
                try:
                    held.enter_context(
                        acquire_file_lock(lock, lambda: BusyError(f"{name}: is being loaded"), _LOADING_WAIT_S)
                    )
                except BusyError:
                    pass  # its loader was stopped, or waits for a broker: it may take just as long again
                except OutputError as error:
                    self._stop_caching(error.message)
            yield

    def put(self, name: str, block: LoadedBlock) -> None:
        """Add a block; does nothing if it does not fit, is damaged or already there, or the disk is full."""
        path = self._path(name)
        if self.fault is not None or block.faults or path.exists():
            return
        packed = pack_block(block, name)
        if sum(map(len, packed)) > self._limit_bytes:
            return
        try:
            self._write(path, packed)
        except OSError as error:
            self._stop_caching(f"{self.folder}: {system_fault(error)}")
        except OutputError as error:
            self._stop_caching(error.message)

    def _only_read(self, error: OutputError) -> None:
        """Use the blocks that are there, and add none; raises the error if there are none."""
        if next(self.folder.glob(f"*/*/*{_SUFFIX}"), None) is None:
            raise error
        self._stop_caching(error.message)

    def _stop_caching(self, fault: str) -> None:
        self.fault = fault
        self._on_fault(fault)

    def _remove_leftovers(self) -> None:
        """Remove files that a killed process had not finished."""
        now_s = time.time()
        for path in self.folder.rglob(f".*{_SUFFIX}.*"):
            with suppress(OSError):
                if now_s - path.stat().st_mtime > _LEFTOVER_AGE_S:
                    path.unlink()

    def _write(self, path: Path, packed: Sequence[bytes | memoryview]) -> None:
        temporary = temporary_name(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.writelines(packed)
            with self._total() as total:
                if not path.exists():
                    total.value += sum(map(len, packed))
                    temporary.rename(path)
                if total.value > self._limit_bytes:
                    total.value = self._evict_oldest(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _evict_oldest(self, newest: Path | None = None) -> int:
        """Evict the least recently used blocks, the newest one last; returns the bytes that remain."""
        found = self._files()
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found, key=lambda each: (each[2] == newest, each[0])):
            if total <= self._limit_bytes * _KEPT_FRACTION:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

    def _files(self) -> list[tuple[int, int, Path]]:
        """For each block: when it was last used, its bytes, and its file."""
        found = []
        for path in self.folder.rglob(f"*{_SUFFIX}"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        return found

    def _remove(self, path: Path, size_bytes: int) -> None:
        with suppress(OSError, OutputError), self._total() as total:
            path.unlink()
            total.value -= size_bytes

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    @contextmanager
    def _total(self) -> Iterator[_Total]:
        """Bytes of all blocks; no other process can change them inside this block."""
        path = self.folder / "total"
        # written in place: a replaced file would be a different lock
        with acquire_file_lock(path), path.open("r+b", buffering=0) as file:
            text = file.read(32).strip()
            total = _Total(int(text) if text.isdigit() else sum(size for _, size, _ in self._files()))
            yield total
            file.seek(0)
            file.write(f"{max(0, total.value):<31}\n".encode())


class _Total:
    def __init__(self, value: int) -> None:
        self.value = value
