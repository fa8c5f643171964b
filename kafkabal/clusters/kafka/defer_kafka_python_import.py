"""Import kafka-python's messages without its producer, consumer and admin client.

``import kafka`` runs all three, which is half of what a command takes before it asks its first broker (0.10 of 0.46 s
of processor time of ``kafkabal inspect``, 2026-11), and none of them is used here.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_PACKAGE = "kafka"


class _DeferredPackage(ModuleType):
    """A package whose own module runs at the first use of a name that it defines, so that no other code misses one."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        # first, since its module looks itself up while it runs
        self.__class__ = ModuleType  # type: ignore[assignment] # the very class that it specialises
        try:
            spec.loader.exec_module(self)
        except BaseException:
            self.__class__ = _DeferredPackage
            raise
        return getattr(self, name)


def defer_clients() -> None:
    """Have ``kafka`` in place with its sub-packages to import; does nothing where it is imported already."""
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None:
        # whoever imports it says so
        return
    package = module_from_spec(spec)
    package.__class__ = _DeferredPackage
    sys.modules[_PACKAGE] = package
