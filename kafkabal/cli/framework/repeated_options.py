"""Refuses what is given twice: an option of whose values the parser would drop the first, and a key with two values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kafkabal.cli.framework.environment_variables import environment_name
from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

_Key = TypeVar("_Key", bound="Hashable")
_Value = TypeVar("_Value")


def refuse_repeated(command: Any, words: Sequence[str], typer_context: Any) -> None:
    """Check that each option with one value has one; a plain flag may be repeated, since that changes nothing.

    Parameters
    ----------
    command
        As created by typer.
    words
        The words after the command's name.

    Raises
    ------
    UsageError
        If an option that takes one value, or has an opposite such as ``--no-latency``, is given more than once.
    """
    *_, in_order = command.make_parser(typer_context).parse_args(list(words))
    single = [parameter for parameter in in_order if _has_one_value(parameter)]
    for parameter in single:
        if single.count(parameter) > 1:
            flag = max(parameter.opts, key=len)
            raise UsageError(f"given twice: {flag}", hint=_way_out(flag, parameter))


def each_key_once(option: str, pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, _Value]:
    """The keys and values of a repeated option such as ``--config KEY=VALUE``.

    Raises
    ------
    UsageError
        If a key has two values, of which only one can count.
    """
    found: dict[_Key, _Value] = {}
    for key, value in pairs:
        if key in found:
            raise UsageError(f"given twice: {option} {key}", hint="give it once")
        found[key] = value
    return found


def _has_one_value(parameter: Any) -> bool:
    if parameter.param_type_name != "option" or parameter.multiple or parameter.count:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)


def _way_out(flag: str, parameter: Any) -> str:
    one, is_list, _ = (parameter.metavar or "").partition("[,")
    if is_list:
        return f"separate the values with commas: {flag} {one},{one}"
    return f"keep one; for a default that the command line overrides, set {environment_name(parameter)}"
