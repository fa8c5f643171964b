"""The weights of topics, computed again with each reading of the cluster, for clients that route by them."""

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
# buffer.memory of Java clients, by its default. A client that writes as fast as it can has all of it waiting for the
# broker that takes least: with that taken for an imbalance, 700 MB within 10 s ended at 1.074 of the mean, 2026-11
_BUFFER_BYTES: Final = 33_554_432


@dataclass(frozen=True, slots=True, eq=False)
class WeighedTopic:
    """Weights of a topic, and the view that they follow from."""

    record: WeightRecord
    view: RoutingView


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What clients that follow the weights of a topic have sent, as far as its log dirs tell."""

    weights: F64
    """By which they send from now on."""
    seen_bytes: F64
    """float64, shape (n_partitions,): of one copy, in the log dirs."""
    unseen_bytes: F64
    """float64, shape (n_partitions,): not there yet."""

    def unseen_by(self, view: RoutingView) -> F64:
        """What a later view does not show: nothing of the partition that is furthest on, of others by their weights.

        At most one client's buffer: what is missing beyond that is an imbalance. Where nothing came, nothing waits.
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
        late: F64 = np.where(used, np.maximum(self.weights * sent_bytes - arrived_bytes, 0), 0)
        return late * min(1.0, _BUFFER_BYTES / max(float(late.sum()), 1.0))


class TopicWeights:
    """One policy for each topic, which sees every reading: it bounds how much weights change from one to the next.

    It sends no records itself, so that the records of all clients count as those of others: it sees them in the log
    dirs at the next reading, and its horizon is at least twice what arrives between two.

    Parameters
    ----------
    policy
        One whose picks follow from weights.
    valid_s
        How long clients follow weights that are not renewed.
    clock
        Seconds; that of the views.
    now
        The time, for people.
    publisher
        Who publishes, for people.

    Raises
    ------
    UsageError
        If the picks of the policy do not follow from weights.
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
        careful = policy.reckoning_with(least_horizon_bytes=_LEAST_HORIZON_BYTES)
        self._policies = {topic: careful.create(Context(clock=clock)) for topic in topics}
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

    def weigh(self) -> tuple[list[WeighedTopic], Mapping[str, KafkabalError]]:
        """Read the cluster, and weigh every topic; those that cannot be weighed, with the reason.

        Raises
        ------
        KafkabalError
            If the cluster cannot be read.
        """
        self._views.read(self._scores)
        weighed, faults = [], {}
        for topic, policy in self._policies.items():
            try:
                weighed.append(self._weigh(topic, policy))
            except KafkabalError as error:
                faults[topic] = error
        return weighed, faults

    def follow(self, scores: Sequence[WeightedScore]) -> None:
        """Weigh by these scores from the next reading on."""
        self._scores = tuple(scores)

    def _weigh(self, topic: str, policy: Policy) -> WeighedTopic:
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
