"""Checks the user's own librdkafka settings: are they valid, and which of our delivery guarantees do they break?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from confluent_kafka import KafkaException, Producer

from kafkabal.config import ClientSetting
from kafkabal.errors import UsageError
from kafkabal.producer.librdkafka_errors import one_line
from kafkabal.producer.sending_client import CLIENT_DEFAULTS

_OURS: Final = frozenset(
    {
        "bootstrap.servers",  # records must go to the cluster that was read
        "delivery.report.only.error",
        "logger",
        "metadata.broker.list",
        "on_delivery",
        "test.mock.num.brokers",
        "transactional.id",
    }
)
_CALLBACK: Final = "_cb"
_FALSE: Final = frozenset({"false", "f", "0", "no"})
_ALL: Final = frozenset({"all", "-1"})
_ACKS: Final = frozenset({"acks", "request.required.acks"})
_QUIET: Final = {"log_level": 2}
"""Log critical faults only: librdkafka reports all others as errors, which we show."""


def check_own_settings(settings: Mapping[str, str]) -> None:
    """Check that librdkafka accepts these settings, each and together, before any broker is contacted.

    Raises
    ------
    UsageError
        Naming the setting that librdkafka rejects, or that the user may not set.
    """
    for name, value in settings.items():
        if name in _OURS or name.endswith(_CALLBACK):
            raise UsageError(f"{name}={value}: reserved, set by kafkabal")
        _try({name: value}, f"{name}={value}")
    _try({**CLIENT_DEFAULTS, **settings}, ", ".join(f"{name}={value}" for name, value in settings.items()))


def broken_promises(settings: Mapping[str, str]) -> Iterator[str]:
    """The guarantees that these settings break, one line each."""
    for name, value in settings.items():
        word = value.strip().lower()
        if name == "enable.idempotence" and word in _FALSE:
            yield f"{name}={value}: retries may duplicate or reorder records"
        if name in _ACKS and word not in _ALL:
            yield f"{name}={value}: acknowledged records are lost if their leader fails"
        if name == "allow.auto.create.topics" and word not in _FALSE:
            yield f"{name}={value}: a topic deleted during the run may be created again"


def _try(settings: Mapping[str, ClientSetting], what: str) -> None:
    """Create a producer without brokers, and discard it."""
    try:
        Producer({**_QUIET, **settings})
    except KafkaException as error:
        text = one_line(error.args[0]).removeprefix("Failed to create producer: ")
        raise UsageError(f"{what}: {text}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what}: {error}") from error
