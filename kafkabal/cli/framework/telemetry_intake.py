"""Sources of client telemetry: the topic that brokers forward to, or OTLP/HTTP posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Cluster
    from kafkabal.config import ConnectionSettings
    from kafkabal.telemetry import HttpIntake, PushReceiver, TopicIntake

_LOOPBACK = "127.0.0.1"
_PORTS = range(2**16)
_PORT_DIGITS = 5
"""Digits of 65535; a longer number is refused without converting it."""
_WRITE_IT = "write it like 4318, 0.0.0.0:4318 or [::1]:4318; ports end at 65535"


def parse_listen_address(address: str, *, or_else: str = "") -> tuple[str, int]:
    """Read ``[HOST:]PORT``, an IPv6 address in brackets; without a host, it is this one.

    Parameters
    ----------
    or_else
        The alternative to an address, for the hint.

    Raises
    ------
    UsageError
        If the address is invalid.
    """
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS and int(port) in _PORTS):
        raise UsageError(f"invalid port: {address!r}", hint=f"{or_else}{_WRITE_IT}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"cannot listen on address: {address!r}", hint=f"{or_else}{_WRITE_IT}")
    return host or _LOOPBACK, int(port)


def open_http_intake(address: str, table: PushReceiver) -> HttpIntake:
    """Listen on ``[HOST:]PORT``; use it in a ``with`` block.

    Raises
    ------
    UsageError
        If the address is invalid, or cannot be bound.
    """
    from kafkabal.telemetry import HttpIntake

    host, port = parse_listen_address(address)
    return HttpIntake(table, host=host, port=port)


def open_topic_intake(
    cluster: Cluster,
    connection: ConnectionSettings,
    topic: str | None,
    table: PushReceiver,
    context: CommandContext,
    *,
    before_s: float,
) -> TopicIntake:
    """Read a topic (None: ours) from ``before_s`` seconds ago on; use it in a ``with`` block.

    Raises
    ------
    UsageError
        If the topic is unknown.
    NotAuthorizedError
        If the principal may not read it.
    UnreachableError
        If no broker responds.
    """
    from kafkabal.cli.framework.cluster_access import await_broker

    await_broker(cluster, context)
    from kafkabal.config import librdkafka_settings
    from kafkabal.telemetry import TELEMETRY_TOPIC, TopicIntake

    client = {**librdkafka_settings(connection), "log_level": 2}
    since_ms = round((context.wall_clock() - before_s) * 1000)
    name = topic or TELEMETRY_TOPIC

    def warn(reason: str) -> None:
        context.warn(f"part of topic {name} cannot be read: {reason}")

    return TopicIntake(client, name, table, since_ms=since_ms, on_problem=warn)
