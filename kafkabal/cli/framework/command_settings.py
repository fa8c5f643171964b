"""The settings of a command: flags, environment and profile combined, or the sandbox if nothing names a cluster."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kafkabal.errors import KafkabalError
from kafkabal.printable import shell_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import ProfilesFile, Settings


PROFILES_FILE: Final = "profiles.yaml"
_CLUSTER_FLAGS: Final = {
    "bootstrap_servers": "--bootstrap-server",
    "command_config": "--command-config",
    "zookeeper": "--zookeeper",
    "snapshot": "--snapshot",
}
_PROPOSED: Final = re.compile(
    r"'(kafkabal (?:rebalance|inspect|create|watch|config show|read [^'\n ]+|telemetry (?:subscribe|list|latency))\b"
    r"[^'\n]*)'"
)
_LIVE_ONLY: Final = ("kafkabal telemetry", "kafkabal watch", "kafkabal read")
_CHANGING: Final = (
    "kafkabal create",
    *(f"kafkabal rebalance {command}" for command in ("apply", "resume", "rollback", "cancel")),
)
"""Beside a snapshot, which is only read, they require a file for the changed one."""


def command_settings(
    flags: Mapping[str, Any],
    context: CommandContext,
    profiles: ProfilesFile | None = None,
    *,
    may_need_no_cluster: bool = False,
) -> Settings:
    """Combine flags, environment and profile.

    A command that needs a cluster but is given none, not even a profile, uses the profile of the most recently created
    sandbox that is up, and says so if there are several.

    Parameters
    ----------
    profiles
        The user's profiles file, for a command that has read it already.
    may_need_no_cluster
        The command calls :func:`report_chosen_sandbox` itself once it needs a cluster.

    Raises
    ------
    UsageError
        If a value is wrong, naming its origin.
    """
    from kafkabal.config import resolve

    profiles_file = profiles or context.config_dir / PROFILES_FILE
    settings = resolve(flags, environ=context.environ, profiles_file=profiles_file)
    if "bootstrap_servers" not in flags or names_cluster(settings) or settings.profile is not None:
        return settings
    sandboxes = _sandbox_profiles(context)
    if not sandboxes:
        return settings
    if not may_need_no_cluster:
        _report_chosen(sandboxes, context)
    return resolve({**flags, "profile": str(sandboxes[0])}, environ=context.environ, profiles_file=profiles_file)


def report_chosen_sandbox(settings: Settings, context: CommandContext) -> None:
    """Say which of several sandboxes is used if nothing names a cluster."""
    from kafkabal.config import PROFILE_VARIABLE

    if settings.profile is None or "--profile" in context.given or context.environ.get(PROFILE_VARIABLE):
        return
    sandboxes = _sandbox_profiles(context)
    if settings.profile.path in sandboxes[:1]:
        _report_chosen(sandboxes, context)


def cluster_options(settings: Settings, context: CommandContext) -> str:
    """Options with which another command finds the same cluster; empty if it needs none."""
    from kafkabal.config import DEFAULT_PROFILE, PROFILE_VARIABLE, read_profiles

    flags = []
    for field, flag in _CLUSTER_FLAGS.items():
        if settings.origin(field) == flag:
            value = getattr(settings, field)
            flags.append(f"{flag} {shell_word(','.join(value) if isinstance(value, tuple) else str(value))}")
    profile = settings.profile
    if profile is not None and profile.path not in _sandbox_profiles(context)[:1]:
        own = profile.path == context.config_dir / PROFILES_FILE
        is_default = profile.name == DEFAULT_PROFILE
        if not own:
            name = str(profile.path) if is_default else f"{profile.path}#{profile.name}"
            flags.append(f"--profile {shell_word(name)}")
        else:
            is_in_use = PROFILE_VARIABLE not in context.environ and read_profiles(profile.path).in_use == profile.name
            # one in use applies again without its name; alone, it says which cluster is meant
            if not is_in_use or not (is_default or flags):
                flags.append(f"--profile {shell_word(profile.name)}")
    return " ".join(flags)


def naming_cluster(text: str, settings: Settings, context: CommandContext) -> str:
    """Add the options that select this cluster to commands in quotes, as in ``continue with 'kafkabal rebalance ...'``.

    What runs on a cluster does not know how it was named. Typed without its options, the command would act on another
    cluster: that of the default profile.
    """
    if not _PROPOSED.search(text):
        return text
    options = ""
    # a message must reach the user even if the profiles file was damaged meanwhile
    with suppress(KafkabalError, OSError):
        options = cluster_options(settings, context)
    if not options:
        return text

    def completed(found: re.Match[str]) -> str:
        is_of_snapshot = settings.snapshot is not None
        if is_of_snapshot and found[1].startswith(_LIVE_ONLY):
            return found[0]
        is_saved = is_of_snapshot and found[1].startswith(_CHANGING) and "--dry-run" not in found[1]
        return f"'{found[1]} {options}{' --save NEW_FILE' if is_saved else ''}'"

    return _PROPOSED.sub(completed, text)


def rebalance_command(settings: Settings) -> str:
    """The rebalance command that a report suggests: a plan if there is no cluster to change."""
    return "kafkabal rebalance" if settings.snapshot is None else "kafkabal rebalance plan"


def cluster_label(settings: Settings, context: CommandContext) -> str:
    """Name of the cluster in metrics: that of the user's profile; empty if only the cluster's id names it."""
    from kafkabal.config import DEFAULT_PROFILE

    profile = settings.profile
    is_own = profile is not None and profile.path == context.config_dir / PROFILES_FILE
    return profile.name if profile is not None and is_own and profile.name != DEFAULT_PROFILE else ""


def runs_folder(settings: Settings, context: CommandContext) -> Path:
    """Folder of the journals on this host."""
    return context.state_dir / settings.runs_folder_name


def names_cluster(settings: Settings) -> bool:
    """Whether flags, environment or profile name a cluster."""
    return bool(settings.bootstrap_servers or settings.command_config or settings.zookeeper or settings.snapshot)


def _report_chosen(sandboxes: Sequence[Path], context: CommandContext) -> None:
    newest, *others = sandboxes
    if others:
        context.warn(
            f"several sandboxes are up; using the newest, {newest.parent.name} (choose with --profile {others[0]})"
        )


def _sandbox_profiles(context: CommandContext) -> list[Path]:
    from kafkabal.sandbox import home_of

    home = home_of(context.environ, context.state_dir)
    if not os.access(home, os.R_OK | os.X_OK):
        # most users have none: do not import what starts and finds brokers
        return []
    from kafkabal.sandbox import sandboxes_up

    return sandboxes_up(home=home)
