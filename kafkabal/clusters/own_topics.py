"""The topics that kafkabal creates for itself."""

from __future__ import annotations

_FIRST = "__kafkabal"


def is_own_topic(name: str) -> bool:
    """Whether it is ``__kafkabal``, ``__kafkabal_weights`` or another one of kafkabal's.

    They count as internal, as Kafka's own do: no plan moves them for balance, and no advice deletes them as idle.
    """
    return name == _FIRST or name.startswith(f"{_FIRST}_")
