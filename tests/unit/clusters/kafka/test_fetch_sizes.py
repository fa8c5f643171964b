"""Sizes of fetches, from earlier responses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkabal.clusters.kafka.fetch_sizes import FetchSizes, with_spare

_THROTTLED: Any = SimpleNamespace(throttle_ms=1, records=b"")


def test_a_quota_limits_responses_to_whole_batches() -> None:
    """An empty response under a quota halves the limit, which is then rounded down to a multiple of a batch."""
    sizes = FetchSizes()
    sizes.note_batch(300_000)
    assert sizes.limit(2_000_000) == with_spare(2_000_000)
    sizes.fit_quota(_THROTTLED, 2_000_000)
    assert sizes.limit(2_000_000) == 900_000


def test_a_quota_smaller_than_a_batch_is_requested_as_it_is() -> None:
    """If the limit is smaller than a batch, the fetch has that limit: a broker sends one whole batch in any case."""
    sizes = FetchSizes()
    sizes.note_batch(3_000_000)
    sizes.fit_quota(_THROTTLED, 2_000_000)
    assert sizes.limit(2_000_000) == 1_000_000
