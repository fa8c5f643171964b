"""Typer commands and groups with lazy imports and with help by section."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kafkabal.cli.framework.environment_variables import values_from_environment
from kafkabal.cli.framework.help_text import (
    OPTIONS,
    OUTPUT,
    section_of,
    shown_metavar,
    write_list,
    write_sections,
    write_text,
    write_usage,
)
from kafkabal.cli.framework.missing_option_values import refuse_missing_values
from kafkabal.cli.framework.repeated_options import refuse_repeated
from kafkabal.cli.framework.unknown_name_hints import command_hint
from kafkabal.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkabal.cli.framework.command_table import Row


class Command(TyperCommand):
    """A command whose options can be set in the environment, with help by section."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments; missing ones come from the environment."""
        extra["default_map"] = values_from_environment(self, parent)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words, after checking that every option has the one value that it takes."""
        if not ctx.resilient_parsing:
            refuse_missing_values(self.params, args, ctx.command_path, until_command=False)
            refuse_repeated(self, args, ctx)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``[OPTIONS] TOPIC [NAME...]``, in the same style for all commands."""
        return _usage_pieces(self, ctx)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how the command is typed."""
        write_usage(formatter, ctx.command_path, self.collect_usage_pieces(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write what the command does, and examples that can be pasted."""
        write_text(formatter, self.help)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by section."""
        _format_options(self, ctx, formatter)


class Group(TyperGroup):
    """A group that imports a command only when it is invoked, and lists commands without importing any."""

    rows: Mapping[str, Row]
    runs_alone: bool = False
    """It also does something without a command."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments; missing ones come from the environment."""
        if parent is not None:
            extra["default_map"] = values_from_environment(self, parent)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command; without any word, show the help on stderr as a usage error."""
        if not args and not self.runs_alone and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(ExitCode.USAGE)
        if not ctx.resilient_parsing:
            refuse_missing_values(self.params, args, ctx.command_path, until_command=True)
            refuse_repeated(self, args, ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names in table order."""
        return list(self.rows)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import a command."""
        row = self.rows.get(cmd_name)
        if row is not None and cmd_name not in self._built:
            # only now, so that help need not know how
            from kafkabal.cli.framework.build_typer_command import build_command

            self._built[cmd_name] = build_command(cmd_name, row)
        return self._built.get(cmd_name) if row else None

    @cached_property
    def _built(self) -> dict[str, Any]:
        """Commands by name: building one takes as long as running it, and tests run many in one process."""
        return {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command named by the first argument.

        Raises
        ------
        UsageError
            If it is unknown, or preceded by an option.
        """
        if args[0] not in self.rows:
            hint = command_hint(args[0], ctx, self.rows) or f"see '{ctx.command_path} --help'"
            raise UsageError(f"unknown command: {ctx.command_path} {args[0]}", hint=hint)
        misplaced = [p.opts[-1] for p in self.params if ctx.get_parameter_source(p.name).name == "COMMANDLINE"]
        if misplaced:
            raise UsageError(
                f"option before the command: {misplaced[0]}",
                hint=f"put options after the command: {ctx.command_path} {args[0]} {misplaced[0]} ...",
            )
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The command comes last, in brackets if the group does something on its own."""
        return [*_usage_pieces(self, ctx), "[COMMAND]" if self.runs_alone else "COMMAND"]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how the command is typed."""
        write_usage(formatter, ctx.command_path, self.collect_usage_pieces(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write what the group does, and examples that can be pasted."""
        write_text(formatter, self.help)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and the options by section."""
        for title, rows in groupby(self.rows.items(), lambda named: named[1].section):
            write_list(formatter, title, [(name, row.help) for name, row in rows])
        _format_options(self, ctx, formatter)


def _format_options(command: TyperCommand | TyperGroup, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            sections.setdefault(section_of(parameter), []).append((_term(parameter, ctx, record[0]), record[1]))
    if len(sections[OUTPUT]) == 1:  # a heading for --help alone is pointless
        sections.setdefault(OPTIONS, []).extend(sections.pop(OUTPUT))
    write_sections(formatter, sections)


def _term(parameter: Any, ctx: Any, written: str) -> str:
    """The first column of the help of an option or argument."""
    if parameter.param_type_name == "argument":
        return shown_metavar(parameter, ctx)
    return written.replace("<", "").replace(">", "")


def _usage_pieces(command: TyperCommand | TyperGroup, ctx: Any) -> list[str]:
    arguments = [p for p in command.get_params(ctx) if p.param_type_name == "argument"]
    return ["[OPTIONS]", *(shown_metavar(argument, ctx) for argument in arguments)]
