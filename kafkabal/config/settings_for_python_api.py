"""Settings and connections for code that is called from Python and not from the command line."""

from __future__ import annotations

import os

from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.config.profiles import default_profiles_file
from kafkabal.config.resolve_settings import resolve
from kafkabal.config.settings import Settings
from kafkabal.config.settings_to_address import cluster_address
from kafkabal.errors import ConfigError


def settings_of(**named: str | None) -> Settings:
    """Settings as the commands resolve them: what is given, then environment variables, then the profile.

    Parameters
    ----------
    named
        Settings by their names, such as ``profile``; None where one is not given.

    Raises
    ------
    UsageError, InputFileError
        If a value or the file of profiles is wrong.
    """
    return resolve(named, environ=os.environ, profiles_file=default_profiles_file())


def live_connection(
    profile: str | None = None, bootstrap_servers: str | None = None, command_config: str | None = None
) -> ConnectionSettings:
    """The brokers that a profile, an address or the environment names.

    Parameters
    ----------
    profile
        A name, ``FILE`` or ``FILE#NAME``.
    bootstrap_servers
        ``host:port``, with commas between several.
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
