"""Long names shortened in the middle, so that different names still look different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# parts of the width that stay at the start, tried in turn: the end of a path matters most
_HEADS: Final = (0.35, 0.15, 0.55, 0.75, 0.0, 0.95)


def elide(texts: Sequence[str], width: int, ellipsis: str = "…") -> list[str]:
    """Texts of at most ``width`` characters; longer ones lose a part, marked by the ellipsis.

    Where it can be, texts that differ differ afterwards too: ``/data/kafka/d0/logs`` and ``/data/kafka/d1/logs`` keep
    the part in which they do.

    Parameters
    ----------
    width
        At least the width of the ellipsis.
    """
    if all(len(text) <= width for text in texts):
        return list(texts)
    different = len(set(texts))
    best: list[str] = []
    best_different = 0
    for head in _HEADS:
        cut = [_cut(text, width, int((width - len(ellipsis)) * head), ellipsis) for text in texts]
        if len(set(cut)) > best_different:
            best, best_different = cut, len(set(cut))
        if best_different == different:
            break
    return best


def _cut(text: str, width: int, head: int, ellipsis: str) -> str:
    if len(text) <= width:
        return text
    tail = width - len(ellipsis) - head
    return text[:head] + ellipsis + (text[-tail:] if tail else "")
