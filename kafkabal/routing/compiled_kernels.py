"""Compiles functions over columns with numba if it is installed (extra ``fast``); results are the same without it.

A kernel is an ordinary Python function over lists or arrays of numbers. Uncompiled it runs on lists; compiled, the same
source runs on arrays. Kernels only add, multiply, divide, compare and take square roots: operations that IEEE 754
rounds the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_State = TypeVar("_State", bound=tuple[Any, ...])
_MARK = "is_kernel"


def kernel(function: _Function) -> _Function:
    """Mark a function as a kernel, which may be compiled; kernels may call each other."""
    setattr(function, _MARK, True)
    return function


def is_available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


@cache
def compiled(function: Any, *, inline: bool = False) -> Any:
    """Machine code of a kernel, with the kernels it calls inlined or compiled too."""
    # kernels allocate nothing: without reference counts for their many arrays they are ten times as fast
    names = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    inner = {name: compiled(value, inline=True) for name, value in names.items() if hasattr(value, _MARK)}
    bound = FunctionType(function.__code__, {**function.__globals__, **inner}, function.__name__)
    return import_module("numba").njit(bound, forceinline=inline, _nrt=False)


def as_arrays(state: _State) -> _State:
    """The same named tuple with every list as an array: integers as int64, others as float64."""
    return type(state)(*(as_arrays(part) if isinstance(part, tuple) else _as_array(part) for part in state))


def write_back(arrays: tuple[Any, ...], state: tuple[Any, ...]) -> None:
    """Copy the arrays that compiled code changed back into the lists they were made from."""
    for array, part in zip(arrays, state, strict=True):
        if isinstance(part, tuple):
            write_back(array, part)
        else:
            part[:] = array.tolist()


def _as_array(column: list[Any]) -> NDArray[Any]:
    return np.array(column, np.int64 if isinstance(column[0], int) else np.float64)
