"""Converts the signature of a command function to typer's parameters, and parsed values back to its arguments.

A parameter of the function is the :class:`~kafkabal.cli.framework.command_context.CommandContext`; the
:class:`~kafkabal.config.settings.Settings` that it ``Uses``; a group of options, which is a dataclass whose fields are
typer options; or a single typer option or argument. If an option has a ``parser``, typer sees text and the parser is
called here, so that its error keeps its hint and names the option.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from kafkabal.atomic_files import check_replaceable, parse_path
from kafkabal.cli.framework.chosen_clusters import ChosenClusters
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.environment_variables import variable_of
from kafkabal.cli.framework.input_and_output_files import FileOptions
from kafkabal.cli.framework.shared_options import (
    SETTINGS,
    SETTINGS_SECTIONS,
    CommonOptions,
    Format,
    Forms,
    SaveOptions,
    Uses,
    parse_interval,
)
from kafkabal.errors import UsageError
from kafkabal.units import (
    duration_as_option,
    parse_duration,
    parse_number,
    parse_percent,
    parse_positive_duration,
    parse_whole_number,
    percent_as_option,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from kafkabal.config import Settings

Resolve = Callable[["Mapping[str, Any]"], "Settings | ChosenClusters"]
_NO_DEFAULT = inspect.Parameter.empty
# they select profiles or topics to show, so they are not settings
_ONLY_FLAGS = {
    "profile": "--profile",
    "profiles": "--profile",
    "all_profiles": "--all-profiles",
    "data_sets": "--topics",
}


_WRITERS: Mapping[Any, Callable[[float], str]] = {
    parse_percent: percent_as_option,
    parse_duration: duration_as_option,
    parse_positive_duration: duration_as_option,
    parse_interval: duration_as_option,
}
"""Formatters of default values, by the parser of the option."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One option or argument as typer sees it, and how its text is converted."""

    name: str
    annotation: Any
    info: ParameterInfo
    default: Any
    parse: Callable[[str], Any] | None = None
    text_default: str | None = None
    """The default as shown in help, if there is a parser."""

    @property
    def is_option(self) -> bool:
        """False for an argument."""
        return isinstance(self.info, OptionInfo)

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter in the signature that typer reads."""
        default = self.text_default if self.parse and self.default is not _NO_DEFAULT else self.default
        annotation = Annotated[self.annotation, self.info]  # type: ignore[name-defined] # made at run time
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

    def value(self, given: Any, *, is_from_environment: bool = False) -> Any:
        """The value passed to the function.

        Raises
        ------
        UsageError
            If the text is empty, or the parser rejects it.
        """
        try:
            self._expect_something(given)
            if self.parse is None:
                return given
            if given is None:
                return self.default
            return [self.parse(text) for text in given] if isinstance(given, list) else self.parse(given)
        except UsageError as error:
            title = variable_of(self._flags) if is_from_environment else self.title
            raise UsageError(f"{title}: {error.message}", hint=error.hint) from error

    def _expect_something(self, given: Any) -> None:
        """Refuse an empty text, often an unset shell variable: treating it as not given would widen the scope."""
        if any(isinstance(text, str) and not text.strip() for text in (given if isinstance(given, list) else [given])):
            way_out = "leave it out, or see" if self.is_option else "see"
            raise UsageError("empty value", hint=f"{way_out} whether a variable in it is set")

    @property
    def title(self) -> str:
        """The flag or argument as named in messages."""
        if not self.is_option:
            return (self.info.metavar or self.name.upper()).strip("[].")
        return self._flags[0]

    @property
    def _flags(self) -> list[str]:
        # within Annotated, the first flag takes the place of the default
        written = (self.info.default, *(self.info.param_decls or ()))
        flags = [flag for flag in written if isinstance(flag, str) and flag.startswith("--")]
        return flags or ["--" + self.name.replace("_", "-")]


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a command function."""

    context_name: str
    settings_name: str
    settings: tuple[Leaf, ...]
    groups: Mapping[str, tuple[type[Any], tuple[Leaf, ...]]]
    own: tuple[Leaf, ...]
    takes_several: bool = False
    """It takes a :class:`~kafkabal.cli.framework.chosen_clusters.ChosenClusters` instead of settings."""
    may_need_no_cluster: bool = False
    """See :class:`~kafkabal.cli.framework.shared_options.Uses`."""

    def leaves(self) -> Iterator[Leaf]:
        """All options and arguments in the order of the help: arguments, own options, settings, groups.

        In a section of settings, own options are last, since most users look for the settings.
        """
        beside_settings = [leaf for leaf in self.own if leaf.info.rich_help_panel in SETTINGS_SECTIONS]
        yield from sorted((leaf for leaf in self.own if leaf not in beside_settings), key=lambda leaf: leaf.is_option)
        yield from self.settings
        for _, leaves in self.groups.values():
            yield from leaves
        yield from beside_settings

    def arguments(
        self, given: Mapping[str, Any], resolve: Resolve, from_environment: Collection[str] = ()
    ) -> dict[str, Any]:
        """The function's arguments, without the context, from typer's values.

        Parameters
        ----------
        from_environment
            Names of the values that came from the environment.

        Raises
        ------
        UsageError
            If a value is wrong; the message names it.
        """

        def value(leaf: Leaf) -> Any:
            return leaf.value(given[leaf.name], is_from_environment=leaf.name in from_environment)

        arguments = {leaf.name: value(leaf) for leaf in self.own}
        for name, (group, leaves) in self.groups.items():
            arguments[name] = group(**{leaf.name: value(leaf) for leaf in leaves})
        if self.settings_name:
            arguments[self.settings_name] = resolve({leaf.name: given[leaf.name] for leaf in self.settings})
        return arguments

    def files(self, arguments: Mapping[str, Any]) -> FileOptions:
        """Files that are read and written, except a snapshot that ``--save`` may overwrite, since it asks first."""
        found = FileOptions(may_save_over_snapshot=any(group is SaveOptions for group, _ in self.groups.values()))
        values = [(leaf, arguments[leaf.name]) for leaf in self.own]
        for name, (_, leaves) in self.groups.items():
            values += [(leaf, getattr(arguments[name], leaf.name)) for leaf in leaves]
        for leaf, value in values:
            paths = [path for path in (value if isinstance(value, list) else [value]) if path is not None]
            if leaf.parse is check_replaceable:
                found.written.extend((leaf.title, path) for path in paths)
            elif leaf.parse is parse_path:
                found.read.extend((leaf.title, path) for path in paths)
        settings = arguments.get(self.settings_name)
        if isinstance(settings, ChosenClusters):
            settings = settings.one
        if settings is not None:
            named = {"--snapshot": settings.snapshot, "--command-config": settings.command_config}
            found.read.extend((flag, path) for flag, path in named.items() if path is not None)
            found.read.extend([("--profile", settings.profile.path)] if settings.profile else [])
        return found


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the parameters of a command function."""
    hints = get_type_hints(function, include_extras=True)
    context_name = settings_name = ""
    settings: tuple[Leaf, ...] = ()
    takes_several = may_need_no_cluster = False
    groups: dict[str, tuple[type[Any], tuple[Leaf, ...]]] = {}
    own: list[Leaf] = []
    for name, parameter in inspect.signature(function).parameters.items():
        bare, extras = _unwrap(hints[name])
        uses = next((extra for extra in extras if isinstance(extra, Uses)), None)
        if bare is CommandContext:
            context_name = name
        elif uses:
            settings_name, settings = name, tuple(_setting(key) for key in uses.keys)
            takes_several, may_need_no_cluster = bare is ChosenClusters, uses.may_need_no_cluster
        elif isinstance(bare, type) and is_dataclass(bare):
            groups[name] = (bare, tuple(_group_leaves(bare, extras)))
        else:
            own.append(_leaf(name, hints[name], parameter.default))
    return Signature(context_name, settings_name, settings, groups, tuple(own), takes_several, may_need_no_cluster)


def common_leaves() -> tuple[Leaf, ...]:
    """The options that every command has."""
    return tuple(_group_leaves(CommonOptions, ()))


def _setting(key: str) -> Leaf:
    """The option of a setting: text, or a flag; None if not given."""
    shown = SETTINGS[key]
    key = shown.setting or key
    flags = [flag for flag in (shown.short_flag, _setting_flag(key)) if flag]
    info = typer.Option(
        *flags, help=shown.help, metavar=shown.metavar or None, rich_help_panel=shown.section, show_default=False
    )
    annotation = list[str] | None if shown.repeated else str | None if shown.metavar else bool | None
    return Leaf(key, annotation, info, None)


def _setting_flag(key: str) -> str:
    if key in _ONLY_FLAGS:
        return _ONLY_FLAGS[key]
    from kafkabal.config import KEYS

    return next(k.option for k in KEYS if k.name == key)


def _group_leaves(group: type[Any], extras: tuple[Any, ...]) -> Iterator[Leaf]:
    hints = get_type_hints(group, include_extras=True)
    forms = next((extra for extra in extras if isinstance(extra, Forms)), None)
    for item in fields(group):
        leaf = _leaf(item.name, hints[item.name], _NO_DEFAULT if item.default is MISSING else item.default)
        yield _offering(forms, leaf) if forms and leaf.annotation is Format else leaf


def _offering(forms: Forms, leaf: Leaf) -> Leaf:
    """An output format option that offers only some formats."""
    first = forms.names[0]
    choice = Literal[forms.names]  # type: ignore[name-defined] # made at run time
    info = copy(leaf.info)
    # few enough to list them in place of a metavar
    info.metavar, info.help = None, "Output format."
    return replace(leaf, annotation=choice, info=info, default=Format(first), parse=Format, text_default=first)


def _leaf(name: str, hint: Any, default: Any) -> Leaf:
    annotation, extras = _unwrap(hint)
    forms = next((extra for extra in extras if isinstance(extra, Forms)), None)
    if forms:
        return _offering(forms, _leaf(name, Annotated[annotation, *(e for e in extras if e is not forms)], default))
    info = next((extra for extra in extras if isinstance(extra, ParameterInfo)), None) or typer.Option()
    if info.parser is None:
        strict = _strict_parser(annotation, info)
        if strict is None:
            return Leaf(name, annotation, info, default)
        shown = None if default is _NO_DEFAULT or default is None else str(default)
        return Leaf(name, _as_text(annotation, default), _with_range_in_words(info), default, strict, shown)
    # what stands in the annotation may be read again
    info = copy(info)
    parse, info.parser = info.parser, None
    return Leaf(name, _as_text(annotation, default), info, default, parse, _default_as_typed(parse, default))


def _default_as_typed(parse: Callable[[str], Any] | None, default: Any) -> str | None:
    """A default as a user would type it, for help; None if it is not a single value with a unit."""
    write = _WRITERS.get(parse)
    return write(default) if write and isinstance(default, int | float) else None


def _strict_parser(annotation: Any, info: ParameterInfo) -> Callable[[str], Any] | None:
    """The parser of a number or a path; typer would accept underscores, digits of any script and NUL bytes."""
    kind = _plain(annotation)
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    if kind is Path:
        return parse_path
    if kind is int and not getattr(info, "count", False):
        low, high = (None if limit is None else round(limit) for limit in (info.min, info.max))
        return partial(
            parse_whole_number, low=-(2**63) if low is None else low, high=2**63 - 1 if high is None else high
        )
    return parse_number if kind is float else None


def _with_range_in_words(info: ParameterInfo) -> ParameterInfo:
    """Its help with ``at least 1`` or ``1 to 256`` where typer would write ``x>=1`` or ``1<=x<=256``.

    That a number is not negative goes without saying.
    """
    info, low, high = copy(info), info.min, info.max
    info.min = info.max = None
    if high is not None:
        words = f"{low:,} to {high:,}"
    elif low:
        words = f"at least {low:,}"
    else:
        return info
    text, default, value = (info.help or "").partition(" [default")
    info.help = f"{text.removesuffix('.')}; {words}.{default}{value}"
    return info


def _plain(annotation: Any) -> Any:
    """An annotation without None."""
    if get_origin(annotation) in (Union, UnionType):
        return next(arg for arg in get_args(annotation) if arg is not NoneType)
    return annotation


def _as_text(annotation: Any, default: Any) -> Any:
    """``str`` or ``list[str]``, optional if there is a default, in place of the parsed type."""
    text = list[str] if get_origin(_plain(annotation)) is list else str
    return text if default is _NO_DEFAULT else text | None


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        bare, *extras = get_args(hint)
        return bare, tuple(extras)
    return hint, ()
