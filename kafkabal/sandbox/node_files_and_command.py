"""What it takes to start a node: its files, and the command line of its process."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path
from typing import Final

from kafkabal.errors import OutputError
from kafkabal.sandbox.java_programs import java_command
from kafkabal.sandbox.kafka_installation import KafkaInstallation
from kafkabal.sandbox.kraft_format import format_dirs
from kafkabal.sandbox.node_layout import Node, NodeFiles, Role
from kafkabal.sandbox.process_table import mark_of
from kafkabal.sandbox.sandbox_home import make_folder
from kafkabal.sandbox.sandbox_record import SandboxRecord
from kafkabal.sandbox.server_properties import as_properties_file, node_properties
from kafkabal.wording import system_fault

_LOG_SETTINGS_FILE: Final = "log4j2.properties"
_BROKER_MAIN: Final = "kafka.Kafka"
_ZOOKEEPER_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_ZOOKEEPER_HEAP_BYTES: Final = 128 * 2**20
"""Holds the registrations of a few brokers, some MB."""
_CONTROLLER_HEAP_BYTES: Final = 256 * 2**20
"""The same as a broker without replicas."""


def write_log_settings(sandbox_folder: Path) -> None:
    """Write the log settings of all nodes of a sandbox."""
    settings = resources.files("kafkabal.sandbox") / _LOG_SETTINGS_FILE
    (sandbox_folder / _LOG_SETTINGS_FILE).write_bytes(settings.read_bytes())


def ensure_files(record: SandboxRecord, node: Node, files: NodeFiles, distribution: KafkaInstallation) -> None:
    """Write the files of a node that has none yet; its settings come last, so a node that has them is complete.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    if files.settings.exists():
        return
    try:
        shutil.rmtree(files.folder, ignore_errors=True)
        make_folder(files.scratch)
        if not record.spec.zookeeper:
            log_dirs = record.log_dirs(files.folder.parent).get(node.id, [])
            checkpoint = distribution.bootstrap_checkpoint
            assert checkpoint is not None
            format_dirs(files.metadata, log_dirs, record.cluster_id, node.id, checkpoint)
        files.settings.write_bytes(as_properties_file(node_properties(record, node, files)))
    except OSError as error:
        raise OutputError(f"cannot write the files of {node.title} to {files.folder}: {system_fault(error)}") from error


def node_command(record: SandboxRecord, node: Node, files: NodeFiles, distribution: KafkaInstallation) -> list[str]:
    """The command line of a node's process."""
    spec = record.spec
    return java_command(
        _ZOOKEEPER_MAIN if node.role is Role.ZOOKEEPER else _BROKER_MAIN,
        [str(files.settings)],
        (*distribution.class_path, *spec.class_path, *spec.broker_class_path.get(node.id, ())),
        heap_bytes=_heap_bytes(record, node),
        scratch=files.scratch,
        class_cache=distribution.usable_class_cache,
        options=(
            mark_of(files.folder),
            "-XX:+ExitOnOutOfMemoryError",
            f"-Dlog4j2.configurationFile={files.folder.parent / _LOG_SETTINGS_FILE}",
            *spec.jvm_options,
        ),
    )


def _heap_bytes(record: SandboxRecord, node: Node) -> int:
    if node.role is Role.ZOOKEEPER:
        return _ZOOKEEPER_HEAP_BYTES
    return record.spec.broker_heap_bytes if node.role.serves_clients else _CONTROLLER_HEAP_BYTES
