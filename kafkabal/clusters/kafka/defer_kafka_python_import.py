"""Imports kafka-python's messages without its producer, consumer and admin client.

``import kafka`` loads all three, which is half of the time a command takes before it contacts its first broker (0.10 of
0.46 s of processor time of ``kafkabal inspect``, 2026-11), and none of them is used here.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_PACKAGE = "kafka"


class _DeferredPackage(ModuleType):
    """A package whose module is executed on first use of one of its names, so that other code finds all of them."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        # before executing it, since the module looks itself up while it runs
        self.__class__ = ModuleType  # type: ignore[assignment] # the class that this one specialises
        try:
            spec.loader.exec_module(self)
        except BaseException:
            self.__class__ = _DeferredPackage
            raise
        return getattr(self, name)


def defer_clients() -> None:
    """Register ``kafka`` so that its sub-packages can be imported; does nothing if it is already imported."""
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None:
        # not installed: the actual import will fail and say so
        return
    package = module_from_spec(spec)
    package.__class__ = _DeferredPackage
    sys.modules[_PACKAGE] = package
