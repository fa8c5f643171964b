"""Makes text from clusters and files safe for a terminal: control characters are shown as escapes."""

from __future__ import annotations

import codecs
import re
from shlex import quote
from typing import Final

ESCAPED: Final = "kafkabal-escaped"
"""Error handler of an encoding: what it cannot write, such as a letter in ASCII or half a character of a file name that
is not UTF-8, is written as ``\\u20ac``, as JSON does, so that JSON stays JSON."""
_LONG_WORD = re.compile(r"(\S{200})\S{104,}(\S{100})")
"""A longer word than any quoted file name (255 bytes) with a folder or two."""
# controls, formats such as bidirectional overrides, lone surrogates, line and paragraph separators
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, *, keep: str = "") -> str:
    """The text with every character that is invisible or controls the terminal written as ``\\x1b`` or ``\\u202e``.

    A byte of a file name that is not UTF-8 is written as ``\\xff``.

    Parameters
    ----------
    keep
        Characters that stay, such as a line break between lines of our own.
    """
    if text.isprintable():
        return text
    import unicodedata  # few texts need it, and every command would wait for it

    return "".join(
        _byte_of_name(c).encode("unicode_escape").decode()
        if c not in keep and unicodedata.category(c) in _STEERING
        else c
        for c in text
    )


def _byte_of_name(c: str) -> str:
    """The byte for which a surrogate stands (:func:`os.fsdecode`), as a character; others unchanged."""
    return chr(ord(c) - 0xDC00) if "\udc80" <= c <= "\udcff" else c


def shell_word(text: str) -> str:
    """The text as one word that can be pasted into a shell, whatever is in it; printable.

    Only a word that cannot be printed takes the form ``$'plan-\\xff.json'``, which POSIX has since 2024.
    """
    if text.isprintable():
        return quote(text)
    return "$'" + "".join(_in_quotes(c) for c in text) + "'"


def _in_quotes(c: str) -> str:
    if c.isprintable():
        return f"\\{c}" if c in "\\'" else c
    return "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))


def with_long_words_cut(text: str) -> str:
    """The text with the middle of words of more than 400 characters cut out; the kept start shows what is wrong.

    For messages that repeat an argument: a shell may have passed a whole file as one argument.
    """
    return _LONG_WORD.sub(r"\1…\2", text)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


codecs.register_error(ESCAPED, _escaped)
