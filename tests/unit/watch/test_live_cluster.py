"""A live view: how often the cluster is read, and what counts as an event."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkabal.clusters import ConfigChange, ConfigResource, Reading, ReadRequest, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import UnreachableError
from kafkabal.inspection import inspect_cluster
from kafkabal.model import MIN_INSYNC_REPLICAS
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world
from kafkabal.watch import LiveCluster, LiveReading

EVERY_S = 5.0


class Counting(InMemoryCluster):
    """Counts full readings, each of which takes some processor time."""

    readings = 0
    cost_s = 0.0
    spent_s = 0.0

    def read(self, request: ReadRequest) -> Reading:
        """Read the cluster."""
        self.readings += 1
        self.spent_s += self.cost_s
        return super().read(request)


@pytest.fixture
def cluster() -> Counting:
    """Six brokers."""
    clock = FakeClock()
    return Counting(InMemoryCluster.of(make_world(SyntheticWorld(brokers=6, racks=3, topics=4)), clock).kafka)


def observations(cluster: Counting, seconds: float) -> Iterator[LiveReading]:
    """An observation every five seconds."""
    clock = cluster.kafka.clock
    live = LiveCluster(cluster, clock, ReadRequest(), inspect_cluster, lambda: cluster.spent_s)
    end_s = clock.monotonic() + seconds
    while clock.monotonic() < end_s:
        yield live.observe()
        clock.sleep(EVERY_S)


@pytest.mark.parametrize(("cost_s", "readings"), [(0.1, 20), (6.5, 2)])
def test_following_takes_less_than_three_percent_of_a_core(cluster: Counting, cost_s: float, readings: int) -> None:
    """Small clusters are read every 30 s; one whose reading takes 6.5 s every five and a half minutes."""
    cluster.cost_s = cost_s
    list(observations(cluster, 600.0))

    assert cluster.readings == readings
    assert cluster.spent_s / 600.0 < 0.03


def test_a_broker_that_leaves_and_returns_is_noticed_at_once(cluster: Counting) -> None:
    """A broker that leaves or joins is an event at the next observation, and sizes are read again."""
    shown = observations(cluster, 600.0)
    next(shown)
    cluster.kafka.kill(3)
    gone = next(shown)
    cluster.kafka.start(3)
    back = next(shown)

    assert cluster.readings == 3
    assert "broker 3 is not registered any more" in [event.message for event in gone.events]
    assert gone.inspection is not None
    assert not gone.inspection.state.brokers.is_live[2]
    assert "broker 3 has registered" in [event.message for event in back.events]
    assert back.inspection is not None
    assert back.inspection.state.brokers.is_live.all()


def test_partitions_to_which_producers_cannot_write_are_an_event(cluster: Counting) -> None:
    """Each has a leader, so nothing else in the view shows it."""
    topics = {ConfigResource(ResourceKind.TOPIC, name) for name in cluster.kafka.parts.topics}
    cluster.alter_configs([ConfigChange(topic, MIN_INSYNC_REPLICAS, "3") for topic in topics])
    shown = observations(cluster, 600.0)
    next(shown)
    cluster.kafka.kill(3)
    gone = next(shown)
    assert any("under min ISR" in event.message and event.is_good is False for event in gone.events)


def test_a_change_whose_reading_fails_is_read_at_the_next_observation(
    cluster: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that dies may take a response with it: the view does not show it as alive until the next pause ends."""
    cluster.cost_s = 1.0
    shown = observations(cluster, 600.0)
    next(shown)
    cluster.kafka.kill(3)
    with monkeypatch.context() as patched:
        patched.setattr(cluster, "read", lambda _: _raise())
        assert next(shown).problem == "the cluster cannot be read: no broker responds"

    again = next(shown)

    assert again.inspection is not None
    assert not again.inspection.state.brokers.is_live[2]


def test_a_cluster_that_does_not_respond_is_shown_with_what_is_known(cluster: Counting) -> None:
    """The view keeps the last reading and reports once why it could not be renewed."""
    shown = observations(cluster, 60.0)
    next(shown)
    cluster.broker_ids = _raise  # type: ignore[method-assign]
    next(shown)
    blind = next(shown)

    assert blind.inspection is not None
    assert blind.problem == "the cluster cannot be read: no broker responds"
    assert [e.message for e in blind.events].count(blind.problem) == 1


def test_a_controller_that_does_not_respond_hides_only_the_moves(cluster: Counting) -> None:
    """Brokers, sizes and leaders are followed as usual, and the view says what it does not know."""
    cluster.kafka.parts.controller_responds = False
    shown = observations(cluster, 120.0)
    next(shown)
    without = next(shown)
    cluster.kafka.parts.controller_responds = True
    restored = list(shown)[-1]

    assert without.inspection is not None
    assert without.problem == "reassignments in flight are unknown: no controller responded within 5 s"
    assert not without.inspection.state.reassignments_known
    assert restored.inspection is not None
    assert restored.inspection.state.reassignments_known
    messages = [event.message for event in restored.events]
    assert (messages.count(without.problem), messages[-1]) == (1, "the cluster responds again")


def _raise() -> frozenset[int]:
    raise UnreachableError("no broker responds")
