"""Sets up a policy for librdkafka: it takes the client's batch settings into account, and is checked for key order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkabal.errors import UsageError
from kafkabal.routing import PolicyChoice

LINGER_MS: Final = 5.0
"""librdkafka's default; policies also assume it when they size batches."""
_MOST_LINGER_MS: Final = 900_000.0
"""librdkafka's limit."""
_SETTINGS: Final = ("linger.ms", "queue.buffering.max.ms")


def client_policy(choice: PolicyChoice, client: Mapping[str, Any]) -> PolicyChoice:
    """The policy, set up for producers with this configuration."""
    given = next((client[name] for name in _SETTINGS if name in client), LINGER_MS)
    return choice.with_client_linger(_linger_ms(given))


def _linger_ms(given: Any) -> float:
    """The linger time; the default for values that librdkafka will refuse, with an error of its own."""
    try:
        linger_ms = float(given)
    except (TypeError, ValueError):
        return LINGER_MS
    return linger_ms if 0 <= linger_ms <= _MOST_LINGER_MS else LINGER_MS


def check_key_order(choice: PolicyChoice, why: str, option: str) -> None:
    """Check that a policy sends all records of a key to one partition.

    Parameters
    ----------
    why
        Why key order matters for these records.
    option
        The option that waives it.

    Raises
    ------
    UsageError
        If the policy does not keep key order.
    """
    if not choice.about.keeps_key_order:
        raise UsageError(
            f"{why}, but policy {choice.about.name!r} spreads the records of a key over several partitions",
            hint=f"choose a policy that keeps key order (see 'kafkabal policies'), or add {option}",
        )
