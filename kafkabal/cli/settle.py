"""The settings of a command, and which cluster it means when nothing names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkabal.cli.context import CommandContext
    from kafkabal.config.settings import Settings


def settle(flags: Mapping[str, Any], context: CommandContext) -> Settings:
    """Bring flags, environment and profile together.

    Raises
    ------
    UsageError
        If a value is wrong, naming where it was written.
    """
    from kafkabal.config.resolve import resolve

    return resolve(flags, environ=context.environ, profiles_file=context.config_dir / "profiles.yaml")
