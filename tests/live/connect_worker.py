"""A worker of Kafka Connect with its file connector, on the jars of a sandbox."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafkabal.sandbox import Sandbox, default_cache, ensure_jars, java_command
from kafkabal.sandbox.jars import ensure_locked
from kafkabal.sandbox.java_programs import java_environment
from kafkabal.sandbox.pinned_jars import jars_of_lock
from kafkabal.sandbox.server_properties import as_properties_file

_VERSION = "4.1.2"
_LOCK = Path(__file__).parent / "java" / f"connect-{_VERSION}.lock"
_HEAP_BYTES = 512 * 2**20
_CLOSING_S = 60.0


@contextmanager
def connect_worker(
    sandbox: Sandbox,
    jar: Path,
    scratch: Path,
    *,
    settings: Mapping[str, str],
    connectors: Mapping[str, Mapping[str, str]],
    options: tuple[str, ...] = (),
) -> Iterator[Path]:
    """Run a standalone worker with file sources until the block ends; yields the file of its log.

    Parameters
    ----------
    jar
        A jar for its class path, as in the folder ``libs`` of an installation.
    settings
        Settings of the worker.
    connectors
        Settings of each connector, by name.
    options
        JVM options.

    Raises
    ------
    subprocess.TimeoutExpired
        If the worker does not shut down gracefully.
    """
    log = scratch / "connect.log"
    command = java_command(
        "org.apache.kafka.connect.cli.ConnectStandalone",
        _property_files(sandbox, scratch, settings, connectors),
        (jar, *ensure_jars(_VERSION, default_cache()), *(path for path in _jars() if not _is_plugin(path))),
        heap_bytes=_HEAP_BYTES,
        scratch=scratch,
        options=options,
    )
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=java_environment()) as worker,
    ):
        try:
            yield log
        finally:
            worker.terminate()
            try:
                worker.wait(_CLOSING_S)
            finally:
                worker.kill()


def _jars() -> tuple[Path, ...]:
    return ensure_locked(jars_of_lock(_LOCK.read_text(encoding="ascii")), default_cache())


def _is_plugin(path: Path) -> bool:
    """Whether the jar holds connectors, which a worker loads apart from its own class path."""
    return path.name.startswith("connect-file")


def _property_files(
    sandbox: Sandbox, scratch: Path, settings: Mapping[str, str], connectors: Mapping[str, Mapping[str, str]]
) -> list[str]:
    plugin = scratch / "plugins" / "file"
    plugin.mkdir(parents=True)
    for path in filter(_is_plugin, _jars()):
        (plugin / path.name).symlink_to(path)
    worker = {
        "bootstrap.servers": sandbox.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(scratch / "connect.offsets"),
        "plugin.path": str(plugin.parent),
        "listeners": "http://127.0.0.1:0",
        **settings,
    }
    files = {"worker": worker}
    for name, of_connector in connectors.items():
        source = {"name": name, "connector.class": "FileStreamSource", "tasks.max": "1"}
        files[f"connector-{name}"] = {**source, **of_connector}
    for name, properties in files.items():
        (scratch / f"{name}.properties").write_bytes(as_properties_file(properties))
    return [str(scratch / f"{name}.properties") for name in files]
