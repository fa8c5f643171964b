"""The settings of a command: flags, environment and profile together, and the sandbox where nothing names a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkabal.cli.context import CommandContext
    from kafkabal.config.settings import Settings


def settle(flags: Mapping[str, Any], context: CommandContext) -> Settings:
    """Bring flags, environment and profile together.

    A command that may be told a cluster and is told none, not even a profile, takes the profile of the current
    sandbox, if one is up.

    Raises
    ------
    UsageError
        If a value is wrong, naming where it was written.
    """
    from kafkabal.config.resolve import resolve

    profiles_file = context.config_dir / "profiles.yaml"
    settings = resolve(flags, environ=context.environ, profiles_file=profiles_file)
    if "bootstrap_servers" not in flags or _names_cluster(settings) or settings.profile is not None:
        return settings
    sandbox = _sandbox_profile(context)
    if sandbox is None:
        return settings
    return resolve({**flags, "profile": str(sandbox)}, environ=context.environ, profiles_file=profiles_file)


def _names_cluster(settings: Settings) -> bool:
    return bool(settings.bootstrap_servers or settings.command_config or settings.zookeeper or settings.snapshot)


def _sandbox_profile(context: CommandContext) -> Path | None:
    from kafkabal.sandbox import current_sandbox
    from kafkabal.sandbox.home import HOME_VARIABLE

    override = context.environ.get(HOME_VARIABLE)
    return current_sandbox(home=Path(override) if override else context.state_dir / "sandboxes")
