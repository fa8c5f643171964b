"""Which cluster the settings mean, and how to reach it."""

from __future__ import annotations

from kafkabal.config.client_properties import read_connection
from kafkabal.config.connection_settings import ClusterAddress, SnapshotAddress, ZookeeperAddress
from kafkabal.config.settings import Settings
from kafkabal.errors import ConfigError


def cluster_address(settings: Settings) -> ClusterAddress:
    """The one cluster that a command is about.

    Raises
    ------
    ConfigError
        If no cluster is named, or an address is malformed.
    InputFileError
        If the client.properties cannot be read or is wrong.
    """
    if settings.snapshot is not None:
        return SnapshotAddress(str(settings.snapshot))
    connection = read_connection(
        settings.command_config,
        bootstrap_servers=settings.bootstrap_servers,
        bootstrap_controllers=settings.bootstrap_controllers,
    )
    if settings.zookeeper is not None:
        return ZookeeperAddress(servers=settings.zookeeper, connection=connection)
    if not connection.bootstrap_servers:
        raise ConfigError(
            "no cluster given", hint="give --bootstrap-server HOST:PORT, --profile NAME or --snapshot FILE"
        )
    return connection
