"""Ray Data on several processes of this machine, reading and writing a real topic."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.sandbox import Sandbox

# with opentelemetry-proto, from the extra 'telemetry', Ray assumes that other packages of OpenTelemetry are
# installed too, without which its agent dies; the extra 'ray' brings them
ray: Any = pytest.importorskip("ray")
pytest.importorskip("ray.data")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def local_ray() -> Iterator[None]:
    """Two processes."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("local_ray")
def test_what_map_batches_returns_is_written(three_brokers: Sandbox) -> None:
    """Its batches are arrays of NumPy, so headers become arrays too, which have no truth value."""
    from kafkabal.producer.ray import write_topic
    from kafkabal.reader.ray import read_topic

    topics = [f"ray-{os.getpid()}-{which}" for which in ("from", "to")]
    admin = AdminClient({"bootstrap.servers": three_brokers.bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
        created.result()
    servers = three_brokers.bootstrap_servers
    pairs = [[{"name": "n", "value": b"%d" % n} for n in range(count)] for count in (0, 1, 2)]
    rows = [{"value": b"v", "headers": pairs[i % 3]} for i in range(30)]
    made = ray.data.from_items(rows, override_num_blocks=2)  # a task, and so a producer, for each
    write_topic(made, topics[0], bootstrap_servers=servers, policy="sticky")
    mapped = read_topic(topics[0], bootstrap_servers=servers).map_batches(lambda batch: batch)
    write_topic(mapped, topics[1], bootstrap_servers=servers, policy="sticky")
    back = read_topic(topics[1], bootstrap_servers=servers).take_all()
    assert Counter(len(row["headers"]) for row in back) == {0: 10, 1: 10, 2: 10}


@pytest.mark.usefixtures("local_ray")
def test_a_data_set_goes_there_and_back(three_brokers: Sandbox) -> None:
    """Every row is written once, to all brokers, and read back once with its headers."""
    from kafkabal.producer.ray import write_topic
    from kafkabal.reader.ray import read_topic

    topic = f"ray-{os.getpid()}"
    admin = AdminClient({"bootstrap.servers": three_brokers.bootstrap_servers})
    next(iter(admin.create_topics([NewTopic(topic, 6, 1)]).values())).result()
    rows = [
        {"value": bytes([i % 256]) * 2000, "headers": [{"name": "n", "value": b"%d" % i}, {"name": "n", "value": b""}]}
        for i in range(3000)
    ]
    write_topic(ray.data.from_items(rows), topic, bootstrap_servers=three_brokers.bootstrap_servers, policy="sticky")
    back = read_topic(topic, bootstrap_servers=three_brokers.bootstrap_servers).take_all()
    assert Counter(int(row["headers"][0]["value"]) for row in back) == Counter(range(3000))
    assert all(row["headers"][1] == {"name": "n", "value": b""} for row in back)
    assert len({row["partition"] for row in back}) > 1
