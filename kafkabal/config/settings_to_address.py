"""Derives from the settings which cluster to use, and how to reach it."""

from __future__ import annotations

from dataclasses import replace

from kafkabal.config.client_properties import check_addresses, is_host_name, read_connection
from kafkabal.config.connection_settings import ClusterAddress, SnapshotAddress, ZookeeperAddress
from kafkabal.config.settings import Settings
from kafkabal.errors import ConfigError

_SHOWN = 40
"""Characters of an invalid text that an error shows, so that the message stays one line."""


def cluster_address(settings: Settings) -> ClusterAddress:
    """The cluster that a command works on.

    Raises
    ------
    ConfigError
        If no cluster is named, or an address is malformed.
    InputFileError
        If the client.properties cannot be read or is invalid.
    """
    if settings.snapshot is not None:
        return SnapshotAddress(str(settings.snapshot))
    with settings.naming("bootstrap_servers"):
        check_addresses(settings.bootstrap_servers)
    with settings.naming("bootstrap_controllers"):
        check_addresses(settings.bootstrap_controllers)
    connection = read_connection(
        settings.command_config,
        bootstrap_servers=settings.bootstrap_servers,
        bootstrap_controllers=settings.bootstrap_controllers,
    )
    if settings.broker_timeout_s is not None:
        # connecting is the first request: a server that accepts and never responds takes no longer than any other
        within_s = min(connection.connect_timeout_s, settings.broker_timeout_s)
        connection = replace(connection, connect_timeout_s=within_s, broker_timeout_s=settings.broker_timeout_s)
    if settings.zookeeper is not None:
        for server in settings.zookeeper.partition("/")[0].split(","):
            if not is_host_name(server.rpartition(":")[0] or server):
                raise ConfigError(
                    f"{settings.origin('zookeeper')}: invalid address: {server[:_SHOWN]!r}",
                    hint="write it like zk1.example:2181,zk2.example:2181/kafka",
                )
        return ZookeeperAddress(servers=settings.zookeeper, connection=connection)
    if not connection.bootstrap_servers:
        raise ConfigError(
            "no cluster given",
            hint="give --bootstrap-server HOST:PORT or --profile NAME, or --snapshot FILE to work offline",
        )
    return connection
