"""Refuses an option that follows another option whose value is missing.

``--save -q`` would write a file named ``-q``, and ``--topics --yes`` would look for a topic of that name and ignore
``--yes``: the parser takes whatever word comes next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafkabal.errors import UsageError

# not "-" (a standard stream), nor a negative number, for which the option's own parser has a better message
_LIKE_AN_OPTION = re.compile(r"--|-[A-Za-z]")


def refuse_missing_values(
    parameters: Sequence[Any], words: Sequence[str], command_path: str, *, until_command: bool
) -> None:
    """Check the value of each option whose value is a separate word.

    Parameters
    ----------
    parameters
        Options and arguments of the command, as created by typer.
    words
        The words after the command's name.
    command_path
        The command's name, including its groups.
    until_command
        Stop at the first word that is neither an option nor its value: there the words of another command begin.

    Raises
    ------
    UsageError
        If such a value looks like an option, or is missing.
    """
    longest = {flag: max(p.opts, key=len) for p in parameters if _takes_value(p) for flag in p.opts}
    for flag, value in _separate_values(longest, words, until_command=until_command):
        if value is None:
            raise UsageError(f"option without a value: {flag}", hint=f"see '{command_path} --help'")
        if _LIKE_AN_OPTION.match(value):
            raise UsageError(
                f"option without a value: {flag} (followed by {value})",
                hint=f"for a value that begins with -, write {longest[flag]}={value}",
            )


def _takes_value(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not (parameter.is_flag or parameter.count)


def _separate_values(
    flags: Mapping[str, str], words: Sequence[str], *, until_command: bool
) -> Iterator[tuple[str, str | None]]:
    """The flags whose value is the next word, with that word; None after the last word."""
    rest = iter(words)
    for word in rest:
        if word == "--" or (until_command and not word.startswith("-")):
            return
        flag = _last_flag(flags, word)
        if flag:
            yield flag, next(rest, None)


def _last_flag(flags: Mapping[str, str], word: str) -> str | None:
    """The flag in a word that takes the next word as its value: ``--save``, ``-o``, or the o of ``-qo``."""
    if word.startswith("--"):
        return word if word in flags else None
    if not word.startswith("-"):
        return None
    takes = [at for at, letter in enumerate(word) if at and f"-{letter}" in flags]
    # the rest of the word after the first such letter is its value
    return f"-{word[-1]}" if takes and takes[0] == len(word) - 1 else None
