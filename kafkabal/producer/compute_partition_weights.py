"""Partition weights of topics, recomputed at each reading of the cluster, for clients that route by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from kafkabal.errors import KafkabalError, UsageError
from kafkabal.model import F64
from kafkabal.producer.routing_view_reader import ViewReader
from kafkabal.routing import Context, Policy, PolicyChoice, RoutingView, WeightRecord, WeightsPolicy
from kafkabal.scoring import WeightedScore

# what clients may write before the second reading shows how fast they are: 5 s at 50 MB/s. With a fifth of what
# near-empty brokers held, 100 MB written within 2 s ended at 1.3 to 2.1 of the mean, 2026-11
_LEAST_HORIZON_BYTES: Final = 256_000_000
# default buffer.memory of a Java client. A client that writes at full speed has all of it queued for the slowest
# broker; when that counted as an imbalance, 700 MB within 10 s ended at 1.074 of the mean, 2026-11
_BUFFER_BYTES: Final = 33_554_432


@dataclass(frozen=True, slots=True, eq=False)
class WeighedTopic:
    """Weights of a topic, and the view they were computed from."""

    record: WeightRecord
    view: RoutingView


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What the clients that follow a topic's weights have sent, estimated from its log dirs."""

    weights: F64
    """Weights they send by from now on."""
    seen_bytes: F64
    """float64, shape (n_partitions,): bytes of one replica that the log dirs show."""
    unseen_bytes: F64
    """float64, shape (n_partitions,): bytes sent that the log dirs do not show yet."""

    def unseen_by(self, view: RoutingView) -> F64:
        """Bytes that clients have sent and a later view does not show yet.

        The partition that is furthest ahead, relative to its weight, counts as fully seen; what the others lack
        compared to it is in flight. The sum is capped at one client's buffer: whatever else is missing is an imbalance.
        If nothing arrived, nothing is.
        """
        nothing = np.zeros(view.n_partitions)
        if len(self.seen_bytes) != view.n_partitions:
            return nothing
        came_bytes = view.partition_bytes - self.seen_bytes
        used = self.weights > 0
        if not (came_bytes[used] > 0).any():
            return nothing
        arrived_bytes = came_bytes - self.unseen_bytes
        sent_bytes = float((arrived_bytes[used] / self.weights[used]).max())
        unseen: F64 = np.where(used, np.maximum(self.weights * sent_bytes - arrived_bytes, 0), 0)
        return unseen * min(1.0, _BUFFER_BYTES / max(float(unseen.sum()), 1.0))


class TopicWeights:
    """One policy per topic, which sees every reading and limits how much weights change from one reading to the next.

    The policy sends no records itself. It counts the records of all clients as traffic of other producers: the log dirs
    show them at the next reading, and its horizon is at least twice what arrives between two readings.

    Parameters
    ----------
    policy
        Must pick by weights.
    valid_s
        How long clients follow weights that are not renewed, in seconds.
    clock
        Seconds; the clock of the views.
    now
        Wall-clock time, written to the records for people.
    publisher
        Name of the publisher, written to the records for people.

    Raises
    ------
    UsageError
        If the policy does not pick by weights.
    """

    def __init__(
        self,
        views: ViewReader,
        topics: Sequence[str],
        policy: PolicyChoice,
        scores: Sequence[WeightedScore],
        *,
        valid_s: float,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        publisher: str,
    ) -> None:
        self._views = views
        choice = policy.with_client_settings(least_horizon_bytes=_LEAST_HORIZON_BYTES)
        self._policies = {topic: choice.create(Context(clock=clock)) for topic in topics}
        self._sent: dict[str, _Sent] = {}
        self._scores = tuple(scores)
        self._valid_s = valid_s
        self._now = now
        self._publisher = publisher
        if not all(isinstance(created, WeightsPolicy) for created in self._policies.values()):
            raise UsageError(
                f"policy {policy.about.name!r} does not route by weights, so there is nothing to publish",
                hint="choose the policy 'score'",
            )

    def compute(self) -> tuple[list[WeighedTopic], Mapping[str, KafkabalError]]:
        """Read the cluster and compute the weights of every topic; returns also the error of each topic that failed.

        Raises
        ------
        KafkabalError
            If the cluster cannot be read.
        """
        self._views.read(self._scores)
        weighed, faults = [], {}
        for topic, policy in self._policies.items():
            try:
                weighed.append(self._compute_topic(topic, policy))
            except KafkabalError as error:
                faults[topic] = error
        return weighed, faults

    def use_scores(self, scores: Sequence[WeightedScore]) -> None:
        """Use these scores from the next reading on."""
        self._scores = tuple(scores)

    def _compute_topic(self, topic: str, policy: Policy) -> WeighedTopic:
        view, before = self._views.view(topic, self._scores), self._sent.get(topic)
        unseen_bytes = np.zeros(view.n_partitions) if before is None else before.unseen_by(view)
        policy.refresh(replace(view, unseen_bytes=unseen_bytes))
        assert isinstance(policy, WeightsPolicy)
        given = policy.client_weights()
        self._sent[topic] = _Sent(given.weights, view.partition_bytes, unseen_bytes)
        record = WeightRecord.of(
            given,
            view,
            scores={weighted.score.name: weighted.weight for weighted in self._scores},
            valid_s=self._valid_s,
            published_at=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            publisher=self._publisher,
        )
        return WeighedTopic(record, view)
