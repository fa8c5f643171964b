"""For how long a producer keeps a batch open, as its configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LINGER_MS: Final = 5.0
"""librdkafka's default, which is also what a policy's batches are cut by."""
_SETTINGS: Final = ("linger.ms", "queue.buffering.max.ms")


def linger_ms(client: Mapping[str, Any]) -> float:
    """For how long a producer with this configuration keeps a batch open."""
    return next((float(client[name]) for name in _SETTINGS if name in client), LINGER_MS)
