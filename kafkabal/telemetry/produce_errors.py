"""Records that producers failed to write, by topic, from what they push (KIP-714)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from kafkabal.telemetry.otlp_metrics import MetricSample
from kafkabal.telemetry.subscriptions import TOPIC_ERRORS

_MOST_SERIES = 100_000
"""Topics of clients: a thousand producers with a hundred topics each. Any beyond are ignored, and counted."""

_MOST_RECORDS = 2.0**63
"""Clients count in 64-bit numbers: a larger figure, or none at all, is not a count."""


@dataclass(frozen=True, slots=True)
class TopicErrors:
    """What producers report about a topic."""

    topic: str
    failed_records: float
    clients: int
    """Number of clients that failed to write records."""


class ProduceErrors:
    """Sums what pushes report; thread-safe.

    Notes
    -----
    Clients push what failed since their last push. An exporter that posts totals instead counts from its second post
    on, because it is unknown how much of the first total is new.
    """

    def __init__(self) -> None:
        self.ignored = 0
        """Number of figures dropped because of the limit."""
        self._lock = Lock()
        self._failed: dict[tuple[str, str], float] = {}
        self._totals: dict[tuple[str, str], float] = {}

    def take(self, client: str, samples: Sequence[MetricSample]) -> None:
        """Process a push."""
        with self._lock:
            for sample in samples:
                topic = sample.attributes.get("topic", "")
                if sample.name == TOPIC_ERRORS and topic and abs(sample.value) <= _MOST_RECORDS:
                    self._add((topic, client), sample)

    def by_topic(self) -> list[TopicErrors]:
        """Every topic that a producer named, the one with the most failed records first."""
        failed: dict[str, list[float]] = {}
        with self._lock:
            for (topic, _), records in self._failed.items():
                failed.setdefault(topic, []).append(records)
        found = [TopicErrors(topic, sum(each), sum(records > 0 for records in each)) for topic, each in failed.items()]
        return sorted(found, key=lambda errors: (-errors.failed_records, errors.topic))

    def _add(self, series: tuple[str, str], sample: MetricSample) -> None:
        if series not in self._failed and len(self._failed) >= _MOST_SERIES:
            self.ignored += 1
            return
        news = sample.value
        if not sample.is_delta:
            news = sample.value - self._totals.get(series, sample.value)
            self._totals[series] = sample.value
        # a total below the previous one means that the client has restarted
        self._failed[series] = self._failed.get(series, 0.0) + max(news, 0.0)
