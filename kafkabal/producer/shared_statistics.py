"""The statistics of a librdkafka client, which routing by latency and the caller's own ``stats_cb`` share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

_INTERVAL: Final = "statistics.interval.ms"
_CALLBACK: Final = "stats_cb"


def with_statistics(
    client: Mapping[str, Any],
    read: Callable[[str], None],
    interval_s: float,
    now_s: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """The configuration with statistics for routing.

    The caller's own ``stats_cb`` still gets them, at its own interval if there is one: with an interval of a minute, as
    for monitoring, a slow broker would not be noticed. What librdkafka itself refuses is left as it is.

    Parameters
    ----------
    read
        Receives every text.
    interval_s
        Seconds between two of them.
    """
    theirs, given = client.get(_CALLBACK), client.get(_INTERVAL)
    theirs_s = _seconds(given)
    if (_CALLBACK in client and not callable(theirs)) or (given is not None and theirs_s is None):
        return dict(client)
    next_s = now_s() + (theirs_s or 0.0)

    def both(text: str) -> None:
        nonlocal next_s
        read(text)
        if theirs is None or theirs_s == 0:  # librdkafka's own way to disable it
            return
        at_s = now_s()
        if at_s >= next_s:
            if theirs_s is not None:
                next_s = at_s + theirs_s - (at_s - next_s) % theirs_s  # after a pause, none is made up for
            theirs(text)

    shortest_s = min(interval_s, theirs_s or interval_s)
    return {**client, _INTERVAL: round(shortest_s * 1000), _CALLBACK: both}


def _seconds(given: Any) -> float | None:
    """An interval of the configuration; None for one that librdkafka refuses."""
    try:
        milliseconds = int(given)
    except (TypeError, ValueError):
        return None
    return milliseconds / 1000 if milliseconds >= 0 else None
