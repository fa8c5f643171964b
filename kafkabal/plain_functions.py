"""Checks that a function given by a user returns its result when it is called."""

from __future__ import annotations

import inspect
from typing import Any


def function_fault(given: Any) -> str | None:
    """Why something cannot be called for a result; None if it can.

    Calling an async or a generator function only creates an object, and none of its body runs.
    """
    if not callable(given):
        return "not a function"
    called = (given, getattr(type(given), "__call__", None))  # noqa: B004 - an instance may have a method of that kind
    if any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in called):
        return "an async function; use a plain one, with return"
    if any(inspect.isgeneratorfunction(each) for each in called):
        return "a generator function; use a plain one, with return instead of yield"
    return None
