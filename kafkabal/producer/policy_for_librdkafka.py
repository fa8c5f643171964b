"""A policy for a client of librdkafka: it reckons with the batches that the client makes, and keeps what it must."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkabal.errors import UsageError
from kafkabal.routing import PolicyChoice

LINGER_MS: Final = 5.0
"""librdkafka's default, which is also what a policy's batches are cut by."""
_SETTINGS: Final = ("linger.ms", "queue.buffering.max.ms")


def client_policy(choice: PolicyChoice, client: Mapping[str, Any]) -> PolicyChoice:
    """The policy, for producers with this configuration."""
    linger_ms = next((float(client[name]) for name in _SETTINGS if name in client), LINGER_MS)
    return choice.reckoning_with(linger_ms=linger_ms)


def expect_key_order(choice: PolicyChoice, why: str, option: str) -> None:
    """See that a policy sends the records of a key to one partition.

    Parameters
    ----------
    why
        Why that matters for these records.
    option
        What allows it not to.

    Raises
    ------
    UsageError
        If it does not.
    """
    if not choice.about.keeps_key_order:
        raise UsageError(
            f"{why}, but policy {choice.about.name!r} spreads the records of a key over several partitions",
            hint=f"choose a policy that keeps key order (see 'kafkabal policies'), or add {option}",
        )
