"""Text from clusters and files as a terminal can show it: what would steer the terminal is shown as its escape."""

from __future__ import annotations

# controls, formats such as bidirectional overrides, lone surrogates, line and paragraph separators
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, *, keep: str = "") -> str:
    """The text with every character that steers a terminal, or cannot be seen, written as ``\\x1b`` or ``\\u202e``.

    Parameters
    ----------
    keep
        Characters that stay, such as a line break between lines of our own.
    """
    if text.isprintable():
        return text
    import unicodedata  # few texts need it, and every command would wait for it

    return "".join(
        c.encode("unicode_escape").decode() if c not in keep and unicodedata.category(c) in _STEERING else c
        for c in text
    )
