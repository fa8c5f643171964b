"""The cluster of a case."""

from __future__ import annotations

from msgspec.structs import replace

from kafkabal.clusters import ReadRequest
from kafkabal.model import broker_capacity_bytes
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.watch.simulation.simulated_scene import SimulatedScene
from kafkabal.watch.simulation.simulation_case import JoiningBroker, SimulationCase


def test_a_new_broker_has_no_disk_of_unknown_size() -> None:
    """An offline log dir of the broker that it is like is left out: its size, and so the capacity, would be unknown."""
    first, *others = brokers(3, dirs=2)
    offline = replace(first.log_dirs[1], state="offline", total_bytes=None, usable_bytes=None)
    first = replace(first, log_dirs=[first.log_dirs[0], offline])
    case = SimulationCase(new_brokers=(JoiningBroker(broker=4, at_s=60.0, like=1),))

    scene = SimulatedScene(cluster([first, *others], [topic("t", (2, 3))]), case, ())
    scene.clock.sleep(120.0)

    state = scene.cluster.read(ReadRequest()).state
    assert state.brokers.id.tolist() == [1, 2, 3, 4]
    assert broker_capacity_bytes(state).tolist() == [1000 * GB, 2000 * GB, 2000 * GB, 1000 * GB]
