"""The record of a sandbox, written before its first process starts, so that any tool can find and remove it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kafkabal.atomic_files import replacing
from kafkabal.config import PORTS
from kafkabal.errors import InputFileError, UsageError
from kafkabal.input_files import SETTINGS, FormatVersion, decode_json, exists, read_bytes
from kafkabal.json_decoders import json_decoder
from kafkabal.sandbox.node_layout import Node, NodeFiles
from kafkabal.sandbox.sandbox_spec import INNER_LISTENER, SandboxSpec

RECORD_FILE: Final = "sandbox.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """The specification and layout of a sandbox: its nodes, their ports, and its creation time (in seconds since
    1970)."""

    name: str
    spec: SandboxSpec
    cluster_id: str
    created_at_s: float
    nodes: tuple[Node, ...]
    kafkabal_sandbox: FormatVersion = _FORMAT

    @property
    def brokers(self) -> tuple[Node, ...]:
        """The nodes that serve clients, by id."""
        return tuple(node for node in self.nodes if node.role.serves_clients)

    def node(self, node_id: int) -> Node:
        """The node with that id.

        Raises
        ------
        UsageError
            If the id is unknown.
        """
        for node in self.nodes:
            if node.id == node_id:
                return node
        known = ", ".join(f"{node.id} ({node.title})" for node in self.nodes)
        raise UsageError(f"sandbox {self.name}: unknown node: {node_id}", hint=f"choose from: {known}")

    def log_dirs(self, folder: Path) -> Mapping[int, list[Path]]:
        """The log dirs of each broker id, for the sandbox in ``folder``."""
        return {
            node.id: [NodeFiles(folder / node.folder_name).log_dir(index) for index in range(self.spec.log_dirs)]
            for node in self.brokers
        }


def write_record(record: SandboxRecord, folder: Path) -> None:
    """Write the record into the folder of its sandbox."""
    with replacing(folder / RECORD_FILE) as file:
        file.write(msgspec.json.format(msgspec.json.encode(record, enc_hook=_to_json), indent=1))


def read_record(folder: Path) -> SandboxRecord:
    """Read the record of the sandbox in that folder.

    Raises
    ------
    InputFileError
        If it is damaged, or was written by a newer kafkabal.
    """
    path = folder / RECORD_FILE
    decoder = json_decoder(SandboxRecord, dec_hook=_from_json)
    hint = f"remove the sandbox with 'kafkabal sandbox down --name {folder.name}'"
    try:
        record = decode_json(decoder, read_bytes(path, SETTINGS), path, "is not the record of a sandbox")
    except InputFileError as error:
        error.hint = hint
        raise
    except UsageError as error:  # values that no sandbox can be made of
        raise InputFileError(path, error.message, hint=hint) from error
    if record.kafkabal_sandbox > _FORMAT:
        raise InputFileError(path, f"written by a newer kafkabal (format {record.kafkabal_sandbox})")
    if fault := _fault(record):
        raise InputFileError(path, fault, hint=hint)
    return record


def _fault(record: SandboxRecord) -> str:
    """What is inconsistent; empty if nothing is."""
    for node in record.nodes:
        if not node.ports or (node.role.serves_clients and INNER_LISTENER not in node.ports):
            return f"{node.title} has no port"
        if invalid := [port for port in node.ports.values() if port not in PORTS]:
            return f"{node.title}: invalid port: {invalid[0]}"
    return "" if len({node.id for node in record.nodes}) == len(record.nodes) else "two nodes with the same id"


def recorded_folders(home: Path) -> Iterator[Path]:
    """Yield the folders of all sandboxes in ``home``, by name."""
    if exists(home):
        yield from sorted(path.parent for path in home.glob(f"*/{RECORD_FILE}") if path.is_file())


def readable_records(home: Path) -> Iterator[tuple[Path, SandboxRecord]]:
    """Yield folder and record of the sandboxes in ``home``, by name, skipping damaged ones."""
    for folder in recorded_folders(home):
        with suppress(InputFileError):
            yield folder, read_record(folder)


def _to_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"a {type(value).__name__} in the record of a sandbox")


def _from_json(wanted: type, value: Any) -> Any:
    return wanted(value)
