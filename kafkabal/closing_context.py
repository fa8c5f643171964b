"""A base class for objects that are closed at the end of a ``with`` block, even after an error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class ClosingContext(ABC):
    """Derive from it and define :meth:`close`, if closing is the same after an error."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
