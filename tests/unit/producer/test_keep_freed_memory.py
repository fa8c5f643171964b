"""Freed memory stays with a process that produces, unless its user said otherwise."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from kafkabal.producer.keep_freed_memory import is_set_by_user

FREED_BYTES = 20 << 20
# bytes at the end of the heap that could be returned, after 20 MiB of small blocks were freed
PROGRAM = """
import ctypes
from kafkabal.producer.keep_freed_memory import keep_freed_memory
keep_freed_memory()
class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", *"abcdefgh", "keepcost")]
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes, libc.mallinfo2.restype = ctypes.c_void_p, [ctypes.c_void_p], Heap
blocks = (ctypes.c_void_p * 2048)()  # before the blocks, so that nothing lies behind them
for i in range(2048):
    blocks[i] = libc.malloc(10_240)
for block in blocks:
    libc.free(block)
print(libc.mallinfo2().keepcost)
"""


def bytes_kept(**variables: str) -> int:
    """What a new process keeps with these variables in its environment."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**environment, **variables}, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="for glibc from 2.33 on"
)
class TestKeepFreedMemory:
    """In processes of their own: limits of the allocator are the whole process's."""

    def test_what_is_freed_stays(self) -> None:
        """The next records get the memory of those before them, without asking the system for it."""
        assert bytes_kept() >= FREED_BYTES

    @pytest.mark.parametrize("variable", ["MALLOC_TRIM_THRESHOLD_=131072", "GLIBC_TUNABLES=glibc.malloc.top_pad=65536"])
    def test_a_users_own_settings_are_kept(self, variable: str) -> None:
        """Who tells glibc when to return memory gets just that."""
        name, _, text = variable.partition("=")
        assert bytes_kept(**{name: text}) < FREED_BYTES // 2


@pytest.mark.parametrize(
    ("environment", "is_set"),
    [
        ({}, False),
        ({"MALLOC_ARENA_MAX": "2"}, False),
        ({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}, False),
        ({"MALLOC_TOP_PAD_": "0"}, True),
        ({"GLIBC_TUNABLES": "glibc.cpu.x=1:glibc.malloc.hugetlb=1"}, True),
    ],
)
def test_settings_of_the_allocator_are_recognised(environment: dict[str, str], is_set: bool) -> None:
    """Only variables that say how much memory is kept count."""
    assert is_set_by_user(environment) is is_set
