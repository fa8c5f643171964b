"""The commands as pages with their texts, arguments and options, for man pages, docs and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkabal.cli.framework.command_context import PROGRAM
from kafkabal.cli.framework.completion.option_values import Values, values_of
from kafkabal.cli.framework.help_text import ordered, section_of, shown_metavar, split_help
from kafkabal.cli.main import root_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkabal.cli.framework.command_table import Row
    from kafkabal.cli.framework.typer_commands import Command, Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option, or an argument, which has no flags."""

    flags: tuple[str, ...]
    metavar: str
    """Empty for a flag without a value."""
    help: str
    section: str
    values: Values
    """Values to complete."""
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A command."""

    path: tuple[str, ...]
    """``kafkabal``, group, name."""
    summary: str
    paragraphs: tuple[str, ...]
    examples: tuple[str, ...]
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    runs_alone: bool
    """A group that also does something without a command."""
    commands: Mapping[str, str]
    """One-line help of a group's commands, by name."""

    @property
    def title(self) -> str:
        """The words to type."""
        return " ".join(self.path)

    @property
    def usage(self) -> str:
        """The command line in short."""
        words = [self.title, "[OPTIONS]" if self.options else ""]
        words += [argument.metavar for argument in self.arguments]
        words += [("[COMMAND]" if self.runs_alone else "COMMAND")] if self.commands else []
        return " ".join(word for word in words if word)

    def sections(self) -> dict[str, list[Option]]:
        """Options by section, in the order of the help."""
        titles = ordered(option.section for option in self.options)
        return {title: [option for option in self.options if option.section == title] for title in titles}


def pages() -> list[Page]:
    """All commands: the program itself first, each group before its commands."""
    return list(_walk(root_command(), (PROGRAM,)))


def _walk(command: Command | Group, path: tuple[str, ...], parent: Any = None) -> Iterator[Page]:
    context = command.context_class(command, info_name=path[-1], parent=parent, **command.context_settings)
    rows: Mapping[str, Row] = getattr(command, "rows", {})
    yield _page(command, path, context, rows)
    for name in rows:
        child = command.get_command(context, name)  # type: ignore[union-attr] # only a group has rows
        yield from _walk(child, (*path, name), context)


def _page(command: Command | Group, path: tuple[str, ...], context: Any, rows: Mapping[str, Row]) -> Page:
    text = split_help(command.help)
    group = path[1] if len(path) > 1 else ""
    options = [_option(parameter, context, group) for parameter in command.get_params(context)]
    return Page(
        path=path,
        summary=text.summary,
        paragraphs=(*text.paragraphs, *([command.epilog] if command.epilog else [])),
        examples=text.examples,
        options=tuple(option for option in options if option.flags),
        arguments=tuple(option for option in options if not option.flags),
        runs_alone=bool(getattr(command, "runs_alone", False)),
        commands={name: row.help for name, row in rows.items()},
    )


def _option(parameter: Any, context: Any, command: str) -> Option:
    is_option = parameter.param_type_name == "option"
    takes_value = not (is_option and (parameter.is_flag or parameter.count))
    metavar = shown_metavar(parameter, context) if takes_value else ""
    record = parameter.get_help_record(context)
    return Option(
        # short ones first; typer does not order the names of --help
        flags=tuple(sorted([*parameter.opts, *parameter.secondary_opts], key=len) if is_option else []),
        metavar=metavar,
        help=" ".join(record[1].split()) if record else "",
        section=section_of(parameter),
        values=values_of(parameter, metavar, command) if takes_value else Values(),
        repeated=bool(parameter.multiple) if is_option else parameter.nargs == -1,
    )
