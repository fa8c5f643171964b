"""Prepares a Kafka version to be started: verified jars, and data computed from them once.

Two things are computed once per version and cached. Kafka's own storage tool writes the records that a new cluster
starts with. The class cache (JEP 483, JEP 514) holds the classes that a broker loads, parsed and linked: with it a
broker starts in less than half of the time and CPU.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkabal.atomic_files import replacing
from kafkabal.errors import OperationError
from kafkabal.sandbox.exit_diagnosis import cause_in
from kafkabal.sandbox.jars import ensure_jars
from kafkabal.sandbox.java_programs import java_build, java_command, run_java
from kafkabal.sandbox.kraft_format import BootstrapCheckpoint, checkpoint_in, new_kafka_uuid
from kafkabal.sandbox.sandbox_home import make_folder
from kafkabal.sandbox.sandbox_locks import exclusive
from kafkabal.sandbox.server_properties import as_properties_file

TOOL_HEAP_BYTES: Final = 256 * 2**20
"""The same as Kafka's own scripts give their tools."""
_STORAGE_TOOL: Final = "kafka.tools.StorageTool"
_TOOL_TIMEOUT_S: Final = 120.0
"""A tool takes seconds, or a minute on a machine that is starting six brokers."""


@dataclass(frozen=True, slots=True)
class KafkaInstallation:
    """A Kafka version: its jars, and the folder of the data computed from them for this Java."""

    version: str
    class_path: tuple[Path, ...]
    folder: Path

    @property
    def bootstrap_checkpoint(self) -> BootstrapCheckpoint | None:
        """The records that a new KRaft cluster of this version starts with, once Kafka's tool has written them."""
        return checkpoint_in(self.folder)

    @property
    def class_cache(self) -> Path:
        """Path of the class cache, whether it exists or not."""
        return self.folder / "classes.aot"

    @property
    def usable_class_cache(self) -> Path | None:
        """The class cache if it exists, else None."""
        return self.class_cache if self.class_cache.is_file() else None


def prepare_kafka(version: str, cache_folder: Path, *, on_step: Callable[[str], None]) -> KafkaInstallation:
    """Prepare a Kafka version to be started; everything except verifying the jars is done once.

    Raises
    ------
    UsageError
        If the version is unknown, or the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be fetched or does not match the lock file, or Kafka's storage tool fails.
    """
    class_path = ensure_jars(version, cache_folder, on_step=on_step)
    folder = make_folder(cache_folder / f"kafka-{version}-{_key(class_path)}")
    distribution = KafkaInstallation(version, class_path, folder)
    if distribution.bootstrap_checkpoint is None:
        with exclusive(folder / "prepare.lock"):
            _write_bootstrap_checkpoint(distribution)
    return distribution


def _key(class_path: tuple[Path, ...]) -> str:
    """Cache key: the jars, their paths, and the build of Java."""
    text = "\n".join([java_build(), *map(str, class_path)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _write_bootstrap_checkpoint(distribution: KafkaInstallation) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        settings = scratch / "server.properties"
        settings.write_bytes(as_properties_file(_one_node(scratch / "data")))
        command = java_command(
            _STORAGE_TOOL,
            ["format", "-t", new_kafka_uuid(), "-c", str(settings)],
            distribution.class_path,
            heap_bytes=TOOL_HEAP_BYTES,
            scratch=scratch,
        )
        result = run_java(command, timeout_s=_TOOL_TIMEOUT_S)
        if result.exit_code != 0:
            cause = cause_in((result.stdout + result.stderr).splitlines())
            raise OperationError(f"Kafka's storage tool failed: {cause}")
        checkpoint = checkpoint_in(scratch / "data")
        if checkpoint is None:
            raise OperationError(f"Kafka's storage tool wrote no checkpoint for Kafka {distribution.version}")
        target = distribution.folder / checkpoint.path
        make_folder(target.parent)
        with replacing(target) as file:
            file.write(checkpoint.records)


def _one_node(data: Path) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
    }
