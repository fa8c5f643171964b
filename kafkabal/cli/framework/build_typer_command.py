"""Builds a typer command from a command function, which runs when the command is invoked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, Any

import typer

from kafkabal.cli.framework.chosen_clusters import ChosenClusters, choose_clusters
from kafkabal.cli.framework.command_settings import command_settings, naming_cluster
from kafkabal.cli.framework.library_logs import direct_logs
from kafkabal.cli.framework.shared_options import CommonOptions
from kafkabal.cli.framework.typer_commands import Command, Group
from kafkabal.cli.framework.typer_parameters import Signature, common_leaves, read_signature
from kafkabal.errors import ExitCode, KafkabalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.cli.framework.command_table import Row

CommandFunction = Callable[..., ExitCode | None]


def build_command(name: str, row: Row) -> Command | Group:
    """The command, or the group of commands, of a row in the table; this imports its module."""
    function = _load(row.function) if row.function else None
    text = inspect.getdoc(function) if function else row.help
    run = _runner(function) if function else _nothing
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"]}
    if row.commands is None:
        app.command(name, cls=Command, help=text, context_settings=settings)(run)
    else:
        app.callback(cls=Group, help=text, context_settings=settings, invoke_without_command=function is not None)(run)
    command = typer.main.get_command(app)
    assert isinstance(command, Command | Group)
    if isinstance(command, Group) and row.commands is not None:
        command.name, command.rows, command.runs_alone = name, row.commands, function is not None
    return command


def _load(location: str) -> CommandFunction:
    module, _, name = location.partition(":")
    function: CommandFunction = getattr(import_module(module), name)
    return function


def _nothing() -> None:
    """Do nothing: the function of a group that only has commands."""


def _runner(function: CommandFunction) -> Callable[..., ExitCode]:
    """A function with the signature that typer reads, which calls ``function`` with the arguments it takes."""
    signature = read_signature(function)
    leaves = (*signature.leaves(), *common_leaves())

    def run(ctx: typer.Context, **given: Any) -> ExitCode:
        if ctx.invoked_subcommand is not None:
            return ExitCode.DONE
        sources = {name: ctx.get_parameter_source(name) for name in given}
        from_environment = {name for name, source in sources.items() if getattr(source, "name", "") == "DEFAULT_MAP"}
        typed = {name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE"}
        options = frozenset(leaf.title for leaf in leaves if leaf.is_option and leaf.name in typed)
        context = replace(ctx.find_root().obj, given=options)
        return _call(function, signature, context, given, from_environment) or ExitCode.DONE

    first = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [first, *(leaf.parameter for leaf in leaves)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _call(
    function: CommandFunction,
    signature: Signature,
    context: CommandContext,
    given: Mapping[str, Any],
    from_environment: Collection[str],
) -> ExitCode | None:
    common = CommonOptions(**{leaf.name: given[leaf.name] for leaf in common_leaves()})
    if common.quiet and common.verbose:
        raise UsageError("--quiet and --verbose cannot be combined")
    context = context.adjusted(quiet=common.quiet, verbosity=common.verbose, colour=common.chosen_colour)
    direct_logs(context.stderr, everything=common.verbose > 1)
    settings_of = partial(command_settings, may_need_no_cluster=signature.may_need_no_cluster)
    choose = choose_clusters if signature.takes_several else settings_of
    arguments = signature.arguments(given, lambda flags: choose(flags, context), from_environment)
    files = signature.files(arguments)
    files.expect_different()
    if signature.context_name:
        arguments[signature.context_name] = _report_on_stderr(context) if files.fill_stdout else context
    from kafkabal.config import Settings

    settings = arguments.get(signature.settings_name)
    settings = settings.one if isinstance(settings, ChosenClusters) else settings
    if not isinstance(settings, Settings):
        return function(**arguments)
    completed = partial(naming_cluster, settings=settings, context=context)
    if signature.context_name:
        arguments[signature.context_name] = replace(arguments[signature.context_name], completed=completed)
    with settings.naming_options(), _proposing(completed):
        return function(**arguments)


@contextmanager
def _proposing(completed: Callable[[str], str]) -> Iterator[None]:
    """Complete the commands that an error proposes."""
    try:
        yield
    except KafkabalError as error:
        error.message = completed(error.message)
        error.hint = completed(error.hint) if error.hint is not None else None
        raise


def _report_on_stderr(context: CommandContext) -> CommandContext:
    """The same context, with the report on stderr, or nowhere with ``-q``."""
    return replace(context, stdout=StringIO() if context.quiet else context.stderr)
