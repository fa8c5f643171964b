"""Settings and connections for use from Python instead of the command line."""

from __future__ import annotations

import os
from typing import Any

from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.config.profiles import default_profiles_file
from kafkabal.config.resolve_settings import resolve
from kafkabal.config.settings import Settings
from kafkabal.config.settings_to_address import cluster_address
from kafkabal.errors import ConfigError, UsageError


def settings_of(**named: str | None) -> Settings:
    """Resolve settings as the commands do: arguments, then environment variables, then the profile.

    Parameters
    ----------
    named
        Settings by name, such as ``profile``; None if not given.

    Raises
    ------
    UsageError, InputFileError
        If a value or the profiles file is wrong.
    """
    for name, value in named.items():
        _check_text(name, value)
    return resolve(named, environ=os.environ, profiles_file=default_profiles_file())


def named_connection(
    profile: str | None = None, bootstrap_servers: str | None = None, command_config: str | None = None
) -> ConnectionSettings:
    """The brokers named by a profile, an address or the environment.

    Parameters
    ----------
    profile
        A name, ``FILE`` or ``FILE#NAME``.
    bootstrap_servers
        ``host:port``, several separated by commas.
    command_config
        A Java ``client.properties``.

    Raises
    ------
    UsageError
        If a value is wrong.
    ConfigError
        If no live cluster is named.
    """
    settings = settings_of(profile=profile, bootstrap_servers=bootstrap_servers, command_config=command_config)
    address = cluster_address(settings)
    if not isinstance(address, ConnectionSettings):
        raise ConfigError("live brokers are needed", hint="give bootstrap_servers, or a profile that names them")
    return address


def _check_text(name: str, given: Any) -> None:
    """Refuse what is not text, such as a profile 7 from a YAML file; addresses may also be a list."""
    allowed = str | os.PathLike | list | tuple if name == "bootstrap_servers" else str | os.PathLike
    if not (given is None or isinstance(given, allowed)):
        raise UsageError(f"{name}: must be text ({given!r:.40})")
