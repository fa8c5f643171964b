"""The command line: parse, call the library, show. Owns typer.

How to add a command
====================

1. A row in :mod:`kafkabal.cli.framework.command_table`: name, one-line help, ``module:function``. A group has
   ``commands=`` of its own and may have a function too. Nothing is imported for a row; the
   module is imported when its command is invoked.

2. A module with a function, without ``from __future__ import annotations`` (typer reads the annotations)::

    from typing import Annotated

    import typer

    from kafkabal.cli.framework.cluster_access import open_cluster
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
    from kafkabal.cli.framework.show_report import show_report
    from kafkabal.config import Settings
    from kafkabal.errors import ExitCode
    from kafkabal.units import parse_duration


    def watch(
        context: CommandContext,
        settings: Annotated[Settings, Uses(*CLUSTER, "scores", "tolerance")],
        output: Annotated[OutputOptions, Forms("table", "json")],
        every_s: Annotated[
            float, typer.Option("--every", metavar="TIME", parser=parse_duration, help="Pause.")
        ] = 5.0,
        topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only this one.")] = None,
    ) -> ExitCode | None:
        '''Watch the brokers and report when one slows down.

        More paragraphs for the help and the man page.

        Examples:
          kafkabal watch --every 10s
        '''
        from kafkabal.something import heavy  # numpy, rich and Kafka libraries: inside the function only

        with open_cluster(settings, context) as cluster:
            show_report(report_of(...), output, context)

   The parameters are, in any order: the :class:`~kafkabal.cli.framework.command_context.CommandContext`; the
   :class:`~kafkabal.config.Settings` that the command ``Uses`` (their flags, environment variables and
   profile keys come with them); groups of options, which are dataclasses of typer options; and typer options and
   arguments. A ``parser`` may raise :class:`~kafkabal.errors.UsageError`; the option is then named by the framework.
   ``rich_help_panel`` names the section of the help. The metavar decides what a shell completes: ``FILE``, ``DIR``,
   ``TOPIC``, ``PATTERN`` (topics), ``ID`` (brokers), or else the name of the option; choices complete by themselves.
   ``-q``, ``-v`` and ``--no-color`` are there already, and ``KAFKABAL_<OPTION>`` works for every option.

   :func:`kafkabal.cli.framework.cluster_access.open_cluster` connects to what the settings name;
   :func:`~kafkabal.cli.framework.cluster_access.read_cluster` reads it with the capacities of the profile, warns of
   brokers that did not respond, and refreshes the names for completion;
   :func:`kafkabal.cli.framework.selected_scores.selected_scores` gives the scores;
   :func:`kafkabal.cli.framework.command_settings.cluster_options` the flags for a command to run next.

3. A command speaks to the user in one of these ways:

   * a result: a :class:`~kafkabal.reporting.report.Report` given to
     :func:`kafkabal.cli.framework.show_report.show_report`, which writes it in the form of ``-o`` to stdout or,
     atomically, to ``--output-file``;
   * progress: ``context.say`` (not with ``-q``), ``context.detail`` (with ``-v``), ``context.warn``, and
     ``with context.progress("moving", total_bytes) as progress: progress.update(done_bytes)``; all on stderr;
   * a question: ``context.confirm("Move 12 GiB?", flag="--yes")``, which refuses without a terminal;
   * a failure: raise a :class:`~kafkabal.errors.KafkabalError`. One line and a hint appear, and its exit code is
     returned. Never call ``sys.exit``, and return an :class:`~kafkabal.errors.ExitCode` only if it is not 0.

   SIGTERM arrives as :class:`kafkabal.cli.framework.termination_signals.Terminated`, which is a ``KeyboardInterrupt``.

4. A test that calls ``run_cli("watch", "--every", "10s")`` of ``tests/cli/conftest.py`` and looks at ``code``, ``out``
   and ``err``; then ``python -m tools.reference`` writes completions, man pages and ``docs/commands.md``.
"""
