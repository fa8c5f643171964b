"""The librdkafka producer behind ``kafkabal produce``: its defaults, and how often its statistics are read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException, Producer

from kafkabal.config import ClientSetting
from kafkabal.producer.librdkafka_errors import config_error_of
from kafkabal.producer.policy_for_librdkafka import LINGER_MS
from kafkabal.producer.view_refresher import STATISTICS_S
from kafkabal.telemetry import StatisticsReader

# a statistics text has about a kilobyte per partition, and keeps librdkafka busy for milliseconds
_STATISTICS_S_A_PARTITION = 0.001

CLIENT_DEFAULTS: Final[Mapping[str, ClientSetting]] = {
    "enable.idempotence": True,
    "linger.ms": LINGER_MS,
    "log.connection.close": False,
    # a deleted topic must not be re-created because we asked for it
    "allow.auto.create.topics": False,
}
"""What the user's own settings are added to."""


_LOGGER = logging.getLogger(__name__)


def sending_client(client: Mapping[str, ClientSetting], read: StatisticsReader, interval_s: float) -> Producer:
    """A client whose statistics are read.

    Parameters
    ----------
    client
        Settings that differ from the defaults.

    Raises
    ------
    UsageError
        If librdkafka rejects a setting.
    """
    statistics = {"statistics.interval.ms": max(1, round(interval_s * 1000)), "stats_cb": read}
    # librdkafka logs fatal errors at every log level; the user gets them as the error that ends the command
    logged = {} if "debug" in client else {"logger": _LOGGER}
    try:
        return Producer({**statistics, **CLIENT_DEFAULTS, **client, **logged})
    except KafkaException as error:
        raise config_error_of(error.args[0]) from error


def statistics_interval_s(refresh_s: float, n_partitions: int) -> float:
    """Seconds between two statistics texts if records are routed by latencies."""
    return min(refresh_s, max(STATISTICS_S, _STATISTICS_S_A_PARTITION * n_partitions))
