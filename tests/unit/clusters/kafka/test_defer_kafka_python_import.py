"""kafka-python without its clients, until they are needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

_IMPORT_OURS = "import sys, kafkabal.clusters.kafka.cluster\n"
_CLIENTS = "clients = {'kafka.consumer', 'kafka.producer', 'kafka.admin', 'kafka.net'} & set(sys.modules)\n"


@pytest.mark.parametrize(
    "script",
    [
        # nothing of ours runs them
        _IMPORT_OURS + _CLIENTS + "assert not clients, clients",
        # other code in the same process finds all that it expects
        _IMPORT_OURS + "from kafka import KafkaConsumer, TopicPartition, __version__; KafkaConsumer.poll",
        _IMPORT_OURS + "import kafka; kafka.KafkaProducer, kafka.errors.KafkaError, kafka.__all__",
        _IMPORT_OURS + "from kafka import *; KafkaAdminClient",
        _IMPORT_OURS + "import kafka.consumer.fetcher, kafka; assert kafka.KafkaConsumer is not None",
        # an unknown name is refused as ever
        _IMPORT_OURS + "import kafka\ntry: kafka.nope\nexcept AttributeError as error: assert 'nope' in str(error)",
        # what was imported before stays as it is
        "import kafka\nbefore = kafka.KafkaConsumer\n" + _IMPORT_OURS + "assert kafka.KafkaConsumer is before",
    ],
)
def test_clients_come_with_their_first_use(script: str) -> None:
    """In a separate process, since imports are permanent."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_warnings_as_errors_stop_no_import() -> None:
    """A program that turns warnings into errors, as test suites do, still has a producer that reads the cluster."""
    command = [sys.executable, "-W", "error", "-c", "import kafkabal.clusters.kafka.cluster"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
