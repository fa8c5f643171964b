"""Builds the partitioner for Java clients, which follows the weights that ``kafkabal route`` publishes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from kafkabal.build_java_jar import build_jar

PARTITIONER_CLASS: Final = "kafkabal.routing.ScorePartitioner"
"""Value for ``partitioner.class`` of a Java producer."""


def build_partitioner(jar: Path, class_path: Sequence[Path], *, java: Path, compiler: Path) -> None:
    """Compile the partitioner; see :func:`~kafkabal.build_java_jar.build_jar`.

    Parameters
    ----------
    class_path
        ``kafka-clients`` and ``slf4j-api``. The parts it uses have not changed since Kafka 3.0, so one jar serves all
        clients.
    """
    with resources.as_file(resources.files("kafkabal.routing.java_partitioner") / "java") as source:
        build_jar(jar, source, class_path, title="kafkabal routing partitioner", java=java, compiler=compiler)
