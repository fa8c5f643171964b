"""``kafkabal profiles``: list, show, use, check and add the profiles of clusters."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.chosen_clusters import ChosenClusters, all_profile_names, run_on_each
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import PROFILES_FILE
from kafkabal.cli.framework.repeated_options import each_key_once
from kafkabal.cli.framework.shared_options import Forms, OutputOptions
from kafkabal.cli.framework.show_report import show_report
from kafkabal.errors import ExitCode, KafkabalError, UsageError
from kafkabal.units import parse_positive_duration

if TYPE_CHECKING:
    from kafkabal.config import Profile, Settings
    from kafkabal.reporting.profiles_report import ProfileCheck

_DEFAULT_TIMEOUT_S = 15.0
"""Longer than a connection to a host that drops packets takes to fail (10 s), so that the reason is shown."""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Profile.")]
Output = Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")]


def list_profiles(context: CommandContext, output: Output) -> None:
    """List profiles: which cluster each names, and which one is in use.

    Connects to no cluster. A profile with an unknown key is listed with its problem; the others can be used.

    Examples:

      kafkabal profiles list

      kafkabal profiles list -o json
    """
    from kafkabal.config import read_profiles
    from kafkabal.reporting.profiles_report import profiles_report

    show_report(profiles_report(read_profiles(_file(context))), output, context)


def show(context: CommandContext, name: NameArgument, output: Output) -> None:
    """Show the settings of a profile and of its client.properties; secrets are never shown.

    Values of client.properties are shown only if their key cannot hold a secret.

    Examples:

      kafkabal profiles show prod
    """
    from kafkabal.config import properties_without_secrets
    from kafkabal.reporting.profiles_report import profile_report

    profile = _profile(name, context)
    settings = _settings_of(profile, context)
    config = settings.command_config if "command_config" in settings.places else None
    properties = properties_without_secrets(config) if config else ()
    show_report(profile_report(profile, settings, config, properties), output, context)


def use(context: CommandContext, name: NameArgument) -> None:
    """Use a profile by default.

    Writes the line 'use: NAME' to the file of profiles.

    Examples:

      kafkabal profiles use prod
    """
    from kafkabal.config import use_profile

    use_profile(_file(context), name)
    context.say(f"profile in use: {name}")


def check(
    context: CommandContext,
    output: Output,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Profiles to check. [default: all]")
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option(
            "-t",
            "--timeout",
            metavar="TIME",
            parser=parse_positive_duration,
            help="How long each cluster may take.",
        ),
    ] = _DEFAULT_TIMEOUT_S,
) -> ExitCode:
    """Connect to the clusters of profiles, all at once, and show which respond.

    Exits 3 if a profile cannot be read or its cluster does not respond.

    Examples:

      kafkabal profiles check

      kafkabal profiles check prod staging -t 5s
    """
    from functools import partial

    from kafkabal.config import find_profile, read_profiles
    from kafkabal.reporting.profiles_report import ProfileCheck, check_report

    known = read_profiles(_file(context))
    chosen_names = tuple(dict.fromkeys(names or ())) or all_profile_names(known)
    for name in chosen_names:
        find_profile(name, known)  # an unknown name is a typing error on the command line, not in the file
    chosen = ChosenClusters(flags={}, known=known)
    found = run_on_each(chosen_names, partial(_try_cluster, chosen=chosen, context=context), timeout_s)
    checks = [
        ProfileCheck(name=name, problem=outcome.message) if isinstance(outcome, KafkabalError) else outcome
        for name, outcome in found.items()
    ]
    show_report(check_report(checks, known.in_use), output, context)
    return ExitCode.FINDINGS if any(each.problem for each in checks) else ExitCode.DONE


def add(
    context: CommandContext,
    name: NameArgument,
    bootstrap_servers: Annotated[
        str | None, typer.Option("-b", "--bootstrap-server", metavar="HOST:PORT[,...]", help="Bootstrap brokers.")
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option("--command-config", metavar="FILE", help="client.properties file, as for Kafka's own tools."),
    ] = None,
    zookeeper: Annotated[
        str | None,
        typer.Option("--zookeeper", metavar="HOST:PORT[/PATH]", help="ZooKeeper servers, for Kafka 3.9 and older."),
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="Snapshot to use instead of a live cluster.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting, such as tolerance=5%. Repeatable."),
    ] = None,
    use_it: Annotated[bool, typer.Option("--use", help="Also make it the profile in use.")] = False,
) -> None:
    """Add a profile.

    Existing comments and profiles stay as they are. Secrets belong in the client.properties that
    --command-config names, not in a profile.

    Examples:

      kafkabal profiles add prod -b broker1:9092,broker2:9092 --command-config client.properties

      kafkabal profiles add lab -b lab1:9092 --set tolerance=5% --set throttle=50MB/s
    """
    from kafkabal.config import add_profile, use_profile
    from kafkabal.input_files import absolute_path, expand_home

    files = {"command_config": command_config, "snapshot": snapshot}
    given: dict[str, str | None] = {"bootstrap_servers": bootstrap_servers, "zookeeper": zookeeper}
    # a path in a profile is relative to the file of profiles, not to where the command was typed
    given |= {key: None if path is None else str(absolute_path(expand_home(path))) for key, path in files.items()}
    settings = {key: value for key, value in given.items() if value is not None}
    settings = each_key_once("--set", (*settings.items(), *map(_assignment, others or ())))
    if not settings:
        raise UsageError(
            "a profile needs a cluster", hint="give -b HOST:PORT, --command-config, --zookeeper or --snapshot"
        )
    path = _file(context)
    add_profile(path, name, settings)
    if use_it:
        use_profile(path, name)
    added = f"added profile {name} to {path}{', now in use' if use_it else ''}"
    context.say(f"{added}; next: kafkabal profiles check {name}")


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError(f"--set: invalid setting: {text!r}", hint="write it like tolerance=5%")
    return key.strip().replace("-", "_"), value.strip()


def _file(context: CommandContext) -> Path:
    return context.config_dir / PROFILES_FILE


def _profile(name: str, context: CommandContext) -> "Profile":
    from kafkabal.config import load_profile

    profile = load_profile(name, _file(context))
    assert profile is not None  # only none chosen gives none
    return profile


def _try_cluster(name: str, chosen: ChosenClusters, context: CommandContext) -> "ProfileCheck":
    """Ask the cluster of a profile for its id and its brokers, and look up the profile's scores."""
    from dataclasses import replace

    from kafkabal.cli.framework.selected_scores import unchecked_scores
    from kafkabal.clusters import connect
    from kafkabal.config import cluster_address
    from kafkabal.reporting.profiles_report import ProfileCheck

    settings = chosen.settings_of(name, replace(context, quiet=True))
    started_s = context.monotonic()
    with connect(cluster_address(settings)) as cluster:
        cluster_id, brokers = cluster.cluster_id(), len(cluster.broker_ids())
        unchecked_scores(settings)  # after the cluster responds: it needs numpy
        return ProfileCheck(
            name=name,
            cluster=cluster.name,
            cluster_id=cluster_id,
            brokers=brokers,
            elapsed_s=context.monotonic() - started_s,
        )


def _settings_of(profile: "Profile", context: CommandContext) -> "Settings":
    from kafkabal.config import resolve

    name = profile.name if profile.path == _file(context) else f"{profile.path}#{profile.name}"
    return resolve({"profile": name}, environ={}, profiles_file=_file(context))
